import { sql } from 'kysely'
import { html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { definePage } from '../page.ts'
import { filterForm } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { cutPage, idBefore, olderLink, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'
import { importColumns, type StockImport } from '../stock/own.ts'
import { chosenIds, readStockScope, type StockScope } from '../stock/read-stock.ts'
import { rooftopChoice } from '../stock/unit-text.ts'

async function readImports(db: Db, scope: StockScope, before: number): Promise<StockImport[]> {
  const { rows } = await sql<StockImport>`
    select ${importColumns} from core.stock_import as i join ${scope.schema}.dim_rooftop as r using (rooftop_id)
    where i.rooftop_id = ${chosenIds(scope)} and i.import_id < ${before}
    order by i.import_id desc limit ${pageSize + 1}`.execute(db)
  return rows
}

export const stockImports = definePage({
  path: '/stock/imports',
  title: 'Imported lists',
  question: 'Which lists came in, and what did each change?',
  roles: ['engineer', 'viewer', 'stock'],
  async read(request) {
    const { rooftop = '', before } = request.query
    const scope = await readStockScope(request, rooftop)
    if (scope === null) return null
    const found = cutPage(await readImports(request.db, scope, idBefore(before)))
    return { rooftop, rooftops: scope.rooftops, imports: found.shown, hasMore: found.hasMore }
  },
  draw({ rooftop, rooftops, imports, hasMore }, { person }) {
    return html`${rooftops.length > 1 && filterForm('/stock/imports', 'Which lists', rooftopChoice(rooftops, rooftop))}
${table({
  isWide: true,
  caption: 'The newest first',
  columns: [
    ...['List', 'Rooftop', 'Imported', 'By'],
    ...['New', 'Changed', 'Back', 'Gone', 'Unchanged', 'Rejected'].map((head) => numbers(head)),
  ],
  onPhone: ['Rooftop', 'Imported', 'New', 'Changed', 'Rejected'],
  rows: imports.map((one) => [
    html`${link(one.fileName, `/stock/imports/${one.id}`)}<small>${one.mode === 'delta' ? 'new and changed cars' : 'the whole stock'}</small>`,
    one.rooftop,
    instant(one.at, one.zone),
    one.by,
    ...[one.added, one.updated, one.reappeared, one.removed, one.unchanged, one.rejected].map(
      (count) => count.toLocaleString('en'),
    ),
  ]),
  empty: html`No list was imported yet. ${person.role !== 'viewer' && link('Upload one', '/stock/upload')}`,
})}
${hasMore && olderLink('/stock/imports', { rooftop, before: imports.at(-1)!.id })}`
  },
})
