import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { pathToFileURL } from 'node:url'
import { UsageError } from '../../errors.ts'
import { knownNames } from '../../values/nearest-name.ts'
import type { Config } from '../config/read.ts'
import type { Job } from './job.ts'
import { parseSchedule, type Schedule } from './slots.ts'

/** A job with the settings of the config. */
export interface PlannedJob extends Job {
  readonly name: string
  readonly slots: Schedule
  /** The setting that is missing for the job to run; null: none. */
  readonly missingSetting: string | null
  /** Why the scheduler does not run the job; null: it runs it. */
  readonly disabledReason: string | null
}

/** `jobs/` beside src/, both in a checkout and in dist/. */
const jobsFolder = join(import.meta.dirname, '../../../jobs')

/** Loads every job of `jobs/`, with the settings of the config. UsageError when the config names an unknown job. */
export async function loadJobs(config: Config): Promise<readonly PlannedJob[]> {
  const files = (await readdir(jobsFolder)).filter((file) => /^[a-z0-9-]+\.[jt]s$/.test(file))
  const jobs = await Promise.all(files.sort().map((file) => loadJob(file, config)))
  for (const name of Object.keys(config.jobs)) findJob(jobs, name, `jobs.${name} of the config`)
  return jobs
}

/** Finds a job by name; UsageError lists the known names. `subject` begins the message. */
export function findJob(
  jobs: readonly PlannedJob[],
  name: string,
  subject = `"${name}"`,
): PlannedJob {
  const found = jobs.find((job) => job.name === name)
  if (found !== undefined) return found
  const known = jobs.map((job) => job.name)
  throw new UsageError(`${subject} is not a job${knownNames(name, known)}`)
}

/** Loads one job file. Settings of the config override its schedule and time zone. */
async function loadJob(file: string, config: Config): Promise<PlannedJob> {
  const { name } = parse(file)
  const { default: job } = (await import(pathToFileURL(join(jobsFolder, file)).href)) as {
    default: Job
  }
  const settings = Object.hasOwn(config.jobs, name) ? config.jobs[name] : undefined
  const ofLake = job.work.kind === 'lake' ? config.lake.schedule : null
  const schedule = settings?.schedule ?? ofLake ?? job.schedule
  const timezone = settings?.timezone ?? job.timezone
  const slots = parseSchedule(schedule, timezone)
  const missingSetting = findMissingSetting(job, config)
  const disabledReason = settings?.enabled === false ? 'switched off in the config' : missingSetting
  return { ...job, name, schedule, timezone, slots, missingSetting, disabledReason }
}

function findMissingSetting({ work }: Job, { vehicleData, stock, lake }: Config): string | null {
  if (work.kind === 'stock-inbox' && stock.inbox.length === 0) return 'stock.inbox names no folder'
  if (work.kind === 'lake' && lake.to === null) return 'lake.to is not set'
  const needsKey = work.kind === 'reprice'
  return needsKey && vehicleData.apiKey === null ? 'vehicleData.apiKey is not set' : null
}
