import { createHash } from 'node:crypto'
import type { Config } from '../config/read.ts'
import type { Reason, WarehouseStatus } from '../pipeline/status.ts'
import type { JobStatus } from './job-status.ts'

/** A problem that people should know about until it is over. */
export interface Problem {
  readonly key: string
  readonly what: string
}

/** The problems to raise, one per cause, and the keys of all causes that still apply, even those that another one explains. */
export interface Problems {
  readonly raised: readonly Problem[]
  readonly openKeys: ReadonlySet<string>
}

/** A job whose newest finished run failed. */
export interface FailedJob {
  readonly name: string
  readonly error: string | null
  /** The job failed in streams, whose objectives report each cause once. */
  readonly isExplained: boolean
}

/** Jobs that failed or are late, without those whose failure the objectives of their streams report. */
export function jobProblems(
  jobs: Readonly<Record<string, JobStatus>>,
  failed: readonly FailedJob[],
): Problems {
  const explained = new Set(failed.flatMap((job) => (job.isExplained ? [job.name] : [])))
  const unexplained = failed.filter(({ name }) => !explained.has(name))
  const byError = Map.groupBy(unexplained, ({ error }) => `job/failed/${digest(error ?? '')}`)
  const late = Object.entries(jobs).filter(
    ([name, { lateSince }]) => lateSince !== undefined && !explained.has(name),
  )
  const raised = [...byError].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ name }) => name))} failed: ${group[0]!.error ?? 'its process died'}`,
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

/** Streams that miss an objective. Only the first reason of each is raised, since it may cause the others. */
export function objectiveProblems(
  rooftops: WarehouseStatus['rooftops'],
  keys: Config['keys'],
): Problems {
  const all = Object.entries(rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, health]) => ({ uid, name, stream, ...health })),
  )
  const misses = all.map(({ uid, name, stream, reasons }) =>
    reasons
      .filter(({ cause }) => cause !== 'never')
      .map((reason): Miss => {
        return { rooftop: name, stream, key: keyOf(reason, uid, keys), text: reason.text }
      }),
  )
  const first = misses.flatMap(([miss]) => miss ?? [])
  const raised = [...Map.groupBy(first, ({ key }) => key)].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ stream }) => stream))} of ${list(group.map(({ rooftop }) => rooftop))}: ${group[0]!.text}`,
  }))
  const openKeys = new Set(misses.flat().map(({ key }) => key))
  // While a run is active it may still fix these, so they stay open.
  if (all.some(({ isAtWork }) => isAtWork))
    for (const cause of ['late', 'gaps']) openKeys.add(`objective/${cause}`)
  return { raised, openKeys }
}

/** The cause of a reason. A refused key is one cause, found by the advice in every such message; other failures differ by their words. */
function keyOf({ cause, text }: Reason, uid: string, keys: Config['keys']): string {
  if (cause !== 'failed') return `objective/${cause}`
  const words = text.replaceAll(uid, '')
  const key = Object.keys(keys).find((name) => isAboutKey(words, name))
  return key === undefined ? `objective/failed/${digest(words)}` : `objective/key/${key}`
}

/** Whether a text advises about this key; key group-au must not match key group-au-2. */
function isAboutKey(text: string, key: string): boolean {
  const after = text.split(`the value of key ${key}`).slice(1)
  return after.some((rest) => !/^[\w-]/.test(rest))
}

/** A digest of the words alone. Another operation, number or time is not another cause. */
function digest(text: string): string {
  const words = text.replaceAll(/\/\w+/g, '').replaceAll(/\d+/g, '').toLowerCase()
  return createHash('sha256').update(words).digest('hex').slice(0, 12)
}

const maxNamed = 5

function list(names: readonly string[]): string {
  const each = [...new Set(names)]
  const shown = each.slice(0, maxNamed).join(', ')
  return each.length > maxNamed ? `${shown} and ${each.length - maxNamed} more` : shown
}
