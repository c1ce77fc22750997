import { sql } from 'kysely'
import type { Db } from '../../db/transaction.ts'
import { html, type Html } from '../../values/html.ts'
import { badge } from './badge.ts'
import { agoText, instant } from './instant.ts'

/** How fresh what a page shows is: of a stream, or of the stock lists, over its rooftops. */
export interface Freshness {
  readonly what: string
  readonly rooftops: number
  /** The rooftops that are late, failed or never loaded, by name. */
  readonly stale: readonly string[]
  /** Of the rooftop whose last good run is the oldest; of stock lists, whose newest list is. null: a rooftop has none. */
  readonly oldestAt: string | null
  readonly newestFactAt: string | null
}

/** Reads how fresh streams are. */
export async function readFreshness(
  db: Db,
  streams: readonly string[],
  rooftopIds: readonly number[],
): Promise<Freshness[]> {
  const { rows } = await sql<Freshness>`
    select stream as what, count(*)::int as rooftops,
      coalesce(array_agg(rooftop_name || ' (' || status || ')' order by rooftop_name) filter (where status in ('failed', 'late', 'never')), '{}') as stale,
      to_json(case when count(*) = count(last_good_run_at) then min(last_good_run_at) end) #>> '{}' as "oldestAt",
      to_json(max(newest_fact_at)) #>> '{}' as "newestFactAt"
    from mart.data_freshness
    where stream = any(${[...streams]}::text[]) and rooftop_id = any(${[...rooftopIds]}::int[])
    group by stream order by array_position(${[...streams]}::text[], stream::text)`.execute(db)
  return rows
}

/** Reads how old the stock lists are. */
export async function readListFreshness(db: Db, rooftopIds: readonly number[]): Promise<Freshness> {
  const { rows } = await sql<Freshness>`
    select 'stock lists' as what, count(*)::int as rooftops,
      coalesce(array_agg(rooftop_name || ' (no list)' order by rooftop_name) filter (where newest is null), '{}') as stale,
      to_json(case when count(*) = count(newest) then min(newest) end) #>> '{}' as "oldestAt", to_json(max(newest)) #>> '{}' as "newestFactAt"
    from core.rooftop
    left join lateral (select max(imported_at) as newest from core.stock_import as i where i.rooftop_id = rooftop.rooftop_id) as list on true
    where rooftop_id = any(${[...rooftopIds]}::int[])`.execute(db)
  return rows[0]!
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
          : `${what} of ${shortList(names)}`,
      )
      .join('; ')}.</p></section>`
  }
<dl class="facts">${parts.map(
    ({ what, stale: names, rooftops, oldestAt, newestFactAt }) =>
      html`<dt>${what}</dt><dd>${rooftops - names.length} of ${rooftops} rooftops are fresh, ${
        oldestAt === null
          ? 'not all were loaded'
          : html`the oldest of ${instant(oldestAt, zone)} (${agoText(new Date(oldestAt), now)})`
      }; newest record ${instant(newestFactAt, zone)}</dd>`,
  )}</dl>`
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ')
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown
}
