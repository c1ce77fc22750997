import { sql } from 'kysely'
import type { Html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { sparkline } from '../charts/sparkline.ts'
import type { StockScope, StockUnit } from './read-stock.ts'

/** The prices of a car from one change to the next. */
export interface PriceStep {
  readonly at: string
  readonly asking: number | null
  readonly market: number | null
}

/** The steps of these units, each by the key of `stepsKey`. */
export async function readPriceSteps(
  db: Db,
  { schema, chosen }: StockScope,
  units: readonly Pick<StockUnit, 'uid' | 'stockNo'>[],
): Promise<ReadonlyMap<string, readonly PriceStep[]>> {
  const ids = new Map(chosen.map(({ id, uid }) => [uid, id]))
  // By rooftop and numbers, so that each reads the steps of its own units alone.
  const { rows } = await sql<{ rooftopId: number; stockNo: string; steps: PriceStep[] }>`
    with wanted as (
      select rooftop_id, array_agg(stock_no) as numbers
      from unnest(${units.map(({ uid }) => ids.get(uid)!)}::int[], ${units.map(({ stockNo }) => stockNo)}::text[]) as one (rooftop_id, stock_no)
      group by rooftop_id
    )
    select w.rooftop_id as "rooftopId", own.* from wanted as w cross join lateral (
      select stock_no as "stockNo",
        json_agg(json_build_object('at', moved_at, 'asking', asking_price::float8, 'market', market_retail::float8) order by step_no) as steps
      from ${schema}.stock_price_drift as d where d.rooftop_id = w.rooftop_id and d.stock_no = any(w.numbers)
      group by stock_no) as own`.execute(db)
  const uids = new Map(chosen.map(({ id, uid }) => [id, uid]))
  return new Map(
    rows.map(({ rooftopId, stockNo, steps }) => {
      return [stepsKey({ uid: uids.get(rooftopId)!, stockNo }), steps] as const
    }),
  )
}

/** The key of a unit among those of several rooftops. */
export function stepsKey({ uid, stockNo }: Pick<StockUnit, 'uid' | 'stockNo'>): string {
  return JSON.stringify([uid, stockNo])
}

/** Both prices as small steps; the same in words for those who do not see them. */
export function priceHistory(steps: readonly PriceStep[], now: Date): Html {
  const values = (name: 'asking' | 'market') =>
    steps.map((step) => ({ at: new Date(step.at), value: step[name] }))
  const ends = (name: 'asking' | 'market') => {
    const known = steps.map((step) => step[name]).filter((value) => value !== null)
    return known.length === 0 ? 'none' : `${known[0]} to ${known.at(-1)}`
  }
  const summary = `Asking ${ends('asking')}, market ${ends('market')}`
  return sparkline(summary, [values('asking'), values('market')], now)
}
