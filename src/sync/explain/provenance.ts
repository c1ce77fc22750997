import { type RawBuilder, sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type ReadScope, type ReadTimes, readTimes, type WindowFacts } from './next-read.ts'

/** The origin of one evaluation's row: row → payload → request → window → run, and when it is read. Without personal data. */
export interface Provenance extends ReadTimes {
  readonly rooftop: { readonly uid: string; readonly name: string }
  readonly row: Readonly<Record<string, unknown>> | null
  readonly versions: readonly Readonly<Record<string, unknown>>[]
  readonly payloads: readonly Readonly<Record<string, unknown>>[]
  /** Price observations, oldest first. */
  readonly prices: readonly Readonly<Record<string, unknown>>[]
  /** Checks of its vehicle in the dealer group, without the links. */
  readonly checks: readonly Readonly<Record<string, unknown>>[]
  /** How the status of its watches changed. */
  readonly watches: readonly Readonly<Record<string, unknown>>[]
  /** Webhooks that named it. */
  readonly webhooks: readonly Readonly<Record<string, unknown>>[]
  readonly window: Readonly<Record<string, unknown>> | null
  readonly quarantine: readonly Readonly<Record<string, unknown>>[]
  readonly vanished: Readonly<Record<string, unknown>> | null
  /** What other streams have asked about it, and when the request is due again; null: not again. */
  readonly asked: readonly Readonly<Record<string, unknown>>[]
  readonly runs: readonly Readonly<Record<string, unknown>>[]
}

type Facts = Readonly<Record<string, unknown>>

/** A rooftop that has something stored of an evaluation. */
export type RecordRooftop = Pick<RooftopRow, 'id' | 'uid' | 'name' | 'timeZone'>

/** The rooftops that have something stored of an evaluation: its row, a payload, a quarantined record, or that it has vanished.
 *  It reads the key of each rooftop, because the tables have no index by EvalID alone. */
export async function findRecordRooftops(db: Db, evalId: number): Promise<RecordRooftop[]> {
  const key = String(evalId)
  const { rows } = await sql<RecordRooftop>`
    select rooftop_id as id, rooftop_uid as uid, rooftop_name as name, time_zone as "timeZone" from core.rooftop as r
    where coalesce(
      (select true from core.evaluation as e where e.rooftop_id = r.rooftop_id and eval_id = ${evalId}),
      (select true from raw.payload as p where p.rooftop_id = r.rooftop_id and endpoint = 'geteval' and natural_key = ${key} limit 1),
      (select true from ops.quarantine as q where q.rooftop_id = r.rooftop_id and split_part(natural_key, '/', 1) = ${key}
        and natural_key = ${key} and stream = 'evaluations' limit 1),
      (select true from ops.vanished as v where v.rooftop_id = r.rooftop_id and stream = 'evaluations' and natural_key = ${key}))
    order by rooftop_id`.execute(db)
  return rows
}

/** One entry for each rooftop that has the evaluation; empty when none has. */
export async function readProvenance(
  db: Db,
  evalId: number,
  scope: ReadScope,
): Promise<Provenance[]> {
  const found: Provenance[] = []
  for (const rooftop of await findRecordRooftops(db, evalId))
    found.push(await readProvenanceAt(db, rooftop, evalId, scope))
  return found
}

/** The entry of one rooftop. */
export async function readProvenanceAt(
  db: Db,
  { id, uid, name }: RecordRooftop,
  evalId: number,
  scope: ReadScope,
): Promise<Provenance> {
  const stored = await readStored(db, id, evalId)
  const times = await readTimes(db, scope, { rooftopId: id, id: evalId, ...recordFacts(stored) })
  return { rooftop: { uid, name }, ...stored, ...times }
}

type Stored = Omit<Provenance, 'rooftop' | keyof ReadTimes>

function recordFacts({ row, quarantine, window }: Stored) {
  const open = quarantine.find(
    (one) => one['stream'] === 'evaluations' && one['resolved_at'] === null,
  )
  return {
    entryAt: (row?.['entry_at'] ?? open?.['window_from'] ?? null) as Date | null,
    isQuarantined: open !== undefined,
    window: window === null ? null : windowFacts(window),
  }
}

function windowFacts(window: Facts): WindowFacts {
  return {
    from: window['window_from'] as Date,
    until: window['window_until'] as Date,
    listedAt: window['listed_at'] as Date,
    rereadAt: window['reread_at'] as Date,
    quarantined: window['quarantined'] as number,
  }
}

/** The names of the sections: what is read of each evaluation. */
const sections = [
  ...(['row', 'version', 'payload', 'price', 'check', 'watch', 'webhook'] as const),
  ...(['quarantine', 'vanished', 'window', 'asked', 'run'] as const),
]

/** One statement for all sections: a page shows them together, from one snapshot. */
async function readStored(db: Db, rooftopId: number, evalId: number): Promise<Stored> {
  const { rows } = await sql<{ section: (typeof sections)[number]; fact: Facts }>`
    with own as (
      select * from core.evaluation where rooftop_id = ${rooftopId} and eval_id = ${evalId}
    ), quarantined as (
      select quarantine_id, stream, natural_key, issues, attempts, window_from, window_until, first_seen_at, last_seen_at, resolved_at, run_id
      from ops.quarantine where rooftop_id = ${rooftopId} and split_part(natural_key, '/', 1) = ${String(evalId)}
    ), checks as (
      select found.rooftop_id, found.eval_id, check_kind, check_ref, found.vin, searched_at, search_number, certificate_number, watch_status,
        watch_status_since, watch_ends_at, found.gone_at, found.run_id
      from own join core.vehicle_check as found on (found.group_id, found.vin) = (own.group_id, upper(own.vin))
    ), facts as (${factsQuery(rooftopId, evalId)})
    select section, fact from facts
    union all
    select 'run', to_jsonb(run) from (
      select run_id, command, status, started_at, finished_at, host, process_id from ops.run
      where run_id in (select (fact ->> 'run_id')::bigint from facts) order by run_id
    ) as run`.execute(db)
  const bySection = Map.groupBy(rows, ({ section }) => section)
  const all = (section: (typeof sections)[number]) =>
    (bySection.get(section) ?? []).map(({ fact }) => withTimes(fact))
  const one = (section: (typeof sections)[number]) => all(section)[0] ?? null
  return {
    ...{ row: one('row'), versions: all('version'), payloads: all('payload') },
    ...{ prices: all('price'), checks: all('check'), watches: all('watch') },
    ...{ webhooks: all('webhook'), window: one('window'), quarantine: all('quarantine') },
    ...{ vanished: one('vanished'), asked: all('asked'), runs: all('run') },
  }
}

/** Amounts are texts, as everywhere: a number would lose their zeros. */
function factsQuery(rooftopId: number, evalId: number): RawBuilder<unknown> {
  const key = String(evalId)
  const ofEvaluation = sql`rooftop_id = ${rooftopId} and eval_id = ${evalId}`
  const parts: Record<Exclude<(typeof sections)[number], 'run'>, RawBuilder<unknown>> = {
    row: sql`
      select eval_id, vin, make, model, final_price::text, currency_code, entry_at, created_at, completed_at, source_updated_at,
        version_no, photo_count, first_loaded_at, last_changed_at, gone_at, run_id from own`,
    version: sql`
      select version_no, valid_from, valid_to, observed_at, changed_fields, final_price::text, run_id
      from core.evaluation_version where ${ofEvaluation} order by version_no`,
    payload: sql`
      select 'POST /' || endpoint || ' {"evalid":' || natural_key || '}' as request, fetched_at, encode(content_hash, 'hex') as content_hash,
        octet_length(body::text) as bytes, run_id
      from raw.payload where rooftop_id = ${rooftopId} and natural_key = ${key}
        and endpoint in ('geteval', 'getpastppsrsearch', 'getpastcarhistory', 'ppsrwatch')
      order by endpoint, fetched_at`,
    price: sql`
      select 'GET /pricingAi/payload/' || eval_id as request, price_source, observed_at, last_confirmed_at, is_current, as_of_date,
        retail::text, wholesale::text, currency_code, confidence, run_id
      from core.price_observation where ${ofEvaluation} order by observed_at`,
    check: sql`
      select check_kind, check_ref, checks.vin, searched_at, search_number, certificate_number, watch_status, watch_status_since,
        watch_ends_at, signed_at, expires_at, checks.gone_at, checks.run_id
      from checks left join pii.signed_link as link on link.rooftop_id = checks.rooftop_id and link.eval_id = checks.eval_id
        and link.link_kind = check_kind || '_pdf' and link.link_ref = check_ref
      order by searched_at, check_kind, check_ref`,
    watch: sql`
      select check_kind, check_ref, change.observed_at, from_status, to_status
      from checks join core.watch_status_change as change using (rooftop_id, eval_id, check_kind, check_ref) order by change.observed_at`,
    webhook: sql`
      select delivery_id, event, state, outcome, issue, source_event_at, source_received_at, received_at, processed_at, duplicates, attempts, not_shown, run_id
      from ops.webhook_delivery where ${ofEvaluation} order by delivery_id`,
    quarantine: sql`select * from quarantined order by quarantine_id`,
    vanished: sql`
      select reason, vanished_at, run_id from ops.vanished
      where rooftop_id = ${rooftopId} and stream = 'evaluations' and natural_key = ${key}`,
    // A state that moved here with its record may hold -infinity: never.
    asked: sql`
      select stream, ask, case when isfinite(last_asked_at) then last_asked_at end as last_asked_at, outcome, detail,
        case when isfinite(next_due_at) then next_due_at end as next_due_at
      from ops.enrichment_state where ${ofEvaluation} and stream in ('pricing', 'vehicle-checks') order by stream, ask`,
    window: sql`
      select window_from, window_until, listed_at, reread_at, listed, loaded, quarantined, vanished, settled, proof, run_id
      from ops.window_certificate as certificate
      cross join lateral (
        select coalesce((select entry_at from own), (select window_from from quarantined order by quarantine_id limit 1)) as at
      ) as entry
      where rooftop_id = ${rooftopId} and stream = 'evaluations' and certificate.window_from <= at and window_until > at`,
  }
  return sql.join(
    Object.entries(parts).map(
      ([section, query]) =>
        sql`select ${section}::text as section, to_jsonb(part) as fact from (${query}) as part`,
    ),
    sql` union all `,
  )
}

const instantOfPostgres = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$/

/** In JSON, instants are texts. */
function withTimes(fact: Facts): Facts {
  return Object.fromEntries(
    Object.entries(fact).map(([name, value]) => [
      name,
      typeof value === 'string' && instantOfPostgres.test(value) ? new Date(value) : value,
    ]),
  )
}
