import type pg from 'pg'
import type { Content, Evaluation, Moment } from './evaluation.ts'
import { costOf, emailOf } from './wire.ts'

/** An evaluation and its children in one line, spelled alike by the source's truth and by the warehouse. */
export type Line = string

const none = '-'
const text = (value: unknown): string =>
  value === null || value === undefined || value === '' ? none : String(value)
const money = (value: number | null): string => (value === null ? none : value.toFixed(3))

/** What the warehouse ought to hold of an evaluation that is as at this moment. */
export function lineOf(evaluation: Evaluation, moment: Moment, world: number): Line {
  const { content } = moment
  const { salesperson } = content
  return [
    ...[text(content.vin), text(content.odometer), money(content.finalPrice)],
    ...[money(costOf(content)), money(content.recon.length === 0 ? null : costOf(content))],
    ...[evaluation.createdAt, evaluation.completedAt, moment.updatedAt],
    ...[content.photos.length, content.photos.length === 0 ? none : 'default'],
    salesperson === null ? none : emailOf(world, salesperson).toLowerCase(),
    salesperson === null ? none : `Salesperson ${salesperson}`,
    ...[text(content.customer), text(content.notes)],
    ...childrenOf(content),
  ].join('|')
}

function childrenOf(content: Content): string[] {
  const { recon, photos, customFields, userPrices } = content
  const sets = [
    recon.map(({ type, source, cost, value }) => {
      const soh = type === 'info' ? /^([\d.]+)%$/.exec(value)?.[1] : undefined
      const percent = soh === undefined ? none : Number(soh).toFixed(2)
      return [type, text(source), money(cost), text(value), percent].join('/')
    }),
    photos.map(({ id, order, angle }, index) => [id, text(order), index === 0, angle].join('/')),
    customFields.map(({ name, type, value }) => [name, type, value].join('/')),
    userPrices.map(({ amount, currency }) => [money(amount), currency].join('/')),
  ]
  return sets.map((set) => (set.length === 0 ? none : set.join(';')))
}

/** A line of the warehouse. */
export interface StoredLine {
  readonly evalId: number
  readonly rooftopUid: string
  readonly line: Line
}

/** Every evaluation that the warehouse does not hold for gone. */
export async function storedLines(pool: pg.Pool): Promise<StoredLine[]> {
  const { rows } = await pool.query<StoredLine>(linesSql)
  return rows
}

// Each child table once, grouped: a look at every evaluation by itself takes longer than the night.
const linesSql = `
  with recon as (
    select rooftop_id, eval_id, string_agg(concat_ws('/', recon_type, coalesce(source, '-'), cost,
      coalesce(value_text, '-'), coalesce(battery_soh_pct::text, '-')), ';' order by line_no) as line
    from core.reconditioning_item where last_version is null group by 1, 2
  ), photo as (
    select rooftop_id, eval_id, string_agg(concat_ws('/', photo_id, coalesce(supplied_order::text, '-'),
      is_hero::text, angle), ';' order by display_position) as line
    from core.photo where removed_at is null group by 1, 2
  ), field as (
    select rooftop_id, eval_id, string_agg(concat_ws('/', field_name, field_type, value_text), ';'
      order by field_name) as line
    from core.custom_field_value group by 1, 2
  ), price as (
    select rooftop_id, eval_id, string_agg(concat_ws('/', amount, currency_code), ';' order by position) as line
    from core.user_price group by 1, 2
  )
  select e.eval_id as "evalId", r.rooftop_uid as "rooftopUid", concat_ws('|',
    coalesce(e.vin, '-'), coalesce(e.odometer::text, '-'), coalesce(e.final_price::text, '-'),
    coalesce(e.recon_total::text, '-'), coalesce(e.recon_line_total::text, '-'),
    (extract(epoch from e.created_at) * 1000)::bigint, (extract(epoch from e.completed_at) * 1000)::bigint,
    (extract(epoch from e.source_updated_at) * 1000)::bigint, e.photo_count, coalesce(e.hero_source, '-'),
    coalesce(lower(m.email), '-'), coalesce(u.display_name, '-'),
    coalesce(c.customer_name, '-'), coalesce(c.notes, '-'),
    coalesce(recon.line, '-'), coalesce(photo.line, '-'), coalesce(field.line, '-'), coalesce(price.line, '-')
  ) as line
  from core.evaluation e
  join core.rooftop r using (rooftop_id)
  left join pii.evaluation_customer c using (rooftop_id, eval_id)
  left join core.app_user u on u.user_id = e.user_id
  left join pii.app_user_email m on m.user_id = e.user_id
  left join recon using (rooftop_id, eval_id)
  left join photo using (rooftop_id, eval_id)
  left join field using (rooftop_id, eval_id)
  left join price using (rooftop_id, eval_id)
  where e.gone_at is null`
