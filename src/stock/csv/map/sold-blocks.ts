import { type CsvFile, type CsvRecord, withBatches } from '../read/csv-file.ts'
import { plainText } from './typing/plain-text.ts'
import { isSoldTitle } from './typing/sold-words.ts'
import { isPageLine, isSummaryLabel } from './typing/summary-words.ts'
import { wordTests } from './vehicle-words.ts'

/** The same file with the rows below a title such as SOLD marked, up to the next title. The name of its only sheet is a title too. */
export function withSoldBlocks<File extends CsvFile>(csv: File): File {
  return csv.width < 3 ? csv : withBatches(csv, marked(csv))
}

/** Beside a sheet of vehicles in transit, these are those that have come. */
const arrived = /delivered|livrée?s?|ausgeliefert|entregad/i

async function* marked({
  batches,
  preamble,
  origin,
}: CsvFile): AsyncGenerator<readonly CsvRecord[]> {
  let title = preamble.map((line) => blockTitle([line])).findLast((text) => text !== null) ?? null
  const sheet = origin?.sheet ?? ''
  if (title === null || !isSoldTitle(title))
    title = isSoldTitle(sheet) && !arrived.test(sheet) ? sheet : null
  for await (const batch of batches)
    yield batch.map((record) => {
      const rowTitle = blockTitle(record.cells)
      if (rowTitle !== null) title = isSoldTitle(rowTitle) ? rowTitle : null
      return title === null || rowTitle !== null ? record : { ...record, soldTitle: title }
    })
}

/** The text of a row that is a title: one cell, perhaps with a number beside it. A make alone is the title of a group within a block. */
function blockTitle(cells: readonly string[]): string | null {
  let title: string | null = null
  let filled = 0
  for (const cell of cells) {
    if (cell === '' || cell.trim() === '') continue
    filled += 1
    if (filled > 2 || (filled === 2 && /\p{L}{4}/u.test(cell))) return null
    if (title === null && /\p{L}{2}/u.test(cell)) title = cell
  }
  if (title === null || title.length > 80) return null
  const text = plainText(title).replace(/^["',;|\t ]+|["',;|\t ]+$/g, '')
  const isOther = isSummaryLabel(text) || isPageLine(text) || wordTests.make(text)
  return isOther || /^(?=.*\d)\S+$/.test(text) ? null : text
}
