import { sql } from 'kysely'
import { shortKey } from '../../../api/sources/key-advice.ts'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import {
  groupMoved,
  type MovedName,
  type MovedRow,
  movedTexts,
} from '../../../sync/explain/moved-fields.ts'
import { readCauses } from '../../../sync/explain/quarantine-list.ts'
import { retriableBy } from '../../../sync/records/retry-quarantined.ts'
import { resumeCommand } from '../../../sync/run/backfills.ts'
import { type KeyState, quotaEnd } from '../../../sync/run/key-states.ts'
import type { Lane } from '../../../sync/run/run-ledger.ts'
import { listText, plural } from '../../../values/text.ts'
import { otherSource, type RunSource, sourceOfRun } from '../../../warehouse/db/run-source.ts'
import { readSourceNow } from '../../../warehouse/db/source-now.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { readExpiringLinks } from '../../links/link-status.ts'
import { missingNamesQuery, toMissingNames } from '../../morning/missing-names.ts'
import type { Problem } from '../../morning/problems.ts'
import type { JobFigures } from '../jobs/read-jobs.ts'

interface Sources {
  readonly db: Db
  readonly jobs: Readonly<Record<string, JobFigures>>
  readonly config: Config
  readonly keys: readonly KeyState[]
}

/** What needs attention besides the streams, in any order. */
export async function readOtherProblems({ db, jobs, config, keys }: Sources): Promise<Problem[]> {
  return [
    ...jobProblems(jobs),
    ...(await runProblems(db, config)),
    ...(await quarantineProblems(db, config)),
    ...keys.flatMap(keyProblems),
    ...(await linkProblems(db, config)),
    ...(await watchProblems(db)),
    ...(await nameProblems(db, config)),
  ]
}

function jobProblems(jobs: Sources['jobs']): Problem[] {
  const bad = Object.entries(jobs).filter(
    ([, { status }]) => status === 'late' || status === 'failed',
  )
  return bad.map(([name, { status, does, error, last, lateSince }]) => {
    const since = lateSince ?? last?.finishedAt ?? last?.startedAt
    return {
      ...{ rank: 2, word: status === 'late' ? 'Late' : 'Failed', tone: 'bad', what: `Job ${name}` },
      detail: does,
      why: error ?? 'its process ended before the job did',
      since: since === undefined ? null : new Date(since),
      link: { label: 'Show the job', path: `/jobs/${name}` },
    }
  })
}

/** Detached runs that no worker takes, and backfills that were paused and that no run continues. One whose rooftops have all left the
 *  config cannot be resumed. */
async function runProblems(db: Db, config: Config): Promise<Problem[]> {
  const uids = config.rooftops.map(({ uid }) => uid)
  const { rows } = await sql<OpenRun & { status: string }>`
    select run_id::float8 as "runId", command, status, lane,
      case status when 'paused' then coalesce(finished_at, heartbeat_at) else heartbeat_at end as since,
      ${sql.raw(sourceOfRun)} as source
    from ops.run
    where status = 'running' and is_detached and heartbeat_at < now() - interval '1 minute'
      or status = 'paused' and lane = 'background' and coalesce(arguments -> 'rooftops' ?| ${uids}::text[], true) and not exists (select from ops.run as next where next.resumes = run.run_id)
    order by run_id`.execute(db)
  return [
    ...rows
      .filter(({ status }) => status === 'running')
      .map((run) => waitingRun(run, otherSource(run.source, config))),
    ...rows.filter(({ status }) => status === 'paused').map(pausedRun),
  ]
}

interface OpenRun {
  readonly runId: number
  readonly command: string
  readonly lane: Lane
  readonly since: Date
  readonly source: RunSource | null
}

function waitingRun({ runId, command, lane, since }: OpenRun, other: string | null) {
  const instead =
    lane === 'background'
      ? 'pause the run and resume it with this config'
      : 'start the same work again with this config, which takes it over'
  return {
    ...{ rank: 2, word: 'No worker', tone: 'bad', what: `Run ${runId} (${command}) waits` },
    detail: 'left to workers',
    why:
      other === null
        ? 'No worker is alive: start one with "forecourt worker". It goes on where it stopped.'
        : `No worker is alive whose config names ${other}: start one there, or ${instead}.`,
    since,
    link: { label: `Show run ${runId}`, path: `/runs/${runId}` },
  } satisfies Problem
}

function pausedRun({ runId, command, since }: OpenRun) {
  return {
    ...{ rank: 8, word: 'Paused', tone: 'warn', what: `Run ${runId} (${command})` },
    detail: 'loads nothing until it is resumed',
    why: `It was paused: resume it with "${resumeCommand(runId)}".`,
    since,
    link: { label: `Show run ${runId}`, path: `/runs/${runId}` },
  } satisfies Problem
}

/** Causes in quarantine, the most frequent; the page of the quarantine has the others. */
const maxCauses = 50

async function quarantineProblems(db: Db, config: Config): Promise<Problem[]> {
  const by = retriableBy(config, allStreams)
  const { causes, isCapped } = await readCauses(db, { rooftops: by.rooftops }, by)
  const names = new Map(config.rooftops.map(({ uid, name }) => [uid, name]))
  return causes
    .slice(0, maxCauses)
    .map(({ cause, path, message, records, streams, rooftops, firstSeenAt }) => ({
      ...{ rank: 5, word: 'Quarantined', tone: 'warn' },
      what: `${isCapped ? 'at least ' : ''}${plural(records, 'record')} of ${listText(streams, 3)}`,
      detail: `${listText(
        rooftops.map((uid) => names.get(uid) ?? uid),
        3,
      )}, one cause`,
      why: `${path}: ${message}`,
      since: firstSeenAt,
      link: {
        label: `Show ${plural(records, 'record')}`,
        path: `/quarantine?cause=${cause}`,
      },
    }))
}

/** A shorter rest is part of every busy night. */
const shownRestMs = 60_000

/** Keys whose quota is used up, and keys that the service asked to wait. */
function keyProblems({ key, parked, blockedUntil, throttledAt }: KeyState): Problem[] {
  const row = (until: string, reason: string) => ({
    ...({ tone: 'warn', what: `Key ${shortKey(key)}` } as const),
    why: `${reason}; nothing is sent before ${until.slice(0, 16).replace('T', ' ')} UTC.`,
    link: { label: 'Show the key', path: '/work#keys' },
  })
  const { until, reasons } = quotaEnd(parked)
  const isResting = blockedUntil !== null && blockedUntil.getTime() > Date.now() + shownRestMs
  return [
    ...(isResting
      ? [
          {
            ...row(blockedUntil.toISOString(), 'The service asked to wait'),
            ...{ rank: 6, word: 'Blocked', detail: 'all streams' },
            since: throttledAt,
          },
        ]
      : []),
    ...(parked.length === 0
      ? []
      : [
          {
            ...row(until, reasons.join('; ')),
            ...{ rank: 7, word: 'Parked', since: null },
            detail: parked.map(({ stream }) => stream).join(', '),
          },
        ]),
  ]
}

/** Links that were not signed again though half of their last days are over. */
async function linkProblems(db: Db, config: Config): Promise<Problem[]> {
  const { refreshBeforeHours } = config.links
  const hours = Math.ceil(refreshBeforeHours / 2)
  const rooftops = await readExpiringLinks(db, config, await readSourceNow(db), hours)
  const count = rooftops.reduce((sum, one) => sum + one.count, 0)
  if (count === 0) return []
  return [
    {
      ...{ rank: 6, word: 'Expiring', tone: 'warn', what: plural(count, 'PDF link') },
      detail: listText(
        rooftops.map(({ name }) => name),
        3,
      ),
      why: `Less than ${hours} h to live, and not signed again yet, which is due ${refreshBeforeHours} h before.`,
      since: null,
      link: { label: 'Show the links', path: '/links' },
    },
  ]
}

const watchDays = 2

/** Watches of cars for sale that end soon, without a later search. */
async function watchProblems(db: Db): Promise<Problem[]> {
  const { rows } = await sql<{ count: number; rooftops: string[] | null }>`
    select count(*)::int as count, array_agg(distinct rooftop_name::text) as rooftops from mart.watch_expiry
    where is_in_stock and not is_searched_again and watch_ends_at < now() + make_interval(days => ${watchDays})`.execute(
    db,
  )
  const { count, rooftops } = rows[0]!
  if (count === 0) return []
  return [
    {
      ...{ rank: 6, word: 'Expiring', tone: 'warn' },
      what: plural(count, 'PPSR watch', 'PPSR watches'),
      detail: listText(rooftops ?? [], 3),
      why: `Ends within ${watchDays} days; the car is in stock, and no later search replaces it.`,
      since: null,
      link: { label: 'Show the watches', path: '/links' },
    },
  ]
}

/** Names that no evaluation had, and fields that newer answers do not have. */
async function nameProblems(db: Db, config: Config): Promise<Problem[]> {
  const { rows } = await sql<{
    missing: Parameters<typeof toMissingNames>[0]
    moved: MovedRow[] | null
  }>`
    select (select to_jsonb(missing) from (${missingNamesQuery(config.wire)}) as missing) as missing, (
      select jsonb_agg(to_jsonb(moved_field) || jsonb_build_object('uid', rooftop_uid)) from ops.moved_field join core.rooftop using (rooftop_id)
    ) as moved`.execute(db)
  const moved = movedProblems(groupMoved(rows[0]!.moved ?? [], allStreams, config), config)
  const missing = toMissingNames(rows[0]!.missing, config.wire)
  const known = [...moved, ...heldProblems(config)]
  if (missing === null) return known
  const { names, configured, since } = missing
  return [
    ...known,
    {
      ...{ rank: 4, word: 'Names', tone: 'warn', since },
      what: `${names.length} of ${plural(configured, 'column')} of evaluations`,
      detail: listText(names, 3),
      why: 'No evaluation had the fields that wire.appraisal.evaluation names: the service may use other names.',
      link: { label: 'Show the names', path: '/names' },
    },
  ]
}

/** Columns that stay empty, since nothing has proved their names yet. */
function heldProblems({ wire: { appraisal } }: Config): Problem[] {
  const { held } = appraisal
  if (held.length === 0) return []
  return [
    {
      ...{ rank: 4, word: 'Names', tone: 'warn', since: null },
      what: `${plural(held.length, 'column')} of evaluations ${held.length === 1 ? 'is' : 'are'} held`,
      detail: listText(held, 3),
      why: 'Nothing has proved their names, so they stay empty: wire.appraisal.held has them.',
      link: { label: 'Show the names', path: '/names' },
    },
  ]
}

function movedProblems(moved: readonly MovedName[], { rooftops }: Config): Problem[] {
  const names = new Map(rooftops.map(({ uid, name }) => [uid, name]))
  return movedTexts(moved).map(({ names: fields, what, why, cure }) => {
    const where = new Set(fields.flatMap((one) => one.rooftops.map((uid) => names.get(uid)!)))
    return {
      ...{ rank: 4, word: 'Names', tone: 'warn', what, detail: listText([...where], 3) },
      why: `${listText(why, 3)}. ${cure}`,
      since: new Date(fields.map((one) => one.since).sort()[0]!),
      link: { label: 'Show the drift', path: '/drift' },
    }
  })
}
