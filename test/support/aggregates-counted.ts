import type pg from 'pg'

/** Rows of an aggregate as text, a column after the other, sorted. */
export type RowTexts = readonly string[]

const upTo = [5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10_080, Infinity]

interface Evaluation {
  readonly key: string
  readonly id: string
  readonly price: string | null
  readonly photos: number
  readonly hero: string | null
  readonly source: string
  readonly seconds: number
}

interface Line {
  readonly key: string
  readonly id: string
  readonly first: number
  readonly last: number | null
  readonly cost: string | null
}

/** What core.agg_evaluation_day should hold, counted here. */
export async function countEvaluations(pool: pg.Pool): Promise<RowTexts> {
  const { rows } = await pool.query<Evaluation>(
    `select concat_ws(' ', rooftop_id, completed_date_local, coalesce(user_id, 0), currency_code) as key, eval_id::text as id,
       final_price::text as price, photo_count as photos, hero_source as hero, created_at_source as source,
       extract(epoch from completed_at - created_at)::int as seconds
     from core.evaluation where gone_at is null and completed_date_local is not null`,
  )
  const lines = [...Map.groupBy(rows, ({ key }) => key)].map(([key, all]) => {
    const having = (is: (one: Evaluation) => boolean) => all.filter(is).length
    const timed = all.filter(({ source, seconds }) => source === 'CreatedAt' && seconds >= 0)
    const shown = all.filter(({ photos }) => photos > 0)
    return [
      ...[
        key,
        all.length,
        having(({ price }) => price !== null),
        sum(all.map(({ price }) => price)),
      ],
      all.reduce((photos, one) => photos + one.photos, 0),
      ...[having(({ photos }) => photos === 0), having(({ photos }) => photos >= 1 && photos <= 7)],
      shown.filter(({ hero }) => hero === 'default').length,
      shown.filter(({ hero }) => hero === null).length,
      having(({ photos, hero }) => photos >= 8 && hero !== null && hero !== 'default'),
      ...[
        timed.length,
        ...upTo.map((_, index) => timed.filter((one) => bucketOf(one) === index).length),
      ],
    ].join(' ')
  })
  return lines.sort()
}

/** What core.agg_recon_day should hold, counted here. */
export async function countRecon(pool: pg.Pool): Promise<RowTexts> {
  const { rows } = await pool.query<Line>(
    `select concat_ws(' ', e.rooftop_id, e.completed_date_local, coalesce(recon_type, ''), e.currency_code) as key,
       e.eval_id::text as id, first_version as first, last_version as last, cost::text
     from core.reconditioning_item join core.evaluation as e using (rooftop_id, eval_id)
     where gone_at is null and completed_date_local is not null and coalesce(recon_type, '') not in ('info', 'Info')`,
  )
  const counted = rows.filter(({ first, last }) => first === 1 || last === null)
  const lines = [...Map.groupBy(counted, ({ key }) => key)].map(([key, all]) => {
    const ofOne = [...Map.groupBy(all, ({ id }) => id).values()]
    const known = ofOne.filter((own) => own.every(({ cost }) => cost !== null))
    const costs = known.flat()
    return [
      key,
      sum(costs.filter(({ first }) => first === 1).map(({ cost }) => cost)),
      sum(costs.filter(({ last }) => last === null).map(({ cost }) => cost)),
      ...[ofOne.length, known.length],
    ].join(' ')
  })
  return lines.sort()
}

interface Asked {
  readonly key: string
  readonly outcome: string | null
  readonly isPriced: boolean
}

/** What core.agg_pricing_day should hold, counted here. */
export async function countPricing(pool: pg.Pool): Promise<RowTexts> {
  const { rows } = await pool.query<Asked>(
    `select concat_ws(' ', e.rooftop_id, e.completed_date_local) as key, s.outcome, p.eval_id is not null as "isPriced"
     from core.evaluation as e
     left join core.price_observation as p on p.rooftop_id = e.rooftop_id and p.eval_id = e.eval_id and p.is_current
     left join ops.enrichment_state as s on s.rooftop_id = e.rooftop_id and s.eval_id = e.eval_id and s.stream = 'pricing'
     where gone_at is null and completed_date_local is not null`,
  )
  const known = rows.filter(({ outcome, isPriced }) => outcome !== null || isPriced)
  const lines = [...Map.groupBy(known, ({ key }) => key)].map(([key, all]) => {
    const without = all.filter(({ isPriced }) => !isPriced).map(({ outcome }) => outcome)
    return [
      ...[key, all.length, all.length - without.length],
      without.filter((outcome) => outcome === 'skipped' || outcome === 'rejected').length,
      without.filter((outcome) => outcome === 'failed').length,
    ].join(' ')
  })
  return lines.sort()
}

const columns = {
  agg_evaluation_day: '*',
  agg_recon_day:
    'rooftop_id, completed_date_local, recon_type, currency_code, first_cost, last_cost, evaluations, costed',
  agg_pricing_day: '*',
  agg_repeat_vehicle: '*',
  agg_appraisal: `rooftop_id, eval_id, completed_date_local, currency_code, appraised_price, recon_total, wholesale_first,
    retail_first, wholesale_now, retail_now, gap_to_wholesale_first, gap_share, gross_room_first, gross_room_now`,
}

/** The rows that a table of sums holds; of the appraisals those with a price. */
export async function storedRows(pool: pg.Pool, table: keyof typeof columns): Promise<RowTexts> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `select ${columns[table]} from core.${table} ${table === 'agg_appraisal' ? 'where appraised_price is not null' : ''}`,
  )
  return rows.map((row) => Object.values(row).join(' ')).sort()
}

function bucketOf({ seconds }: Evaluation): number {
  return upTo.findIndex((minutes) => seconds <= minutes * 60)
}

function sum(amounts: readonly (string | null)[]): string {
  const thousandths = amounts.reduce(
    (all, amount) => all + Math.round(Number(amount ?? 0) * 1000),
    0,
  )
  return (thousandths / 1000).toFixed(3)
}
