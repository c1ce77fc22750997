import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Enriched, Loaded } from '../stream.ts'
import { askedPast } from './due.ts'
import { loadPastChecks, type PastAnswer, type PastLoaded } from './load-past.ts'
import type { CheckKind, PastCheck } from './past-checks.ts'
import { loadWatches, type Watch, type WatchLoaded } from './watch.ts'

/** An answer of any of the three asks. */
export type CheckRecord =
  | { readonly kind: 'past'; readonly checks: readonly PastCheck[] }
  | { readonly kind: 'watch'; readonly watch: Watch }

type Answered = Enriched<CheckRecord> & { readonly vin: string }

const nothing: Loaded = { outcome: 'unchanged', warnings: [] }

/** Loads the listings, then the watches, and makes due what they show to be out of date. */
export async function loadAnswers(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  stream: string,
  answers: readonly Enriched<CheckRecord>[],
  runId: number,
): Promise<Loaded[]> {
  const vins = await vinsOf(
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
  for (const [index, answer] of listings.entries()) results.set(keyOf(answer), listed[index]!)
  for (const [index, answer] of watches.entries())
    results.set(keyOf(answer), watchResult(watched[index]!))
  await makeDue(db, rooftop, stream, askedPast.ppsr, evalIds(watches, watched, 'needsList'))
  const moved = [
    ...evalIds(watches, watched, 'hasMoved'),
    ...evalIds(listings, listed, 'hasMoved', askedPast.ppsr),
  ]
  await makeDue(db, rooftop, stream, askedPast.car_history, await withReports(db, rooftop, moved))
  return answers.map((answer) => results.get(keyOf(answer)) ?? nothing)
}

function keyOf({ evalId, ask }: Pick<Answered, 'evalId' | 'ask'>): string {
  return `${evalId}/${ask}`
}

function pastAnswer({ groupId }: RooftopRow, { vin, ask, at, record }: Answered): PastAnswer {
  const kind: CheckKind = ask === askedPast.ppsr ? 'ppsr' : 'car_history'
  const { checks } = record as CheckRecord & { kind: 'past' }
  return { groupId, vin, kind, checks, at }
}

function watchResult({ hasMoved, warnings }: WatchLoaded): Loaded {
  return { outcome: hasMoved ? 'updated' : 'unchanged', warnings }
}

function evalIds<K extends string>(
  answers: readonly Answered[],
  results: readonly (Readonly<Record<K, boolean>> | PastLoaded)[],
  flag: K,
  ask?: string,
): number[] {
  return answers
    .filter((answer, index) => {
      const result = results[index] as Readonly<Record<K, boolean>>
      return result[flag] && (ask === undefined || answer.ask === ask)
    })
    .map(({ evalId }) => evalId)
}

async function vinsOf(
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

/** Of the evaluations, those whose vehicle has a report with a certificate: it has the status of a search that has moved. */
async function withReports(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ evalId: number }>`
    select eval_id as "evalId" from core.evaluation as own
    where rooftop_id = ${rooftop.id} and eval_id = any(${[...ids]}::bigint[]) and exists (
      select from core.vehicle_check as report left join core.ref_watch_status using (watch_status)
      where report.group_id = ${rooftop.groupId} and report.vin = upper(own.vin) and check_kind = 'car_history'
        and certificate_number is not null and report.gone_at is null and not coalesce(is_terminal, false)
    )`.execute(db)
  return rows.map(({ evalId }) => evalId)
}

/** Due at once, unless this run has asked already. */
async function makeDue(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  stream: string,
  ask: string,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    insert into ops.enrichment_state as old
      (rooftop_id, stream, eval_id, ask, next_due_at, last_asked_at, outcome)
    select ${rooftop.id}, ${stream}, eval_id, ${ask}, '-infinity', '-infinity', 'answered'
    from unnest(${[...new Set(ids)].sort((a, b) => a - b)}::bigint[]) as eval_id
    on conflict (rooftop_id, stream, eval_id, ask) do update set next_due_at = excluded.next_due_at`.execute(
    db,
  )
}
