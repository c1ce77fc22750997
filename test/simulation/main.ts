import { type EstatePlan, runEstate } from './estate.ts'

// One estate in a process of its own: the plan comes as JSON in the only argument, the report goes to stdout as JSON.
// Exit 1: a morning was not as promised.
const plan = JSON.parse(process.argv[2]!) as EstatePlan
const report = await runEstate(plan)
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exitCode = report.findings.length > 0 ? 1 : 0
