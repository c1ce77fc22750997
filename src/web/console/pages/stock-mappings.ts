import { sql } from 'kysely'
import { fieldChoices } from '../../../stock/upload/plain-words.ts'
import { html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { type ActionRequest, definePage, NothingHere } from '../page.ts'
import { actionButton } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { table } from '../parts/table.ts'
import { personRooftop } from '../stock/own.ts'
import { chosenIds, readStockScope, type StockScope } from '../stock/read-stock.ts'

/** How the columns of a header are read. */
interface Remembered {
  readonly uid: string
  readonly rooftop: string
  readonly zone: string
  readonly fingerprint: string
  readonly columns: readonly (string | null)[]
  readonly absent: readonly string[] | null
  readonly at: Date
  /** The headers, as the newest list that is read so has them; null: no import has them. */
  readonly headers: readonly (string | null)[] | null
  readonly fileName: string | null
}

/** Mappings that are shown: the newest. */
const most = 100

async function readRemembered(db: Db, scope: StockScope): Promise<Remembered[]> {
  const { rows } = await sql<Remembered>`
    select r.rooftop_uid as uid, r.rooftop_name as rooftop, r.time_zone as zone, m.fingerprint, m.columns, m.absent,
      m.confirmed_at as at, i.headers, i.file_name as "fileName"
    from ops.stock_mapping as m join ${scope.schema}.dim_rooftop as r using (rooftop_id)
    left join lateral (
      select file_name, jsonb_path_query_array(mapping, '$[*].header') as headers from core.stock_import as own
      where own.rooftop_id = m.rooftop_id and jsonb_path_query_array(own.mapping, '$[*].field') = (
        select jsonb_agg(split_part(field, ':', 1) order by at) from jsonb_array_elements_text(m.columns) with ordinality as columns (field, at))
      order by import_id desc limit 1) as i on true
    where m.rooftop_id = ${chosenIds(scope)} order by m.confirmed_at desc limit ${most}`.execute(db)
  return rows
}

export const stockMappings = definePage({
  path: '/stock/mappings',
  title: 'How columns are read',
  question: 'What is remembered about the columns of our lists?',
  roles: ['engineer', 'viewer', 'stock'],
  async read(request) {
    const scope = (await readStockScope(request, ''))!
    return { mappings: await readRemembered(request.db, scope) }
  },
  actions: { forget: { roles: ['engineer', 'stock'], run: forget } },
  draw({ mappings }, { person }) {
    return html`<p>A list with a header that is known is read as before, without a question. What is forgotten is asked for again.</p>
${table({
  caption: mappings.length < most ? 'Remembered headers, the newest first' : `The ${most} newest`,
  columns: ['List', 'Rooftop', 'Columns', 'Confirmed', ''],
  rows: mappings.map((one) => [
    one.fileName ?? `${one.columns.length} columns`,
    one.rooftop,
    html`<ul class="cells">${columnTexts(one).map((text) => html`<li>${text}</li>`)}</ul>`,
    instant(one.at, one.zone),
    person.role !== 'viewer' &&
      actionButton({
        ...{ path: '/stock/mappings', action: 'forget', label: 'Forget it' },
        fields: { rooftop: one.uid, fingerprint: one.fingerprint },
      }),
  ]),
  empty: 'Nothing is remembered yet. The first imported list is.',
})}`
  },
})

function columnTexts({ columns, absent, headers }: Remembered): string[] {
  const label = (text: string) => {
    const [field, readings] = text.split(':')
    const fieldLabel = fieldChoices.find(({ name }) => name === field)?.label ?? text
    return readings === undefined ? fieldLabel : `${fieldLabel} (${readings.replaceAll('+', ', ')})`
  }
  const used = columns.flatMap((field, at) =>
    field === null ? [] : [`${headers?.[at] ?? `column ${at + 1}`}: ${label(field)}`],
  )
  const known = fieldChoices.filter(({ isUsed, name }) => isUsed && absent?.includes(name))
  return [...used, ...known.map((field) => `no column: ${field.label}`)]
}

async function forget(request: ActionRequest) {
  const { form, db } = request
  const { uid } = personRooftop(request, form['rooftop'] ?? '')
  const { rows } = await sql<{ id: number }>`
    select rooftop_id as id from core.rooftop where rooftop_uid = ${uid}`.execute(db)
  if (rows[0] === undefined) throw new NothingHere(`Rooftop ${uid} has no lists yet.`)
  await sql`delete from ops.stock_mapping
    where rooftop_id = ${rows[0].id} and fingerprint = ${form['fingerprint'] ?? ''}`.execute(db)
  return { location: '/stock/mappings' }
}
