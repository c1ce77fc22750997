import { runSimulation, type SimulationPlan } from './simulation.ts'

// Runs one simulation in its own process: the plan is JSON in the only argument, the report goes to stdout as JSON.
// Exit 1: a morning was not as expected.
const plan = JSON.parse(process.argv[2]!) as SimulationPlan
const report = await runSimulation(plan)
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exitCode = report.findings.length > 0 ? 1 : 0
