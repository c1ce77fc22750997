import { type RawBuilder, sql } from 'kysely'
import { findRecordRooftops } from '../../../sync/explain/provenance.ts'
import { html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { definePage, Redirect } from '../page.ts'
import { table } from '../parts/table.ts'

/** Something that a text may name. */
interface Hit {
  readonly kind: 'rooftop' | 'evaluation' | 'stock' | 'run' | 'import' | 'quarantine'
  /** Its id, as a person writes it. */
  readonly name: string
  /** What it is of: a car, a command, a file. */
  readonly about: string | null
  readonly rooftop: string | null
  readonly uid: string | null
  /** The number in its address. */
  readonly id: string
}

const maxHits = 50
/** Fewer characters are in too many names. */
const leastName = 3

const kinds: Readonly<Record<Hit['kind'], string>> = {
  ...{ rooftop: 'Rooftop', evaluation: 'Evaluation', stock: 'Stock', run: 'Run', import: 'Import' },
  quarantine: 'Quarantined record',
}

export const search = definePage({
  path: '/search',
  title: 'Find',
  question: 'What has this number or name?',
  roles: ['engineer', 'viewer'],
  async read({ db, query }) {
    const q = (query['q'] ?? '').trim().slice(0, 80)
    const hits = q === '' ? [] : await findHits(db, q)
    const [first] = hits
    if (hits.length === 1) return new Redirect(hitPath(first!))
    return { q, hits: hits.slice(0, maxHits), hasMore: hits.length > maxHits }
  },
  draw: ({
    q,
    hits,
    hasMore,
  }) => html`<form class="filter" action="/console/search" aria-label="Find"><label>Number or name <input type="search" name="q" value="${q}" required></label> <button>Find</button></form>
${
  hits.length > 0 &&
  table({
    caption: `What “${q}” may name`,
    columns: ['Name', 'Kind', 'What', 'Rooftop'],
    rows: hits.map((hit) => [
      html`<a href="/console${hitPath(hit)}">${hit.name}</a>`,
      kinds[hit.kind],
      hit.about ?? '–',
      hit.rooftop ?? '–',
    ]),
    empty: '',
  })
}
${hasMore && html`<p class="note">There are more than ${maxHits}: write more of it.</p>`}
${q !== '' && hits.length === 0 && html`<p class="empty">Nothing is stored under “${q}”.</p>`}
<h2>What can be found</h2>
<dl class="facts"><dt>Rooftop</dt><dd>its name or a part of it, or how its uid begins</dd>
<dt>EvalID</dt><dd>the whole number: <code>12345</code></dd>
<dt>VIN</dt><dd>all 17 characters, or the last 6 or more</dd>
<dt>Stock number</dt><dd>as on the stock list</dd>
<dt>Run</dt><dd><code>r12</code></dd>
<dt>Import of a stock list</dt><dd><code>i7</code></dd>
<dt>Quarantined record</dt><dd><code>q3</code></dd></dl>
<p class="note">Customers cannot be searched for here: <code>forecourt erase</code> finds what is stored about a person.</p>`,
})

function hitPath({ kind, id, uid }: Hit): string {
  const rooftop = uid === null ? '' : `?rooftop=${encodeURIComponent(uid)}`
  const part = encodeURIComponent(id)
  switch (kind) {
    case 'rooftop':
      return `/rooftops/${part}`
    case 'evaluation':
      return `/evaluations/${part}${rooftop}`
    case 'stock':
      return `/stock/units/${encodeURIComponent(uid ?? '')}/${part}`
    case 'run':
      return `/runs/${part}`
    case 'import':
      return `/stock/imports/${part}`
    case 'quarantine':
      return `/quarantine/${part}`
  }
}

async function findHits(db: Db, q: string): Promise<Hit[]> {
  const [, letter = '', number = ''] = /^([riq]?)(\d{1,15})$/i.exec(q) ?? []
  const vin = q.toUpperCase()
  const parts = [
    ...(q.length >= leastName ? [rooftopsNamed(q)] : []),
    stockNumbers(q),
    ...(/^[A-Z0-9]{6,17}$/.test(vin) ? vins(vin) : []),
    ...(letter === '' ? [] : [numbered[letter.toLowerCase() as keyof typeof numbered](number)]),
  ]
  const { rows } = await sql<Hit>`
    select * from (${sql.join(parts, sql` union `)}) as hit order by kind, name, uid limit ${maxHits + 1}`.execute(
    db,
  )
  if (letter !== '' || number === '') return rows
  const owners = await findRecordRooftops(db, Number(number))
  const named = owners.map(({ uid, name }) => ({
    ...({ kind: 'evaluation', name: number, id: String(Number(number)), about: null } as const),
    ...{ rooftop: name, uid },
  }))
  return [...named, ...rows]
}

const nowhere = sql`null::text as rooftop, null::text as uid`

/** By the letter before their number. */
const numbered = {
  r: (number: string) => sql`
    (select 'run' as kind, 'r' || run_id as name, command::text as about, ${nowhere}, run_id::text as id
    from ops.run where run_id = ${number}::bigint)`,
  i: (number: string) => sql`
    (select 'import' as kind, 'i' || import_id as name, file_name::text as about, rooftop_name::text as rooftop,
      rooftop_uid::text as uid, import_id::text as id
    from core.stock_import join core.rooftop using (rooftop_id) where import_id = ${number}::bigint)`,
  q: (number: string) => sql`
    (select 'quarantine' as kind, 'q' || quarantine_id as name, stream || ' ' || natural_key as about, rooftop_name::text as rooftop,
      rooftop_uid::text as uid, quarantine_id::text as id
    from ops.quarantine left join core.rooftop using (rooftop_id) where quarantine_id = ${number}::bigint)`,
}

const stockColumns = sql`'stock' as kind, stock_no::text as name, concat_ws(' ', model_year, make, model) as about,
  rooftop_name::text as rooftop, rooftop_uid::text as uid, stock_no::text as id`

/** By a part of the name, or the beginning of the uid. */
function rooftopsNamed(q: string): RawBuilder<unknown> {
  return sql`
    (select 'rooftop' as kind, rooftop_name::text as name, group_code::text as about, null::text as rooftop, rooftop_uid::text as uid,
      rooftop_uid::text as id
    from core.rooftop left join core.rooftop_group using (group_id)
    where position(${q.toLowerCase()} in lower(rooftop_name)) > 0 or starts_with(lower(rooftop_uid), ${q.toLowerCase()})
    order by rooftop_name limit ${maxHits})`
}

/** Stock numbers are unique at a rooftop: the key of each is read. */
function stockNumbers(q: string): RawBuilder<unknown> {
  const spellings = [...new Set([q, q.toUpperCase(), q.toLowerCase()])]
  return sql`
    (select ${stockColumns} from core.rooftop
    cross join lateral (
      select * from core.stock_unit as unit
      where unit.rooftop_id = rooftop.rooftop_id and stock_no = any(${spellings}::text[]) limit 5) as unit
    limit ${maxHits})`
}

/** A VIN, or its end; an index has the last 6 characters. The lateral joins keep the planner to the indexes. */
function vins(vin: string): RawBuilder<unknown>[] {
  const isWhole = vin.length === 17
  const ends = (column: RawBuilder<unknown>) =>
    sql`${column} is not null and right(${column}, 6) = ${vin.slice(-6)} and right(${column}, ${vin.length}) = ${vin}`
  const evaluations = isWhole
    ? sql`core.rooftop_group as own cross join lateral (
        select * from core.evaluation as one where one.group_id = own.group_id and vehicle_vin = ${vin} limit ${maxHits}) as found`
    : sql`core.evaluation as found`
  return [
    sql`
    (select 'evaluation' as kind, eval_id::text as name, concat_ws(' ', model_year, make, model, vin) as about,
      rooftop_name::text as rooftop, rooftop_uid::text as uid, eval_id::text as id
    from ${evaluations} join core.rooftop using (rooftop_id)
    where ${isWhole ? sql`true` : ends(sql`vehicle_vin`)} limit ${maxHits + 1})`,
    sql`
    (select ${stockColumns} from core.stock_unit join core.rooftop using (rooftop_id)
    where ${isWhole ? sql`vin = ${vin}` : ends(sql`vin`)} limit ${maxHits})`,
  ]
}
