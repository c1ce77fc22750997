import { sql } from 'kysely'
import { queryPages } from '../../warehouse/db/query-pages.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { escapeFormula } from '../csv/write/escape-formula.ts'
import { extraColumn, listColumns, priceColumns } from '../own-columns.ts'
import {
  amountText,
  instantText,
  type PricedUnit,
  priceCells,
  pricedUnits,
  priceStatus,
} from './priced-unit.ts'

/** Which units a priced list has. */
interface ListOptions {
  readonly rooftopId: number
  /** Includes units that the newest list does not name: in their days of grace, or off stock. */
  readonly all: boolean
  /** Writes cells unchanged, formulas too. */
  readonly raw: boolean
}

/** Only units of the newest list: a unit in its days of grace would be in stock again when the export is imported. */
const onHand = sql`and unit.missing_since is null and unit.off_stock_at is null`

interface UnitRow extends PricedUnit {
  readonly stock_no: string
  readonly plate: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
  readonly model_year: number | null
  readonly asking_price: string | null
  readonly cost: string | null
  readonly currency_code: string
  readonly price_on_application: boolean
  readonly acquired_on: string | null
  readonly extras: Readonly<Record<string, string>>
}

/**
 * Yields the records of the priced list page by page, the header first. The dealer's other fields
 * (`extras`) are between the two groups of stable columns, so that the list can be imported again.
 */
export async function* pricedList(
  db: Db,
  options: ListOptions,
): AsyncGenerator<readonly (readonly string[])[]> {
  const extras = await readExtraFields(db, options)
  yield [[...Object.keys(listColumns), ...extras.map(extraColumn), ...priceColumns]]
  const safe = options.raw ? (cell: string) => cell : escapeFormula
  for await (const page of queryPages(db, listQuery(options)))
    yield page.map((unit) => unitRecord(unit, extras, safe))
}

function listQuery({ rooftopId, all }: ListOptions) {
  return sql<UnitRow>`
    select priced.*, unit.plate, unit.make, unit.model, unit.variant, unit.model_year, unit.asking_price, unit.cost,
      unit.currency_code, unit.price_on_application, unit.acquired_on, unit.extras
    from core.stock_unit as unit
    join (${pricedUnits(rooftopId)}) as priced using (stock_no)
    where unit.rooftop_id = ${rooftopId} ${all ? sql`` : onHand}
    order by unit.stock_no`
}

/** The extra fields that any unit has. An odometer reading in km is left out: odometer_km has it. */
async function readExtraFields(db: Db, options: ListOptions): Promise<readonly string[]> {
  const { rows } = await sql<{ field: string; miles: boolean }>`
    select extra.key as field, bool_or(extra.key = 'odometer_unit' and extra.value = 'mi') as miles
    from core.stock_unit as unit, jsonb_each_text(unit.extras) as extra
    where unit.rooftop_id = ${options.rooftopId} ${options.all ? sql`` : onHand}
    group by extra.key order by extra.key`.execute(db)
  const hasMiles = rows.some(({ miles }) => miles)
  const isRepeated = (field: string) =>
    field === 'chassis' || (!hasMiles && ['odometer', 'odometer_unit'].includes(field))
  return rows.map(({ field }) => field).filter((field) => !isRepeated(field))
}

function unitRecord(
  unit: UnitRow,
  extras: readonly string[],
  safe: (cell: string) => string,
): readonly string[] {
  const { status, message } = priceStatus(unit)
  const text = (value: string | null | undefined) => safe(value ?? '')
  return [
    text(unit.stock_no),
    text(unit.unit_vin ?? unit.extras['chassis']),
    text(unit.unit_adcode),
    text(unit.plate),
    text(unit.make),
    text(unit.model),
    text(unit.variant),
    String(unit.model_year ?? ''),
    String(unit.odometer_km ?? ''),
    amountText(unit.asking_price) || (unit.price_on_application ? 'POA' : ''),
    amountText(unit.cost),
    unit.currency_code,
    unit.acquired_on ?? '',
    ...extras.map((field) => text(unit.extras[field])),
    ...priceCells(unit),
    unit.price_currency ?? '',
    instantText(unit.priced_at),
    String(unit.eval_id ?? ''),
    status,
    text(message),
  ]
}
