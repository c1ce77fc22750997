import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { isDay } from '../../../values/instant.ts'
import { jsonValue } from '../../../values/json-value.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { martSchema } from '../access/scope.ts'
import type { PageRequest } from '../page.ts'

/** A rooftop whose stock a person sees. */
export interface StockRooftop {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly zone: string
}

/** What a stock page is about. */
export interface StockScope {
  readonly schema: RawBuilder<unknown>
  /** Every rooftop that the person sees, by name. */
  readonly rooftops: readonly StockRooftop[]
  /** Those of the query: one, or all. */
  readonly chosen: readonly StockRooftop[]
}

/** The rooftops of a person, and those of them that are wanted by uid (empty: all). null: there is no such one for the person.
 *  The condition comes beside row-level security, so that one mistake alone shows no other dealer's stock. */
export async function readStockScope(
  { db, person }: PageRequest,
  wanted: string,
): Promise<StockScope | null> {
  const schema = martSchema(person)
  const rooftopUids = person.rooftops
  const { rows: rooftops } = await sql<StockRooftop>`
    select rooftop_id as id, rooftop_uid as uid, rooftop_name as name, time_zone as zone from ${schema}.dim_rooftop
    where ${rooftopUids === null ? sql`true` : sql`rooftop_uid = any(${[...rooftopUids]}::text[])`}
    order by rooftop_name, rooftop_id`.execute(db)
  const chosen = wanted === '' ? rooftops : rooftops.filter(({ uid }) => uid === wanted)
  return wanted !== '' && chosen.length === 0 ? null : { schema, rooftops, chosen }
}

/** The ids of the chosen rooftops, as SQL: of one rooftop a value, which the planner passes on to every table of a view. */
export function chosenIds({ chosen }: StockScope): RawBuilder<unknown> {
  const [first] = chosen
  if (first !== undefined && chosen.length === 1) return sql`${first.id}::int`
  return sql`any(${chosen.map(({ id }) => id)}::int[])`
}

/** The units of the chosen rooftops with their rooftop. */
function unitsQuery(scope: StockScope): RawBuilder<unknown> {
  return sql`${scope.schema}.fact_stock_unit as s
    join ${scope.schema}.dim_rooftop as r using (rooftop_id)`
}

/** The columns of `StockUnit`. */
const unitColumns = sql`
  r.rooftop_uid as uid, r.rooftop_name as rooftop, r.time_zone as zone, s.stock_no as "stockNo", s.vin, s.make, s.model, s.variant,
  s.model_year as year, s.odometer_km as km, s.currency_code as currency,
  case when s.is_acquired_on_listed then s.acquired_on end as "acquiredOn", s.first_seen_at as "firstSeenAt",
  case when s.is_acquired_on_listed then
    greatest(coalesce((s.off_stock_at at time zone r.time_zone)::date, (now() at time zone r.time_zone)::date) - s.acquired_on, 0) end as days,
  s.cost::float8 as cost, s.asking_price::float8 as asking, s.is_price_on_application as "isOnApplication", s.market_retail::float8 as market,
  s.missing_since as "missingSince", s.off_stock_at as "offStockAt",
  s.market_as_of as "marketAt", s.not_priced_reason as "whyNoMarket"`

/** A unit of the stock as it is now. */
export interface StockUnit {
  readonly uid: string
  readonly rooftop: string
  readonly zone: string
  readonly stockNo: string
  readonly vin: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
  readonly year: number | null
  readonly km: number | null
  readonly currency: string
  /** As listed; null: the lists have no date in stock. */
  readonly acquiredOn: string | null
  readonly firstSeenAt: Date
  /** null: not known, as there is no date in stock. */
  readonly days: number | null
  readonly cost: number | null
  readonly asking: number | null
  readonly isOnApplication: boolean
  readonly market: number | null
  readonly missingSince: Date | null
  readonly offStockAt: Date | null
  readonly marketAt: Date | null
  /** null: it has a market price. */
  readonly whyNoMarket: string | null
}

/** A unit in the list of those on hand. */
export interface ListedUnit extends StockUnit {
  /** A watch of a PPSR search in the dealer group reports that the interests have changed. */
  readonly isPpsrChanged: boolean
}

/** Which units of the stock on hand are listed. */
export interface UnitFilter {
  readonly show: 'all' | 'unpriced' | 'missing' | 'ppsr'
  readonly search: string
  /** The key of the unit after which the list goes on; empty: from the start. */
  readonly after: string
}

/** The units on hand, the longest in stock first, those without a date in stock last; one more than `limit` asks for says that there are more. */
export async function readUnits(
  db: Db,
  scope: StockScope,
  { show, search, after }: UnitFilter,
  limit: number,
): Promise<ListedUnit[]> {
  const [day, uid, stockNo] = partsOfKey(after)
  const cameIn = sql`case when s.is_acquired_on_listed then s.acquired_on else 'infinity' end`
  const isPpsrChanged = sql`exists (
    select from ${scope.schema}.rpt_06_ppsr_exposure as ppsr
    where ppsr.rooftop_id = s.rooftop_id and ppsr.stock_no = s.stock_no and (ppsr.exposure = 'interest changed' or ppsr.watch_status = 'changed'))`
  const order = sql`${cameIn}, r.rooftop_uid, s.stock_no`
  // The keys first, so that the other columns are read of the listed units alone.
  const { rows } = await sql<ListedUnit>`
    with listed as materialized (
      select s.rooftop_id, s.stock_no from ${unitsQuery(scope)}
      where s.is_on_hand and s.rooftop_id = ${chosenIds(scope)}
        ${show === 'unpriced' ? sql`and s.market_retail is null` : sql``} ${show === 'missing' ? sql`and s.missing_since is not null` : sql``}
        ${show === 'ppsr' ? sql`and ${isPpsrChanged}` : sql``}
        ${search === '' ? sql`` : sql`and position(${search.toLowerCase()} in lower(concat_ws(' ', s.stock_no, s.vin, s.plate, s.model_year, s.make, s.model))) > 0`}
        ${day === undefined ? sql`` : sql`and (${order}) > (${day === '' ? 'infinity' : day}::date, ${uid}::text, ${stockNo}::text)`}
      order by ${order} limit ${limit}
    )
    select unit.* from listed cross join lateral (
      select ${unitColumns}, ${isPpsrChanged} as "isPpsrChanged" from ${unitsQuery(scope)}
      where s.rooftop_id = listed.rooftop_id and s.stock_no = listed.stock_no limit 1
    ) as unit order by unit."acquiredOn" nulls last, unit.uid, unit."stockNo"`.execute(db)
  return rows
}

/** The key of a unit in the order of the list. */
export function cursorKey({ acquiredOn, uid, stockNo }: StockUnit): string {
  return JSON.stringify([acquiredOn ?? '', uid, stockNo])
}

const unitKey = z.tuple([
  z.string().refine((text) => text === '' || isDay(text)),
  z.string(),
  z.string(),
])

/** The parts of a key; none of a text that is not a key. */
export function partsOfKey(key: string): readonly string[] {
  return unitKey.safeParse(jsonValue(key)).data ?? []
}

/** One unit, on hand or gone; null: there is none of that number. */
export async function readUnit(
  db: Db,
  scope: StockScope,
  stockNo: string,
): Promise<(StockUnit & { evalId: number | null; evalUid: string | null }) | null> {
  const { rows } = await sql<StockUnit & { evalId: number | null; evalUid: string | null }>`
    select ${unitColumns}, s.eval_id as "evalId",
      (select e.rooftop_uid from ${scope.schema}.dim_rooftop as e where e.rooftop_id = s.eval_rooftop_id) as "evalUid"
    from ${unitsQuery(scope)} where s.rooftop_id = ${chosenIds(scope)} and s.stock_no = ${stockNo}`.execute(
    db,
  )
  return rows[0] ?? null
}

/** The sums of the stock on hand in one currency. */
export interface StockSum {
  readonly currency: string
  readonly units: number
  readonly missing: number
  readonly cost: number | null
  readonly costOf: number
  readonly asking: number | null
  readonly askingOf: number
  readonly market: number | null
  readonly marketOf: number
  /** The oldest confirmation of a market price. */
  readonly marketAt: Date | null
  /** Of the rooftop whose newest stock list is the oldest. */
  readonly listAt: Date | null
  readonly rooftops: number
}

/** The sums of the stock on hand, by currency. */
export async function readSums(db: Db, scope: StockScope): Promise<StockSum[]> {
  const { rows } = await sql<StockSum>`
    with list as materialized (
      select rooftop_id, (select greatest(max(imported_at), max(confirmed_at)) from core.stock_import as i where i.rooftop_id = one.rooftop_id) as newest_at
      from unnest(${scope.chosen.map(({ id }) => id)}::int[]) as one (rooftop_id)
    )
    select s.currency_code as currency, count(*)::int as units, count(s.missing_since)::int as missing,
      sum(s.cost)::float8 as cost, count(s.cost)::int as "costOf", sum(s.asking_price)::float8 as asking, count(s.asking_price)::int as "askingOf",
      sum(s.market_retail)::float8 as market, count(s.market_retail)::int as "marketOf",
      min(s.market_as_of) filter (where s.market_retail is not null) as "marketAt", min(list.newest_at) as "listAt",
      count(distinct rooftop_id)::int as rooftops
    from ${unitsQuery(scope)} left join list using (rooftop_id) where s.is_on_hand and s.rooftop_id = ${chosenIds(scope)}
    group by s.currency_code order by 2 desc, 1`.execute(db)
  return rows
}
