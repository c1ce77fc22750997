import { sql } from 'kysely'
import { type Html, html } from '../../../values/html.ts'
import { firstText } from '../../../values/text.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { badge } from './badge.ts'
import { agoText, instant } from './instant.ts'

/** How fresh what a page shows is: of a stream, or of the stock lists, over its rooftops. */
export interface Freshness {
  readonly what: string
  readonly rooftops: number
  /** The rooftops that are late, failed or never loaded, or whose list is old, by name. */
  readonly stale: readonly string[]
  /** Those of them without any good run, or any list. */
  readonly missing: number
  /** Of the rooftop whose last good run, or newest stock list, is the oldest. null: a rooftop has none. */
  readonly oldestAt: Date | null
  /** What the service showed until then is loaded, of every rooftop. null: that is not known of all. */
  readonly coveredTo: Date | null
}

/** Reads how fresh streams are at the rooftops of the config, as `mart.data_freshness` has it; that also reads months of evaluations, for what no page shows. */
export async function readFreshness(
  db: Db,
  streams: readonly string[],
  rooftopIds: readonly number[],
): Promise<Freshness[]> {
  const { rows } = await sql<Freshness>`
    with known as (
      select stream, rooftop_name, last_good_run_at, case when stream = 'evaluations' then upper(covered) else read_to end as covered_to,
        nullif(core.stream_health(last_status, last_good_run_at, is_at_work, false), 'ok') as stale
      from core.stream_status join core.rooftop using (rooftop_id)
      where stream = any(${[...streams]}::text[]) and rooftop_id = any(${[...rooftopIds]}::int[]) and left_config_at is null
    )
    select stream as what, count(*)::int as rooftops,
      coalesce(array_agg(rooftop_name || ' (' || stale || ')' order by rooftop_name) filter (where stale is not null), '{}') as stale,
      (count(*) - count(last_good_run_at))::int as missing,
      case when count(*) = count(last_good_run_at) then min(last_good_run_at) end as "oldestAt",
      case when count(*) = count(covered_to) then min(covered_to) end as "coveredTo"
    from known group by stream order by array_position(${[...streams]}::text[], stream::text)`.execute(
    db,
  )
  return rows
}

const lists = 'stock lists'
/** Nothing says how often a list must come; most come daily or weekly, and the cars of an older one have been sold or repriced since. */
const oldListDays = 7

/** Reads how old the stock lists of the rooftops of the config are; none where no rooftop is. A rooftop without any, or with an old one, is
 *  stale. */
export async function readListFreshness(
  db: Db,
  rooftopIds: readonly number[],
): Promise<Freshness[]> {
  const { rows } = await sql<Freshness>`
    select ${lists} as what, count(*)::int as rooftops,
      coalesce(array_agg(rooftop_name || case when newest is null then ' (no list)' else ' (old list)' end order by rooftop_name)
        filter (where coalesce(newest < now() - make_interval(days => ${oldListDays}), true)), '{}') as stale,
      (count(*) - count(newest))::int as missing,
      case when count(*) = count(newest) then min(newest) end as "oldestAt", null as "coveredTo"
    from core.rooftop
    left join lateral (select greatest(max(imported_at), max(confirmed_at)) as newest from core.stock_import as i where i.rooftop_id = rooftop.rooftop_id) as list on true
    where rooftop_id = any(${[...rooftopIds]}::int[]) and left_config_at is null having count(*) > 0`.execute(
    db,
  )
  return rows
}

/** A warning where anything is stale, and how fresh each part is. */
export function drawFreshness(parts: readonly Freshness[], zone: string, now: Date): Html {
  const stale = parts.filter((part) => part.stale.length > 0)
  return html`${
    stale.length > 0 &&
    html`<section class="summary warn"><p>${badge('stale', 'warn')} The numbers may miss what is new: ${stale
      .map(({ what, stale: names, rooftops }) =>
        names.length === rooftops && rooftops > 3
          ? `${what} of all ${rooftops} rooftops`
          : `${what} of ${firstText(names, 3)}`,
      )
      .join('; ')}.</p></section>`
  }
<dl class="facts">${parts.map(
    ({ what, stale: names, missing, rooftops, oldestAt, coveredTo }) =>
      html`<dt>${what}</dt><dd>${rooftops - (what === lists ? missing : names.length)} of ${rooftops} rooftops ${what === lists ? 'have one' : 'are fresh'}, ${
        oldestAt === null
          ? 'not all were loaded'
          : html`the oldest of ${instant(oldestAt, zone)} (${agoText(oldestAt, now)})`
      }${coveredTo !== null && html`; loaded until ${instant(coveredTo, zone)}`}</dd>`,
  )}</dl>`
}
