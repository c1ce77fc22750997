import { existsSync, readdirSync } from 'node:fs'
import { join, parse } from 'node:path'

// Names for the help and the completion: to import what they name would take as long as to run it. A test compares the two.

/** Every stream, in the order in which `sync` runs them. */
export const streamNames = ['users', 'evaluations', 'pricing', 'vehicle-checks', 'stock-prices']

/** The streams whose history can be loaded. */
export const historyStreamNames = ['evaluations', 'vehicle-checks']

/** How a run can be. */
export const runStatusNames = [
  ...['running', 'ok', 'partial', 'failed', 'stopped', 'abandoned', 'paused'],
]

/** The jobs of `jobs/`, which is beside src/ in a checkout and in dist/ alike. */
export function jobNames(): string[] {
  const folder = join(import.meta.dirname, '../../../jobs')
  const files = existsSync(folder) ? readdirSync(folder) : []
  const jobs = files.filter((file) => /^[a-z0-9-]+\.[jt]s$/.test(file))
  return jobs.map((file) => parse(file).name).sort()
}
