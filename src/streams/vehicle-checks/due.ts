import { type Kysely, type RawBuilder, sql } from 'kysely'
import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { pastOperations } from '../../api/contract/appraisal/past-checks.ts'
import type { DueQuery, EnrichmentSettings, EnrichmentTask } from '../../sync/enrich/enrichment.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { vehicleChecksName } from './make-due.ts'

/** Names of the operations that list past checks, by kind. */
export const pastNames = {
  ppsr: pastOperations.ppsr.name,
  car_history: pastOperations.car_history.name,
} as const

/** Added to links.refreshBeforeHours: a link must also live until the next night. */
const nightHours = 24

/** A link with fewer hours to live is signed again by the next run. */
export function hoursToRefresh({ links }: Pick<EnrichmentSettings, 'links'>): number {
  return links.refreshBeforeHours + nightHours
}

/** Days until an evaluation is due again: for new checks often while it is young, for its watch daily; null: never. */
export function daysUntilDue(
  ageDays: number,
  ask: string,
  { checks: { dailyForDays, lookEveryDays, lookForNewDays } }: EnrichmentSettings,
): number | null {
  if (ask === watchPpsr.name || ageDays <= dailyForDays) return 1
  return ageDays <= lookForNewDays ? lookEveryDays : null
}

type Rooftop = Pick<RooftopRow, 'id' | 'groupId'>

/**
 * The calls to make, links first in the order of their expiry. One evaluation of a vehicle asks for the whole dealer group.
 * Past checks are listed again:
 * - when the evaluation is due by the schedule, or was edited,
 * - when a link would expire within the next day,
 * - once after a watch has ended,
 * - when a watch named a search that is not known,
 * - until a paid check is loaded.
 * A listing holds the watch status too. So `/ppsrwatch` is called only where no listing is due, and only while a search is
 * watched whose status can still change.
 */
export async function dueChecks(
  db: Kysely<Tables>,
  rooftop: Rooftop,
  ask: DueQuery,
  settings: EnrichmentSettings,
): Promise<EnrichmentTask[]> {
  const { limit, only, history } = ask
  if (history !== null) return await neverRequested(db, rooftop, { ...ask, history }, settings)
  const chosen = only === null ? wanted(rooftop, ask) : named(rooftop, only)
  const { rows } = await sql<EnrichmentTask>`
    with paid as materialized (${paidNotLoaded(rooftop)}),
      vehicle as materialized (
        select vin from (${vehiclesQuery(rooftop, ask, settings)} union select vin from paid) as found
        where exists (${vehicleEvaluations(rooftop, sql`found.vin`)})
      ),
      known as materialized (${knownQuery(rooftop, ask, settings)}),
      evaluation as materialized (${evaluationsQuery(rooftop, ask, settings)}),
      listing as materialized (${listingsQuery(rooftop, ask, settings)}),
      chosen as (${chosen})
    select eval_id as "evalId", ask, born_at as "completedAt", false as again, null as "pollingSince",
      coalesce(failures, 0) as failures
    from chosen
    order by coalesce(failures, 0), coalesce(has_expiring_link, false) desc, link_expires_at,
      (ask = ${watchPpsr.name}) desc, born_at desc, eval_id, ask
    limit ${limit}`.execute(db)
  return rows
}

/** By index, the vehicles that something may be due of: with a young evaluation that is due, a listing that is made due or failed, a watch
 *  that runs or has ended without a final status, or a link that expires soon. */
function vehiclesQuery(
  { id, groupId }: Rooftop,
  { runStart, evalId }: DueQuery,
  settings: EnrichmentSettings,
): RawBuilder<unknown> {
  if (evalId !== null)
    return sql`select vehicle_vin as vin from core.evaluation where rooftop_id = ${id} and eval_id = ${evalId} and vehicle_vin is not null`
  const state = sql`ops.enrichment_state as state join core.evaluation using (rooftop_id, eval_id)`
  const ofStream = sql`state.rooftop_id = ${id} and state.stream = ${vehicleChecksName}`
  return sql`
    select vehicle_vin as vin from core.evaluation as young
    where rooftop_id = ${id} and coalesce(completed_at, created_at) >= ${youngSince(runStart, settings)} and vehicle_vin is not null
      and (
        select count(*) from ops.enrichment_state as state
        where ${ofStream} and state.eval_id = young.eval_id and ask = any(${Object.values(pastNames)}::text[])
          and (next_due_at <= ${runStart}) is not true and last_asked_at >= young.source_updated_at offset 0
      ) < ${Object.values(pastNames).length}
    union select vehicle_vin from ${state} where ${ofStream} and failures > 0
    union select vehicle_vin from ${state} where ${ofStream} and next_due_at = '-infinity'
    union select vin from core.watched_vins(${groupId}, ${runStart}) as vin
    union select vin from (${linksToRenew(groupId, runStart, settings)}) as link
      join core.vehicle_check as found on found.rooftop_id = link.rooftop_id and found.eval_id = link.eval_id
        and check_kind = left(link_kind, -length('_pdf')) and check_ref = link_ref
      where found.group_id = ${groupId} and found.gone_at is null`
}

/** Evaluations since then are young: they may have new checks. */
function youngSince(
  runStart: Date,
  { checks }: Pick<EnrichmentSettings, 'checks'>,
): RawBuilder<Date> {
  return sql<Date>`${runStart}::timestamptz - make_interval(days => ${checks.lookForNewDays})`
}

/** A link that expires before then is signed again. */
function renewBefore(runStart: Date, settings: EnrichmentSettings): RawBuilder<Date> {
  return sql<Date>`${runStart}::timestamptz + make_interval(hours => ${hoursToRefresh(settings)})`
}

/** Links of a group that expire soon: by their expiry, or by the age of their evaluations if those of old ones may expire. */
function linksToRenew(
  groupId: number,
  runStart: Date,
  settings: EnrichmentSettings,
): RawBuilder<unknown> {
  return sql`
    select link.* from (select rooftop_id from core.rooftop where group_id = ${groupId}) as of_group
    join pii.signed_link as link on link.rooftop_id = of_group.rooftop_id and is_in_scope and expires_at < ${renewBefore(runStart, settings)}
    ${ofRenewedAge(settings, runStart)}`
}

/** Joins links to the evaluations that are younger than links.keepAliveDays; empty where every link is renewed. */
export function ofRenewedAge(
  { links: { keepAliveDays } }: Pick<EnrichmentSettings, 'links'>,
  now: Date,
): RawBuilder<unknown> {
  return keepAliveDays === null
    ? sql``
    : sql`join core.evaluation as owner on owner.rooftop_id = link.rooftop_id and owner.eval_id = link.eval_id
        and coalesce(owner.completed_at, owner.created_at) >= ${now}::timestamptz - make_interval(days => ${keepAliveDays})`
}

/** Of these vehicles by kind: whether a watch runs, when the last one without a final status has ended, and the first expiry of the
 *  links to keep alive. */
function knownQuery(
  { groupId }: Rooftop,
  { runStart }: DueQuery,
  { links: { keepAliveDays } }: EnrichmentSettings,
): RawBuilder<unknown> {
  return sql`
    select found.vin, check_kind,
      bool_or(check_kind = 'ppsr' and not coalesce(is_terminal, false)
        and coalesce(watch_status, '') <> 'not_watched' and watch_ends_at > ${runStart}) as is_watched,
      max(watch_ends_at) filter (where check_kind = 'ppsr' and not coalesce(is_terminal, false)
        and coalesce(watch_status, '') not in ('not_watched', 'disabled') and watch_ends_at <= ${runStart}) as ended_at,
      min(expires_at) filter (where ${keepAliveDays}::int is null
        or coalesce(completed_at, created_at) >= ${runStart}::timestamptz - make_interval(days => ${keepAliveDays ?? 0})) as expires_at
    from vehicle cross join lateral (
      select * from core.vehicle_check where group_id = ${groupId} and vehicle_check.vin = vehicle.vin and gone_at is null offset 0
    ) as found
    left join core.ref_watch_status using (watch_status)
    left join pii.signed_link as link on link.rooftop_id = found.rooftop_id and link.eval_id = found.eval_id
      and link.link_kind = check_kind || '_pdf' and link.link_ref = check_ref
    left join core.evaluation as owner on owner.rooftop_id = found.rooftop_id and owner.eval_id = found.eval_id
    group by found.vin, check_kind`
}

/** For how long a paid check that no answer lists yet is asked for in every run. */
const paidDays = 30

/** Vehicles and kinds of checks that were paid for from here and are not loaded. */
function paidNotLoaded({ groupId }: Rooftop): RawBuilder<unknown> {
  return sql`
    select own.vehicle_vin as vin, kind.check_kind
    from ops.billable_call as call
    join core.rooftop using (rooftop_id)
    join (values ('ppsrSearch', 'ppsr'), ('carHistory', 'car_history')) as kind (budget, check_kind)
      on kind.budget = call.budget
    join core.evaluation as own on own.group_id = rooftop.group_id and own.vehicle_vin is not null
      and own.eval_id = case when call.natural_key ~ '^\\d{1,15}$' then call.natural_key::bigint end
    where rooftop.group_id = ${groupId} and call.state = 'committed' and call.at > now() - make_interval(days => ${paidDays})
      and coalesce(call.check_ref, call.source_at::text) is not null
      and not exists (
        select from core.vehicle_check as found
        where found.group_id = rooftop.group_id and found.check_kind = kind.check_kind
          and (found.check_ref in (call.check_ref, own.vehicle_vin || '-' || call.check_ref)
            or call.check_ref is null and found.vin = own.vehicle_vin and found.first_seen_at >= call.source_at))`
}

/** The rooftop's evaluations of a vehicle. "offset 0": by index, else the planner reads every evaluation of the rooftop. */
function vehicleEvaluations(
  { id, groupId }: Rooftop,
  vin: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select *, coalesce(completed_at, created_at) as born_at from core.evaluation
    where group_id = ${groupId} and rooftop_id = ${id} and vehicle_vin = ${vin} and gone_at is null offset 0`
}

/** The rooftop's evaluations that are young, whose vehicle has checks or a paid one to come, or whose last call failed. */
function evaluationsQuery(
  { id, groupId }: Rooftop,
  { runStart, evalId }: DueQuery,
  settings: EnrichmentSettings,
): RawBuilder<unknown> {
  return sql`
    select eval_id, vehicle.vin, born_at, source_updated_at, born_at >= ${youngSince(runStart, settings)} as is_young
    from vehicle cross join lateral (${vehicleEvaluations({ id, groupId }, sql`vehicle.vin`)}) as own
    where ${evalId === null ? sql`true` : sql`eval_id = ${evalId}`}
      and (born_at >= ${youngSince(runStart, settings)} or vehicle.vin in (select vin from known union all select vin from paid) or eval_id in (
        select state.eval_id from ops.enrichment_state as state
        where state.rooftop_id = ${id} and state.stream = ${vehicleChecksName} and state.failures > 0))`
}

/** Each of these evaluations with each listing, and whether it is due. One that failed is due whatever its age. */
function listingsQuery(
  { id }: Rooftop,
  { runStart }: DueQuery,
  settings: EnrichmentSettings,
): RawBuilder<unknown> {
  return sql`
    select own.eval_id, own.vin, own.born_at, kind.ask, state.failures, is_watched, known.expires_at as link_expires_at,
      coalesce(state.last_asked_at >= ${runStart}, false) as is_asked,
      coalesce(state.last_asked_at >= ${runStart} and state.outcome = 'answered', false) as is_answered,
      coalesce(known.expires_at < ${renewBefore(runStart, settings)}, false) as has_expiring_link,
      coalesce(is_young and (state.eval_id is null or state.next_due_at <= ${runStart} or source_updated_at > state.last_asked_at), false)
        or coalesce((state.next_due_at = '-infinity' or state.failures > 0) and state.next_due_at <= ${runStart}, false)
        or coalesce(known.ended_at > coalesce(state.last_asked_at, '-infinity'), false)
        or (own.vin, kind.kind) in (select vin, check_kind from paid) as is_due
    from evaluation as own
    cross join (values ('ppsr', ${pastNames.ppsr}), ('car_history', ${pastNames.car_history})) as kind (kind, ask)
    left join known on known.vin = own.vin and known.check_kind = kind.kind
    left join lateral (${questionState(id, sql`own.eval_id`, sql`kind.ask`)}) as state on true`
}

/** The state of a question. "offset 0": by key, else the planner reads every state of the rooftop. */
function questionState(
  rooftopId: number,
  evalId: RawBuilder<unknown>,
  ask: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select * from ops.enrichment_state as known
    where known.rooftop_id = ${rooftopId} and known.stream = ${vehicleChecksName} and known.eval_id = ${evalId} and known.ask = ${ask} offset 0`
}

/** Listings that are due, and watches that no such listing covers. */
function wanted(rooftop: Rooftop, ask: DueQuery): RawBuilder<unknown> {
  const { runStart, scope } = ask
  const everything = scope === 'all'
  return sql`
    select eval_id, ask, born_at, failures, link_expires_at, has_expiring_link from (
      select eval_id, vin, ask, born_at, failures, link_expires_at, has_expiring_link from listing
      where not is_asked and (has_expiring_link or ${everything} and is_due)
      union all
      select listing.eval_id, vin, ${watchPpsr.name}, born_at, state.failures, null, false
      from listing left join lateral (${questionState(rooftop.id, sql`listing.eval_id`, sql`${watchPpsr.name}`)}) as state on true
      where ${everything} and listing.ask = ${pastNames.ppsr} and is_watched and not is_answered
        and (is_asked or not is_due and not has_expiring_link)
        and coalesce(state.last_asked_at < ${runStart} and state.next_due_at <= ${runStart}, true)
    ) as asking
    -- "offset 0": for each task by index, else the planner reads every evaluation of the group.
    where not exists (${newerEvaluationOfVin(rooftop, ask)} offset 0)`
}

/**
 * Listings of evaluations that were too old for checks.lookForNewDays when they were loaded, newest first. A newer evaluation of
 * the vehicle asks instead, unless it is as old and outside the span. None asks where there is an answer about the vehicle.
 */
async function neverRequested(
  db: Kysely<Tables>,
  rooftop: Rooftop,
  ask: DueQuery & { readonly history: NonNullable<DueQuery['history']> },
  { checks: { lookForNewDays } }: EnrichmentSettings,
): Promise<EnrichmentTask[]> {
  const { runStart, limit, budget, history } = ask
  const youngSince = new Date(runStart.getTime() - lookForNewDays * 86_400_000)
  const { rows } = await sql<EnrichmentTask>`
    select eval_id as "evalId", ask, born_at as "completedAt", false as again, null as "pollingSince", 0 as failures
    from (
      select eval_id, vehicle_vin as vin, coalesce(completed_at, created_at) as born_at, ask
      from core.evaluation cross join unnest(${Object.values(pastNames)}::text[]) as ask
      where rooftop_id = ${rooftop.id} and vehicle_vin is not null and gone_at is null
    ) as asking
    where born_at >= ${history.from} and born_at < ${history.until} and born_at < ${youngSince}
      and not exists (
        select from core.evaluation as known
        join ops.enrichment_state as state on state.rooftop_id = known.rooftop_id and state.stream = ${vehicleChecksName}
          and state.eval_id = known.eval_id and state.ask = asking.ask
        where known.group_id = ${rooftop.groupId} and known.vehicle_vin = asking.vin and state.last_asked_at > '-infinity'
          and (known.eval_id = asking.eval_id or state.outcome = 'answered'))
      and not exists (${newerEvaluationOfVin(rooftop, ask)}
        and (coalesce(newer.completed_at, newer.created_at) < ${history.until}
          or coalesce(newer.completed_at, newer.created_at) >= ${youngSince}))
    order by born_at desc, eval_id, ask
    limit ${Math.min(limit, budget)}`.execute(db)
  return rows
}

/** A newer evaluation of the vehicle, which asks for all: its rooftop is asked about too, and its last call did not fail. */
function newerEvaluationOfVin({ groupId }: Rooftop, { siblings }: DueQuery): RawBuilder<unknown> {
  return sql`
    select from core.evaluation as newer
    where newer.group_id = ${groupId} and newer.vehicle_vin = asking.vin
      and newer.gone_at is null and newer.rooftop_id = any(${[...siblings]}::int[])
      and (coalesce(newer.completed_at, newer.created_at), newer.eval_id) > (asking.born_at, asking.eval_id)
      and not exists (
        select from ops.enrichment_state as state
        where state.rooftop_id = newer.rooftop_id and state.stream = ${vehicleChecksName}
          and state.eval_id = newer.eval_id and state.ask = asking.ask and state.outcome in ('skipped', 'failed', 'rejected') offset 0)`
}

/** Exactly these tasks, by natural key. */
function named({ id }: Rooftop, only: readonly string[]): RawBuilder<unknown> {
  return sql`
    select eval_id, split_part(key, '/', 2) as ask, coalesce(completed_at, created_at) as born_at,
      0 as failures, null::timestamptz as link_expires_at, false as has_expiring_link
    from unnest(${only.filter((key) => /^\d{1,15}\/\w+$/.test(key))}::text[]) as key
    join core.evaluation on rooftop_id = ${id} and eval_id = split_part(key, '/', 1)::bigint and gone_at is null`
}

/**
 * Calls that a run saved: all three asks for every evaluation that may have new checks, minus those that were made. Saved are
 * evaluations that are not due, vehicles that several evaluations share, watches that have ended or that a listing covered, and
 * links that are still valid.
 */
export async function savedCalls(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  runStart: Date,
  settings: EnrichmentSettings,
): Promise<number> {
  const { rows } = await sql<{ saved: number }>`
    select coalesce(sum(3 - (
      select count(*) from ops.enrichment_state as state
      where state.rooftop_id = young.rooftop_id and state.stream = ${vehicleChecksName} and state.eval_id = young.eval_id and last_asked_at >= ${runStart}
    )), 0)::int as saved
    from core.evaluation as young
    where rooftop_id = ${rooftop.id} and coalesce(completed_at, created_at) >= ${youngSince(runStart, settings)}
      and vehicle_vin is not null and gone_at is null`.execute(db)
  return rows[0]!.saved
}
