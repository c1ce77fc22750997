import type pg from 'pg'
import type { RowTexts } from './aggregates-counted.ts'
import { less, milli, moneyText, ratio } from './marts-numbers.ts'

interface Seen {
  readonly key: string
  readonly rooftop: number
  readonly day: string
  readonly price: string | null
}

/** What core.agg_repeat_vehicle should hold, counted here. */
export async function countRepeats(pool: pg.Pool): Promise<RowTexts> {
  const { rows } = await pool.query<Seen>(
    `select concat_ws(' ', group_id, upper(vin), currency_code) as key, rooftop_id as rooftop, completed_date_local::text as day,
       final_price::text as price
     from core.evaluation where gone_at is null and completed_date_local is not null and length(vin) = 17`,
  )
  const lines = [...Map.groupBy(rows, ({ key }) => key)].flatMap(([key, all]) => {
    if (all.length < 2) return []
    const days = all.map(({ day }) => day).sort()
    const prices = all
      .flatMap(({ price }) => milli(price === null ? null : Number(price)) ?? [])
      .sort((a, b) => Number(a - b))
    const rooftops = new Set(all.map(({ rooftop }) => rooftop)).size
    const [lowest, highest] = [prices[0] ?? null, prices.at(-1) ?? null]
    return [
      [
        ...[key, all.length, rooftops, days[0]!, days.at(-1)!],
        ...[moneyText(lowest), moneyText(highest)],
      ].join(' '),
    ]
  })
  return lines.sort()
}

interface Appraised {
  readonly key: string
  readonly price: number
  readonly recon: number | null
  readonly line: number | null
}

interface KnownPrice {
  readonly key: string
  readonly isCurrent: boolean
  readonly wholesale: number
  readonly retail: number
}

/** What core.agg_appraisal should hold of money, calculated here. */
export async function countAppraisals(pool: pg.Pool): Promise<RowTexts> {
  const { rows: evaluations } = await pool.query<Appraised>(
    `select concat_ws(' ', rooftop_id, eval_id, completed_date_local, currency_code) as key, final_price::float8 as price,
       recon_total::float8 as recon, recon_line_total::float8 as line
     from core.evaluation where gone_at is null and completed_date_local is not null and final_price is not null`,
  )
  const { rows: prices } = await pool.query<KnownPrice>(
    `select concat_ws(' ', e.rooftop_id, e.eval_id, completed_date_local, p.currency_code) as key, is_current as "isCurrent",
       wholesale::float8, retail::float8
     from core.price_observation as p join core.evaluation as e on e.rooftop_id = p.rooftop_id and e.eval_id = p.eval_id
     order by is_current, observed_at`,
  )
  return evaluations
    .map((one) => {
      const known = prices.filter(({ key }) => key === one.key)
      const now = known.find(({ isCurrent }) => isCurrent)
      return [one.key, ...moneyOf(one, known[0], now)].join(' ')
    })
    .sort()
}

function moneyOf(
  { price, recon, line }: Appraised,
  first: KnownPrice | undefined,
  now: KnownPrice | undefined,
): (string | null)[] {
  const cost = milli(recon ?? line)
  const wholesale = milli(first?.wholesale)
  const gap = less(milli(price), wholesale)
  const room = (known: KnownPrice | undefined) =>
    less(less(milli(known?.retail), milli(price)), cost ?? 0n)
  return [
    ...[milli(price), cost, wholesale, milli(first?.retail)].map(moneyText),
    ...[milli(now?.wholesale), milli(now?.retail), gap].map(moneyText),
    ratio(gap, wholesale),
    ...[room(first), room(now)].map(moneyText),
  ]
}
