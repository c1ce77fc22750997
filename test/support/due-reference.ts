import { type Kysely, type RawBuilder, sql } from 'kysely'
import { watchPpsr } from '#src/api/contract/appraisal/checks.ts'
import type { Config } from '#src/app/config/read.ts'
import { hoursToRefresh, pastNames } from '#src/streams/vehicle-checks/due.ts'
import { vehicleChecksName } from '#src/streams/vehicle-checks/make-due.ts'
import type { DueQuery, EnrichmentSettings, EnrichmentTask } from '#src/sync/enrich/enrichment.ts'
import type { DueReason, DueScope, DueWindow } from '#src/sync/windows/due-windows.ts'
import type { RooftopRow } from '#src/values/rooftop.ts'
import { fromUnixSeconds, toUnixSeconds } from '#src/values/unix-seconds.ts'
import { cutIntoWindows, dayNumber, daySeconds } from '#src/values/window.ts'
import type { Tables } from '#src/warehouse/db/tables.ts'

// What is due, found among all that there is: the definitions that the queries by index must agree with.

/** Pricing: every evaluation of the rooftop with its state. */
export async function allDuePrices(
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
  const { rows } = await sql<EnrichmentTask>`
    with candidate as (
      select eval_id, completed_at, ${isPoll} as again, ${isFresh} as fresh,
        coalesce(state.failures, 0) as failures, state.polling_since
      from core.evaluation left join (
        select * from ops.enrichment_state where rooftop_id = ${rooftop.id} and stream = ${stream} and ask = ${ask}
      ) as state using (eval_id)
      where core.evaluation.rooftop_id = ${rooftop.id}
        and ${evalId === null ? sql`true` : sql`core.evaluation.eval_id = ${evalId}`}
        and gone_at is null and completed_at is not null and odometer is not null
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

type Rooftop = Pick<RooftopRow, 'id' | 'groupId'>

/** Vehicle checks: every check of the group, and every evaluation of the rooftop. */
export async function allDueChecks(
  db: Kysely<Tables>,
  rooftop: Rooftop,
  ask: DueQuery,
  settings: EnrichmentSettings,
): Promise<EnrichmentTask[]> {
  const { limit, only } = ask
  const chosen = only === null ? wanted(rooftop, ask) : named(rooftop, only)
  const { rows } = await sql<EnrichmentTask>`
    with known as materialized (${knownQuery(rooftop, ask, settings)}),
      paid as materialized (${paidNotLoaded(rooftop)}),
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

/** By vehicle and kind: whether a watch runs, when the last one without a final status has ended, and the first expiry of the
 *  links to keep alive. */
function knownQuery(
  { id, groupId }: Rooftop,
  { runStart, evalId }: DueQuery,
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
    from core.vehicle_check as found
    left join core.ref_watch_status using (watch_status)
    left join pii.signed_link as link on link.rooftop_id = found.rooftop_id and link.eval_id = found.eval_id
      and link.link_kind = check_kind || '_pdf' and link.link_ref = check_ref
    left join core.evaluation as owner on owner.rooftop_id = found.rooftop_id and owner.eval_id = found.eval_id
    where found.group_id = ${groupId} and found.gone_at is null
      and ${evalId === null ? sql`true` : sql`found.vin = (select upper(vin) from core.evaluation where rooftop_id = ${id} and eval_id = ${evalId})`}
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

/** The rooftop's evaluations that are young, whose vehicle has checks or a paid one to come, or whose last call failed. */
function evaluationsQuery(
  { id }: Rooftop,
  { runStart, evalId }: DueQuery,
  { checks: { lookForNewDays } }: EnrichmentSettings,
): RawBuilder<unknown> {
  const youngSince = sql`${runStart}::timestamptz - make_interval(days => ${lookForNewDays})`
  return sql`
    select eval_id, upper(vin) as vin, born_at, source_updated_at, born_at >= ${youngSince} as is_young
    from core.evaluation cross join lateral (values (coalesce(completed_at, created_at))) as born (born_at)
    where rooftop_id = ${id} and length(vin) = 17 and gone_at is null
      and ${evalId === null ? sql`true` : sql`eval_id = ${evalId}`}
      and (born_at >= ${youngSince} or upper(vin) in (select vin from known union all select vin from paid) or eval_id in (
        select state.eval_id from ops.enrichment_state as state
        where state.rooftop_id = ${id} and state.stream = ${vehicleChecksName} and state.failures > 0))`
}

/** Each of these evaluations with each listing, and whether it is due. One that failed is due whatever its age. */
function listingsQuery(
  { id }: Rooftop,
  { runStart }: DueQuery,
  settings: EnrichmentSettings,
): RawBuilder<unknown> {
  const linkBefore = sql`${runStart}::timestamptz + make_interval(hours => ${hoursToRefresh(settings)})`
  return sql`
    select own.eval_id, own.vin, own.born_at, kind.ask, state.failures, is_watched, known.expires_at as link_expires_at,
      coalesce(state.last_asked_at >= ${runStart}, false) as is_asked,
      coalesce(state.last_asked_at >= ${runStart} and state.outcome = 'answered', false) as is_answered,
      coalesce(known.expires_at < ${linkBefore}, false) as has_expiring_link,
      coalesce(is_young and (state.eval_id is null or state.next_due_at <= ${runStart} or source_updated_at > state.last_asked_at), false)
        or coalesce((state.next_due_at = '-infinity' or state.failures > 0) and state.next_due_at <= ${runStart}, false)
        or coalesce(known.ended_at > coalesce(state.last_asked_at, '-infinity'), false)
        or (own.vin, kind.kind) in (select vin, check_kind from paid) as is_due
    from evaluation as own
    cross join (values ('ppsr', ${pastNames.ppsr}), ('car_history', ${pastNames.car_history})) as kind (kind, ask)
    left join known on known.vin = own.vin and known.check_kind = kind.kind
    left join ops.enrichment_state as state on state.rooftop_id = ${id} and state.stream = ${vehicleChecksName}
      and state.eval_id = own.eval_id and state.ask = kind.ask`
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
      from listing left join ops.enrichment_state as state on state.rooftop_id = ${rooftop.id}
        and state.stream = ${vehicleChecksName} and state.eval_id = listing.eval_id and state.ask = ${watchPpsr.name}
      where ${everything} and listing.ask = ${pastNames.ppsr} and is_watched and not is_answered
        and (is_asked or not is_due and not has_expiring_link)
        and coalesce(state.last_asked_at < ${runStart} and state.next_due_at <= ${runStart}, true)
    ) as asking
    -- "offset 0": for each task by index, else the planner reads every evaluation of the group.
    where not exists (${newerEvaluationOfVin(rooftop, ask)} offset 0)`
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

interface SpanRow {
  readonly from: Date
  readonly until: Date
  readonly reason: DueReason
}

/** Windows: every certificate of the rooftop. */
export async function allDueWindows(
  db: Kysely<Tables>,
  { rooftopId, stream, run }: DueScope,
  sync: Config['sync'],
): Promise<DueWindow[]> {
  const start = fromUnixSeconds(run.from)
  const end = fromUnixSeconds(run.until ?? run.sourceStart)
  const { rows: gaps } = await sql<SpanRow>`
    select lower(gap) as "from", upper(gap) as "until", 'gap' as reason
    from (
      select coalesce(range_agg(span), '{}') as listed, coalesce(range_agg(span) filter (where settled), '{}') as settled,
        coalesce(range_agg(span) filter (where run_id = ${run.runId}), '{}') as by_this_run
      from ops.window_certificate, tstzrange(window_from, window_until) as span
      where rooftop_id = ${rooftopId} and stream = ${stream}
    ) as certified
    cross join lateral (
      select coalesce((select covered from ops.coverage where rooftop_id = ${rooftopId} and stream = ${stream}), '{}') as covered
    ) as coverage
    cross join lateral unnest(
      tstzmultirange(tstzrange(${start}, greatest(${start}::timestamptz, ${end}::timestamptz)))
      + case when ${run.mode === 'sync'} then (covered + listed) * tstzmultirange(tstzrange(null, ${end})) else '{}' end
      - case when ${run.relists ?? false} then '{}' else covered * settled end - by_this_run) as gap
    where ${start}::timestamptz < ${end}::timestamptz`.execute(db)
  const today = dayNumber(run.sourceStart)
  const nights = sync.deepRelistNights
  const isRecent = sql`window_until > ${fromUnixSeconds(Math.floor(run.sourceStart - sync.recheckDays * daySeconds))}`
  const { rows: relisted } = await sql<SpanRow>`
    select window_from as "from", window_until as "until", case when ${isRecent} then 'recheck' else 'deep' end as reason
    from ops.window_certificate as certificate
    where rooftop_id = ${rooftopId} and stream = ${stream} and settled and run_id <> ${run.runId} and ${run.mode === 'sync'}
      and window_until <= ${fromUnixSeconds(run.sourceStart)}
      and (${isRecent} or quarantined > 0 or listed_at < to_timestamp(
        (${today}::bigint - mod(${today}::bigint - floor(extract(epoch from window_from) / ${daySeconds})::bigint, ${nights}::bigint)) * ${daySeconds}))
      and exists (
        select from ops.coverage where coverage.rooftop_id = certificate.rooftop_id and coverage.stream = certificate.stream
        and covered @> tstzrange(certificate.window_from, certificate.window_until))`.execute(db)
  const openUntil = run.until === null ? run.sourceStart : null
  return [...gaps, ...relisted]
    .flatMap(({ from, until, reason }) => {
      const span = { from: toUnixSeconds(from), until: toUnixSeconds(until) }
      const seconds = sync.windowHours * 3600
      const isWhole = reason !== 'gap' && span.until - span.from <= seconds
      const windows = isWhole
        ? [{ ...span, open: false }]
        : cutIntoWindows([span], seconds, reason === 'gap' ? openUntil : null)
      return windows.map((window) => ({ ...window, reason }))
    })
    .sort((a, b) => b.from - a.from)
}
