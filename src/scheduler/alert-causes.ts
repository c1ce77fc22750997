import { createHash } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Reason, WarehouseStatus } from '../pipeline/status.ts'
import type { JobStatus } from './job-status.ts'

/** Something that people should know of until it is over. */
export interface Problem {
  readonly key: string
  readonly what: string
}

/** What is wrong, one for each cause, and the keys of all causes that still stand, also those that another one explains. */
export interface Problems {
  readonly raised: readonly Problem[]
  readonly openKeys: ReadonlySet<string>
}

/** A job whose newest fire that has ended failed. */
export interface FailedJob {
  readonly name: string
  readonly error: string | null
  /** It failed in streams: the objectives tell of those, each cause once. */
  readonly isExplained: boolean
}

/** Jobs that failed or are late; those are left out whose failure the streams of their runs tell. */
export function jobProblems(
  jobs: Readonly<Record<string, JobStatus>>,
  failed: readonly FailedJob[],
): Problems {
  const explained = new Set(failed.flatMap((job) => (job.isExplained ? [job.name] : [])))
  const own = failed.filter(({ name }) => !explained.has(name))
  const byError = Map.groupBy(own, ({ error }) => `job/failed/${digest(error ?? '')}`)
  const late = Object.entries(jobs).filter(
    ([name, { lateSince }]) => lateSince !== undefined && !explained.has(name),
  )
  const raised = [...byError].map(([key, same]) => ({
    key,
    what: `${list(same.map(({ name }) => name))} failed: ${same[0]!.error ?? 'its process died'}`,
  }))
  if (late.length > 0)
    raised.push({
      key: 'job/late',
      what: `${list(late.map(([name]) => name))} late: ${late[0]![1].error ?? ''}`,
    })
  return { raised, openKeys: new Set(raised.map(({ key }) => key)) }
}

interface Miss {
  readonly rooftop: string
  readonly stream: string
  readonly key: string
  readonly text: string
}

/** Streams that miss an objective. Of each only the first reason is raised: the others may come of it. */
export function objectiveProblems(
  rooftops: WarehouseStatus['rooftops'],
  keys: Config['keys'],
): Problems {
  const own = Object.entries(rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, standing]) => ({ uid, name, stream, ...standing })),
  )
  const misses = own.map(({ uid, name, stream, reasons }) =>
    reasons
      .filter(({ cause }) => cause !== 'never')
      .map((reason): Miss => {
        return { rooftop: name, stream, key: keyOf(reason, uid, keys), text: reason.text }
      }),
  )
  const first = misses.flatMap(([miss]) => miss ?? [])
  const raised = [...Map.groupBy(first, ({ key }) => key)].map(([key, same]) => ({
    key,
    what: `${list(same.map(({ stream }) => stream))} of ${list(same.map(({ rooftop }) => rooftop))}: ${same[0]!.text}`,
  }))
  const standing = new Set(misses.flat().map(({ key }) => key))
  // While a run is at work nobody can tell whether it mends these.
  if (own.some(({ isAtWork }) => isAtWork))
    for (const cause of ['late', 'gaps']) standing.add(`objective/${cause}`)
  return { raised, openKeys: standing }
}

/** A key that is refused is its own cause, by the advice that every such message gives; any other failure is told from the next by its words. */
function keyOf({ cause, text }: Reason, uid: string, keys: Config['keys']): string {
  if (cause !== 'failed') return `objective/${cause}`
  const words = text.replaceAll(uid, '')
  const key = Object.keys(keys).find((name) => isAboutKey(words, name))
  return key === undefined ? `objective/failed/${digest(words)}` : `objective/key/${key}`
}

/** Key group-au is not key group-au-2. */
function isAboutKey(text: string, key: string): boolean {
  const after = text.split(`the value of key ${key}`).slice(1)
  return after.some((rest) => !/^[\w-]/.test(rest))
}

/** Of the words alone: which operation, how many tries and when does not make it another cause. */
function digest(text: string): string {
  const words = text.replaceAll(/\/\w+/g, '').replaceAll(/\d+/g, '').toLowerCase()
  return createHash('sha256').update(words).digest('hex').slice(0, 12)
}

const mostNamed = 5

function list(names: readonly string[]): string {
  const each = [...new Set(names)]
  const shown = each.slice(0, mostNamed).join(', ')
  return each.length > mostNamed ? `${shown} and ${each.length - mostNamed} more` : shown
}
