import type { Kysely } from 'kysely'
import type { CheckKind, PastCheck } from '../../api/contract/appraisal/past-checks.ts'
import type { EnrichmentAnswer } from '../../sync/enrich/enrichment.ts'
import type { Loaded } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { fillCounts } from './certificate-counts.ts'
import { pastAsks } from './due.ts'
import type { PastAnswer } from './known-checks.ts'
import { loadPastChecks } from './load-past-checks.ts'
import { countAsWatchCheck, makeDue, relistReports } from './make-due.ts'
import { loadWatches, type Watch, type WatchLoaded } from './watch.ts'

/** An answer of any of the three asks. */
export type CheckRecord =
  | {
      readonly kind: 'past'
      readonly checks: readonly PastCheck[]
      /** Items that cannot be identified: with any of them, it is unknown which checks are missing. */
      readonly itemsWithoutId: number
    }
  | { readonly kind: 'watch'; readonly watch: Watch }

type Answered = EnrichmentAnswer<CheckRecord> & { readonly vin: string }

const nothing: Loaded = { outcome: 'unchanged', warnings: [] }

/** Loads the listings, then the watches, and makes due what they show to be out of date. */
export async function loadAnswers(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly EnrichmentAnswer<CheckRecord>[],
  runId: number,
  wire: AppraisalWire,
): Promise<Loaded[]> {
  const vins = await readVins(
    db,
    rooftop,
    answers.map(({ evalId }) => evalId),
  )
  const answered = answers.flatMap((answer) => {
    const vin = vins.get(answer.evalId)
    return vin === undefined ? [] : [{ ...answer, vin }]
  })
  const listings = answered.filter(({ record }) => record.kind === 'past')
  const watches = answered.filter(({ record }) => record.kind === 'watch')
  const listed = await loadPastChecks(
    db,
    listings.map((answer) => pastAnswer(rooftop, answer)),
    runId,
  )
  const searches = listed.flatMap(({ inserted }) => inserted).filter(({ kind }) => kind === 'ppsr')
  await fillCounts(db, searches, wire)
  const watched = await loadWatches(
    db,
    watches.map(({ vin, at, record }) => ({
      groupId: rooftop.groupId,
      vin,
      at,
      watch: (record as CheckRecord & { kind: 'watch' }).watch,
    })),
  )
  const results = new Map<string, Loaded>()
  for (const [index, answer] of listings.entries())
    results.set(answerKey(answer), pastResult(answer, listed[index]!))
  for (const [index, answer] of watches.entries())
    results.set(answerKey(answer), watchResult(watched[index]!))
  await countAsWatchCheck(
    db,
    rooftop.groupId,
    listings.filter(({ ask }) => ask === pastAsks.ppsr).map(({ vin }) => vin),
    runId,
  )
  const unlisted = watches.filter((_, index) => watched[index]!.needsListing)
  await makeDue(
    db,
    pastAsks.ppsr,
    rooftop.groupId,
    unlisted.map(({ vin }) => vin),
  )
  const moved = [
    ...watches.filter((_, index) => watched[index]!.statusChanged),
    ...listings.filter(({ ask }, index) => ask === pastAsks.ppsr && listed[index]!.statusChanged),
  ]
  await relistReports(
    db,
    rooftop.groupId,
    moved.map(({ vin }) => vin),
  )
  return answers.map((answer) => results.get(answerKey(answer)) ?? nothing)
}

function answerKey({ evalId, ask }: Pick<Answered, 'evalId' | 'ask'>): string {
  return `${evalId}/${ask}`
}

function pastAnswer({ groupId }: RooftopRow, { vin, ask, at, record }: Answered): PastAnswer {
  const kind: CheckKind = ask === pastAsks.ppsr ? 'ppsr' : 'car_history'
  const { checks, itemsWithoutId } = record as CheckRecord & { kind: 'past' }
  return { groupId, vin, kind, checks, at, isOfThisVehicle: true, isComplete: itemsWithoutId === 0 }
}

function pastResult({ record }: Answered, { outcome, warnings }: Loaded): Loaded {
  const { checks, itemsWithoutId } = record as CheckRecord & { kind: 'past' }
  const unread = checks.filter((check) => check.hasUnreadableTime).length
  const found = [
    itemsWithoutId > 0 && {
      check: 'check-without-id',
      detail: `${itemsWithoutId} items have no id (wire.appraisal.pastCheck.id) and nothing to use instead: left out`,
    },
    unread > 0 && {
      check: 'check-time-unreadable',
      detail: `${unread} items have a value that is not a time (wire.appraisal.pastCheck.createdAt)`,
    },
  ]
  return { outcome, warnings: [...warnings, ...found.filter((warning) => warning !== false)] }
}

function watchResult({ statusChanged, warnings }: WatchLoaded): Loaded {
  return { outcome: statusChanged ? 'updated' : 'unchanged', warnings }
}

async function readVins(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  ids: readonly number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('core.evaluation')
    .select(['eval_id', 'vin'])
    .where('rooftop_id', '=', rooftop.id)
    .where('eval_id', 'in', [...ids])
    .execute()
  return new Map(
    rows.flatMap(({ eval_id, vin }) => (vin?.length === 17 ? [[eval_id, vin.toUpperCase()]] : [])),
  )
}
