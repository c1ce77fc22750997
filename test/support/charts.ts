import type pg from 'pg'
import { bars } from '#src/web/console/charts/bars.ts'
import { lines } from '#src/web/console/charts/lines.ts'
import type { Chart } from '#src/web/console/charts/plot.ts'
import { pictureOf } from './picture.ts'

/** A picture of the README: what it shows, asked of one mart, and how its rows are drawn. */
export interface Picture {
  readonly name: string
  readonly subtitle: string
  readonly query: string
  readonly draw: (rows: readonly Row[]) => Chart
}

type Row = Readonly<Record<string, string | number | null>>

const valuesOf = (rows: readonly Row[], name: string) => rows.map((row) => Number(row[name]))
const textsOf = (rows: readonly Row[], name: string) => rows.map((row) => String(row[name]))

const volume: Picture = {
  name: 'appraisal-volume',
  subtitle: 'how many were completed in each week, by region',
  query: `select r.region, date_trunc('week', v.completed_date)::date::text as week, sum(v.appraisals)::int as appraisals
    from mart.rpt_10_appraisal_volume as v join mart.dim_rooftop as r using (rooftop_id)
    group by 1, 2 order by 1, 2`,
  draw: (rows) =>
    lines({
      ...{ title: 'Appraisals', unit: 'cars', base: 'zero' },
      lines: [...Map.groupBy(rows, ({ region }) => String(region))].map(([name, own]) => ({
        name,
        points: own.map((row) => ({
          at: new Date(row['week']!),
          value: Number(row['appraisals']),
        })),
      })),
    }),
}

const photos: Picture = {
  name: 'photo-completeness',
  subtitle: 'share of the appraisals of each rooftop',
  query: `select rooftop_name as name, sum(complete)::float8 / sum(evaluations) as complete,
      sum(evaluations - no_photo - under_eight - complete)::float8 / sum(evaluations) as unchosen,
      sum(under_eight)::float8 / sum(evaluations) as few, sum(no_photo)::float8 / sum(evaluations) as none
    from mart.rpt_07_photo_completeness group by 1 order by 1`,
  draw: (rows) =>
    bars({
      ...{ title: 'Photos of appraisals', of: 'Rooftop', unit: 'share', kind: 'stacked' },
      categories: textsOf(rows, 'name'),
      series: [
        { name: 'eight or more, first one chosen', values: valuesOf(rows, 'complete') },
        { name: 'eight or more, first one not chosen', values: valuesOf(rows, 'unchosen') },
        { name: 'one to seven', values: valuesOf(rows, 'few') },
        { name: 'no photo', values: valuesOf(rows, 'none') },
      ],
    }),
}

const time: Picture = {
  name: 'time-to-complete',
  subtitle: 'in the newest month, on a logarithmic scale',
  query: `select rooftop_name as name, median_minutes::float8 as median, p90_minutes::float8 as p90
    from mart.rpt_04_time_to_complete
    where month_start = (select max(month_start) from mart.rpt_04_time_to_complete) order by 1`,
  draw: (rows) =>
    bars({
      ...{ title: 'From creation to completion', of: 'Rooftop', unit: 'minutes', kind: 'log' },
      categories: textsOf(rows, 'name'),
      series: [
        { name: 'median', values: valuesOf(rows, 'median') },
        { name: '90 of 100 were faster', values: valuesOf(rows, 'p90') },
      ],
    }),
}

const stock: Picture = {
  name: 'stock-price-move',
  subtitle: 'average change of the stock on hand, in percent',
  query: `select rooftop_name || ' (' || count(*) || ' cars)' as name,
      avg((s.asking_price - s.asking_price_first) / nullif(s.asking_price_first, 0))::float8 as move
    from mart.fact_stock_unit as s join mart.dim_rooftop as r using (rooftop_id)
    where s.is_on_hand and s.asking_price > 0 group by rooftop_id, rooftop_name order by rooftop_name`,
  draw: (rows) =>
    bars({
      ...{ title: 'Asking prices since the cars came in', of: 'Rooftop', unit: 'share' },
      categories: textsOf(rows, 'name'),
      series: [{ name: 'change', values: valuesOf(rows, 'move') }],
    }),
}

export const pictures: readonly Picture[] = [volume, time, photos, stock]

/** The picture as SVG text, the same for the same rows. */
export async function render(picture: Picture, pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<Row>(picture.query)
  if (rows.length === 0) throw new Error(`${picture.name} has no rows to draw`)
  return pictureOf(picture.draw(rows), picture.subtitle)
}
