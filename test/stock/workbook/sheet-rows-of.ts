import { workbookLimits } from '#src/stock/workbook/limits.ts'
import { readSharedStrings } from '#src/stock/workbook/read-workbook.ts'
import { sheetRows } from '#src/stock/workbook/sheet-rows.ts'
import { TextTable } from '#src/stock/workbook/text-table.ts'
import { openWorkbook } from '#src/stock/workbook/workbook-parts.ts'
import { openZip } from '#src/stock/workbook/zip-parts.ts'

/** All rows of the first sheet, without the search for a table. */
export async function sheetRowsOf(bytes: Buffer): Promise<string[][]> {
  const book = await openWorkbook(await openZip(bytes, workbookLimits), workbookLimits)
  const sharedStrings = book.sharedStrings
    ? await readSharedStrings(book.source(book.sharedStrings))
    : new TextTable()
  const rows: string[][] = []
  const context = { sheet: 'Stock', styles: book.styles, general: book.general, sharedStrings }
  for await (const batch of sheetRows(book.source(book.sheets[0]!.part), context))
    for (const { line, cells } of batch) {
      while (rows.length < line - 1) rows.push([])
      rows.push([...cells])
    }
  return rows
}
