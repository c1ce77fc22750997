import { type Kysely, sql } from 'kysely'
import { watchPpsr } from '../../contract/appraisal/checks.ts'
import type { Tables } from '../../db/tables.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { DueAsk, EnrichmentSettings, EnrichmentTask } from '../stream.ts'
import { pastOperations } from './past-checks.ts'

/** The asks that list past checks, by kind. */
export const askedPast = {
  ppsr: pastOperations.ppsr.name,
  car_history: pastOperations.car_history.name,
} as const

/** What a link must outlive beyond links.refreshBeforeHours: the time to the next night. */
const nightHours = 24

/** Days until an evaluation is asked again: for new checks often while it is young, for its watch daily; null: never. */
export function daysUntilAgain(
  ageDays: number,
  ask: string,
  { dailyForDays, lookEveryDays, lookForNewDays }: EnrichmentSettings['checks'],
): number | null {
  if (ask === watchPpsr.name || ageDays <= dailyForDays) return 1
  return ageDays <= lookForNewDays ? lookEveryDays : null
}

/**
 * What to ask, links first in the order of their expiry. The newest evaluation of a vehicle in the dealer group asks for all
 * of them. Past checks are listed again when the evaluation's turn has come, when it was edited, when a link would not live
 * through the next day, once when a watch has ended, and when a watch named a search that is not known. A listing tells the
 * watch too, so `/ppsrwatch` is asked only where none is due, and only while a search is watched that can still change.
 */
export async function dueChecks(
  db: Kysely<Tables>,
  rooftop: Pick<RooftopRow, 'id' | 'groupId'>,
  stream: string,
  ask: DueAsk,
  settings: EnrichmentSettings,
): Promise<EnrichmentTask[]> {
  const { runStart, limit, only, scope, siblings } = ask
  const { checks, links } = settings
  const linkBefore = sql`${runStart}::timestamptz + make_interval(hours => ${links.refreshBeforeHours + nightHours})`
  const youngSince = sql`${runStart}::timestamptz - make_interval(days => ${checks.lookForNewDays})`
  const chosen = only === null ? null : [...only]
  const everything = scope === 'all'
  const { rows } = await sql<EnrichmentTask>`
    with known as materialized (
      select found.vin, check_kind,
        bool_or(check_kind = 'ppsr' and not coalesce(is_terminal, false)
          and coalesce(watch_status, '') <> 'not_watched' and watch_ends_at > ${runStart}) as is_watched,
        max(watch_ends_at) filter (where check_kind = 'ppsr' and not coalesce(is_terminal, false)
          and coalesce(watch_status, '') not in ('not_watched', 'disabled') and watch_ends_at <= ${runStart}) as ended_at,
        min(expires_at) filter (where ${links.keepAliveDays}::int is null
          or coalesce(completed_at, created_at) >= ${runStart}::timestamptz - make_interval(days => ${links.keepAliveDays ?? 0})) as expires_at
      from core.vehicle_check as found
      left join core.ref_watch_status using (watch_status)
      left join pii.signed_link as link on link.rooftop_id = found.rooftop_id and link.eval_id = found.eval_id
        and link.link_kind = check_kind || '_pdf' and link.link_ref = check_ref
      left join core.evaluation as owner on owner.rooftop_id = found.rooftop_id and owner.eval_id = found.eval_id
      where found.group_id = ${rooftop.groupId} and found.gone_at is null
      group by found.vin, check_kind
    ), evaluation as materialized (
      select eval_id, upper(vin) as vin, created_at, born_at, source_updated_at, born_at >= ${youngSince} as is_young
      from core.evaluation cross join lateral (values (coalesce(completed_at, created_at))) as born (born_at)
      where rooftop_id = ${rooftop.id} and length(vin) = 17 and gone_at is null
        and (born_at >= ${youngSince} or upper(vin) in (select vin from known))
    ), state as (
      select * from ops.enrichment_state where rooftop_id = ${rooftop.id} and stream = ${stream}
    ), listing as (
      select own.eval_id, own.vin, own.created_at, kind.ask, own.born_at, state.failures, known.expires_at as link_expires_at, known.is_watched,
        state.last_asked_at, known.expires_at < ${linkBefore} as has_dying_link,
        coalesce(is_young and (state.eval_id is null or state.next_due_at <= ${runStart} or source_updated_at > state.last_asked_at), false)
          or coalesce(state.next_due_at = '-infinity', false)
          or coalesce(known.ended_at > coalesce(state.last_asked_at, '-infinity'), false) as is_due
      from evaluation as own
      cross join (values ('ppsr', ${askedPast.ppsr}), ('car_history', ${askedPast.car_history})) as kind (kind, ask)
      left join known on known.vin = own.vin and known.check_kind = kind.kind
      left join state on state.eval_id = own.eval_id and state.ask = kind.ask
    ), wanted as materialized (
      select eval_id, vin, created_at, ask, born_at, failures, link_expires_at, has_dying_link
      from listing
      where coalesce(last_asked_at < ${runStart}, true)
        and (coalesce(has_dying_link, false) or ${everything} and is_due)
      union all
      select listing.eval_id, vin, created_at, ${watchPpsr.name}, born_at, state.failures, null, false
      from listing left join state on state.eval_id = listing.eval_id and state.ask = ${watchPpsr.name}
      where ${everything} and listing.ask = ${askedPast.ppsr} and is_watched
        and not is_due and not coalesce(has_dying_link, false)
        and coalesce(listing.last_asked_at < ${runStart}, true)
        and coalesce(state.last_asked_at < ${runStart} and state.next_due_at <= ${runStart}, true)
    ), chosen as (
      select eval_id, ask, born_at, failures, link_expires_at, has_dying_link from wanted
      where ${chosen}::text[] is null and not exists (
        select from core.evaluation as newer
        where newer.group_id = ${rooftop.groupId} and upper(newer.vin) = wanted.vin and length(newer.vin) = 17
          and newer.gone_at is null and newer.rooftop_id = any(${[...siblings]}::int[])
          and (newer.created_at, newer.eval_id) > (wanted.created_at, wanted.eval_id)
      )
      union all
      select eval_id, split_part(key, '/', 2), coalesce(completed_at, created_at), null, null, false
      from unnest(${chosen}::text[]) as key
      join core.evaluation on rooftop_id = ${rooftop.id} and gone_at is null and key like eval_id || '/%'
    )
    select eval_id as "evalId", ask, born_at as "completedAt", false as again, null as "pollingSince",
      coalesce(failures, 0) as failures
    from chosen
    order by coalesce(failures, 0), coalesce(has_dying_link, false) desc, link_expires_at,
      (ask = ${watchPpsr.name}) desc, born_at desc, eval_id, ask
    limit ${limit}`.execute(db)
  return rows
}
