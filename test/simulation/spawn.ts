import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endsWithParent } from '../support/child.ts'
import type { SimulationPlan, SimulationReport } from './simulation.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

/** How the process of a simulation ended; the report is null if it failed earlier. */
export interface Outcome {
  readonly code: number | null
  readonly report: SimulationReport | null
  readonly stderr: string
}

/** Runs a simulation in its own process; `node` are arguments of node itself. */
export async function runInProcess(
  plan: SimulationPlan,
  {
    node = [],
    env = {},
  }: { node?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [...endsWithParent, ...node, main, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const out = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      out[name] += text
    })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const isReport = out.stdout.startsWith('{')
  return {
    code,
    report: isReport ? (JSON.parse(out.stdout) as SimulationReport) : null,
    stderr: out.stderr,
  }
}
