import { existsSync, readdirSync } from 'node:fs'
import { join, parse } from 'node:path'

/** The streams whose history can be loaded. A test compares them with the streams: to import those takes as long as to run one. */
export const historyStreamNames = ['evaluations', 'vehicle-checks']

/** The jobs of `jobs/`, which is beside src/ in a checkout and in dist/ alike. */
export function jobNames(): string[] {
  const folder = join(import.meta.dirname, '../../../jobs')
  const files = existsSync(folder) ? readdirSync(folder) : []
  const jobs = files.filter((file) => /^[a-z0-9-]+\.[jt]s$/.test(file))
  return jobs.map((file) => parse(file).name).sort()
}
