import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
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
  readonly window: Readonly<Record<string, unknown>> | null
  readonly quarantine: readonly Readonly<Record<string, unknown>>[]
  readonly vanished: Readonly<Record<string, unknown>> | null
  readonly runs: readonly Readonly<Record<string, unknown>>[]
}

type Facts = Readonly<Record<string, unknown>>

/** A rooftop that has something stored of an evaluation. */
export interface RecordRooftop {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly timeZone: string
}

/** The rooftops that have something stored of an evaluation: its row, a payload, a quarantined record, or that it has vanished.
 *  Each is a look at the key of one rooftop, because the tables have no index by EvalID alone. */
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

async function readStored(db: Db, rooftopId: number, evalId: number): Promise<Stored> {
  const key = String(evalId)
  const read = async (query: ReturnType<typeof sql<Facts>>): Promise<readonly Facts[]> =>
    (await query.execute(db)).rows
  const [row] = await read(sql`
    select eval_id, vin, make, model, final_price, currency_code, entry_at, created_at, completed_at, source_updated_at,
      version_no, photo_count, first_loaded_at, last_changed_at, gone_at, run_id
    from core.evaluation where rooftop_id = ${rooftopId} and eval_id = ${evalId}`)
  const versions = await read(sql`
    select version_no, valid_from, valid_to, observed_at, changed_fields, run_id
    from core.evaluation_version where rooftop_id = ${rooftopId} and eval_id = ${evalId} order by version_no`)
  const payloads = await read(sql`
    select 'POST /' || endpoint || ' {"evalid":' || natural_key || '}' as request, fetched_at, encode(content_hash, 'hex') as content_hash,
      octet_length(body::text) as bytes, run_id
    from raw.payload where rooftop_id = ${rooftopId} and endpoint in ('geteval', 'getpastppsrsearch', 'getpastcarhistory', 'ppsrwatch')
      and natural_key = ${key} order by endpoint, fetched_at`)
  const prices = await read(sql`
    select 'GET /pricingAi/payload/' || eval_id as request, price_source, observed_at, last_confirmed_at, is_current, as_of_date,
      retail, wholesale, currency_code, confidence, run_id
    from core.price_observation where rooftop_id = ${rooftopId} and eval_id = ${evalId} order by observed_at`)
  const checks = await read(sql`
    select check_kind, check_ref, vin, searched_at, search_number, certificate_number, watch_status, watch_status_since,
      watch_ends_at, signed_at, expires_at, gone_at, run_id
    from core.vehicle_check as found
    left join pii.signed_link as link on link.rooftop_id = found.rooftop_id and link.eval_id = found.eval_id
      and link.link_kind = check_kind || '_pdf' and link.link_ref = check_ref
    where (found.group_id, found.vin) = (
      select group_id, upper(vin) from core.evaluation where rooftop_id = ${rooftopId} and eval_id = ${evalId}
    ) order by searched_at`)
  const quarantine = await read(sql`
    select quarantine_id, stream, natural_key, issues, attempts, window_from, window_until, first_seen_at, last_seen_at, resolved_at, run_id
    from ops.quarantine where rooftop_id = ${rooftopId} and split_part(natural_key, '/', 1) = ${key} order by quarantine_id`)
  const [vanished] = await read(sql`
    select reason, vanished_at, run_id from ops.vanished
    where rooftop_id = ${rooftopId} and stream = 'evaluations' and natural_key = ${key}`)
  const at = (row?.['entry_at'] ?? quarantine[0]?.['window_from'] ?? null) as Date | null
  const [window] = await read(sql`
    select window_from, window_until, listed_at, reread_at, listed, loaded, quarantined, vanished, settled, proof, run_id
    from ops.window_certificate
    where rooftop_id = ${rooftopId} and stream = 'evaluations' and window_from <= ${at}::timestamptz and window_until > ${at}::timestamptz`)
  const runIds = [
    row,
    ...versions,
    ...payloads,
    ...prices,
    ...checks,
    ...quarantine,
    vanished,
    window,
  ].flatMap((facts) => (facts?.['run_id'] ? [Number(facts['run_id'])] : []))
  const runs = await read(sql`
    select run_id, command, status, started_at, finished_at, host, process_id from ops.run
    where run_id = any(${[...new Set(runIds)]}::bigint[]) order by run_id`)
  return {
    row: row ?? null,
    versions,
    payloads,
    prices,
    checks,
    window: window ?? null,
    quarantine,
    vanished: vanished ?? null,
    runs,
  }
}
