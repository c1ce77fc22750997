import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { UsageError } from '../errors.ts'
import { nearestName } from '../values/nearest-name.ts'
import type { Job } from './job.ts'
import { parseSchedule, type Schedule } from './slots.ts'

/** A job as the config wants it. */
export interface PlannedJob extends Job {
  readonly name: string
  readonly slots: Schedule
  /** What it cannot run without; null: nothing. */
  readonly missingSetting: string | null
  /** Why the scheduler leaves it out; null: it does not. */
  readonly disabledReason: string | null
}

/** `jobs/` beside src/, in a checkout and in dist/ alike. */
const jobsFolder = join(import.meta.dirname, '..', '..', 'jobs')

/** Every job of `jobs/` by name, as the config wants it. UsageError when the config names one that is not there. */
export async function loadJobs(config: Config): Promise<readonly PlannedJob[]> {
  const files = (await readdir(jobsFolder)).filter((file) => /^[a-z0-9-]+\.[jt]s$/.test(file))
  const jobs = await Promise.all(files.sort().map((file) => loadJob(file, config)))
  for (const name of Object.keys(config.jobs)) findJob(jobs, name, `jobs.${name} of the config`)
  return jobs
}

/** The job of that name; UsageError lists the known ones. `said` is where it was named, for the message. */
export function findJob(jobs: readonly PlannedJob[], name: string, said = `"${name}"`): PlannedJob {
  const found = jobs.find((job) => job.name === name)
  if (found !== undefined) return found
  const names = jobs.map((job) => job.name)
  const meant = nearestName(name, names)
  throw new UsageError(
    `${said} is no job${meant === undefined ? '' : ` (did you mean ${meant}?)`}; known are: ${names.join(', ')}.`,
  )
}

async function loadJob(file: string, config: Config): Promise<PlannedJob> {
  const { name } = parse(file)
  const { default: job } = (await import(pathToFileURL(join(jobsFolder, file)).href)) as {
    default: Job
  }
  const own = Object.hasOwn(config.jobs, name) ? config.jobs[name] : undefined
  const schedule = own?.schedule ?? job.schedule
  const timezone = own?.timezone ?? job.timezone
  const slots = parseSchedule(schedule, timezone)
  const lacks = whatIsLacking(job, config)
  const off = own?.enabled === false ? 'switched off in the config' : lacks
  return { ...job, name, schedule, timezone, slots, missingSetting: lacks, disabledReason: off }
}

function whatIsLacking({ work }: Job, { vehicleData }: Config): string | null {
  const needsKey = work.kind === 'reprice'
  return needsKey && vehicleData.apiKey === null ? 'vehicleData.apiKey is not set' : null
}
