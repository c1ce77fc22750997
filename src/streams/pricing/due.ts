import { type Kysely, sql } from 'kysely'
import type { DueQuery, EnrichmentTask } from '../../sync/enrich/enrichment.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

/** Days between two calls, by the days since completion; older evaluations are asked about only when they change. */
const schedule: readonly (readonly [age: number, every: number])[] = [
  [7, 1],
  [30, 3],
  [90, 7],
  [365, 28],
]

/** Days until an evaluation that was completed `ageDays` ago is due again; null: never. */
export function daysUntilDue(ageDays: number): number | null {
  return schedule.find(([age]) => ageDays <= age)?.[1] ?? null
}

/**
 * Evaluations to ask about, most urgent first:
 * 1. polls for answers that are not complete,
 * 2. evaluations of the last 30 days that are new or have changed since the last call,
 * 3. known ones that are due by the schedule,
 * 4. older new ones.
 * Those that failed come after all others, and the latest completed first. What was asked in this run is due again in it only
 * as a poll.
 */
export async function duePrices(
  db: Kysely<Tables>,
  rooftop: Pick<RooftopRow, 'id'>,
  { stream, ask }: { readonly stream: string; readonly ask: string },
  { now, runStart, limit, budget, only, evalId }: DueQuery,
): Promise<EnrichmentTask[]> {
  const isPoll = sql`coalesce(state.polling_since is not null and state.next_due_at <= ${now}, false)`
  const isFresh = sql`(state.eval_id is null or source_updated_at > state.last_asked_at)`
  const isDue = sql`(state.eval_id is null or state.last_asked_at < ${runStart} and (state.next_due_at <= ${runStart} or ${isFresh}))`
  // A backlog of old ones that were never asked about comes last: it must not delay the daily ones.
  const urgency = sql`again desc, failures, (fresh and completed_at > ${runStart}::timestamptz - interval '30 days') desc,
    fresh, completed_at desc, eval_id desc`
  const chosen = only === null ? null : [...only]
  const ofStream = sql`rooftop_id = ${rooftop.id} and stream = ${stream}`
  // By index: whatever is due is among these.
  const found = sql`
    select eval_id from ops.enrichment_state where ${ofStream} and polling_since is not null
    union select eval_id from ops.enrichment_state where ${ofStream} and next_due_at <= ${runStart}
    union select eval_id from ops.new_to_pricing where rooftop_id = ${rooftop.id}
    union select key::bigint from unnest(${chosen}::text[]) as key where key ~ '^\\d{1,15}$'`
  const { rows } = await sql<EnrichmentTask>`
    with candidate as (
      select eval_id, completed_at, ${isPoll} as again, ${isFresh} as fresh,
        coalesce(state.failures, 0) as failures, state.polling_since
      from (${evalId === null ? found : sql`select ${evalId}::bigint as eval_id`}) as found
      join core.evaluation using (eval_id)
      left join (
        select * from ops.enrichment_state where ${ofStream} and ask = ${ask}
      ) as state using (eval_id)
      where core.evaluation.rooftop_id = ${rooftop.id} and gone_at is null and completed_at is not null and odometer is not null
        and (${isPoll} or eval_id::text = any(${chosen}::text[]) or ${chosen}::text[] is null and ${isDue})
    )
    select eval_id as "evalId", ${ask} as ask, completed_at as "completedAt", again, failures, polling_since as "pollingSince"
    from (
      select *, count(*) filter (where not again) over (
        order by ${urgency}
      ) as cost
      from candidate
    ) as ranked
    where again or cost <= ${budget}
    order by ${urgency}
    limit ${limit}`.execute(db)
  return rows
}
