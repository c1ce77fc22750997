import { given } from '../../../values/given.ts'
import { type CsvFile, type CsvRecord, withBatches } from '../read/csv-file.ts'
import { plainText } from './typing/plain-text.ts'
import { isSoldTitle } from './typing/sold-words.ts'
import { isPageLine, isSummaryLabel } from './typing/summary-words.ts'
import { leadingMake } from './vehicle-words.ts'

/** The same file with the rows below a title such as SOLD marked, and those below a title that is a make, up to the next title. The name of
 *  its only sheet is a title too. */
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
  let title = preamble.map((line) => blockTitle(titleText([line]))).findLast(Boolean) ?? null
  const sheet = origin?.sheet ?? ''
  if (title === null || !isSoldTitle(title))
    title = isSoldTitle(sheet) && !arrived.test(sheet) ? sheet : null
  let make: string | null = null
  for await (const batch of batches)
    yield batch.map((record) => {
      const text = titleText(record.cells)
      const rowTitle = blockTitle(text)
      if (rowTitle !== null) [title, make] = [isSoldTitle(rowTitle) ? rowTitle : null, null]
      else if (text !== null) make = makeIn(text) ?? make
      if (rowTitle !== null || (title === null && make === null)) return record
      return { ...record, ...given({ soldTitle: title, groupMake: make }) }
    })
}

/** A title that begins a block. A make alone is the title of a group within it. */
function blockTitle(text: string | null): string | null {
  if (text === null) return null
  const isOther = isSummaryLabel(text) || isPageLine(text) || makeIn(text) !== null
  return isOther || /^(?=.*\d)\S+$/.test(text) ? null : text
}

const counted = /^(?:\d+|cars?|units?|vehicles?)$/i

/** The make that a title names alone, or with the number of its vehicles: `TOYOTA (3 units)`. */
function makeIn(text: string): string | null {
  const words = text.split(/[\s()[\]:,–]+|-(?=\d)|- /).filter((word) => word !== '')
  const count = leadingMake(words)
  const isMake = count > 0 && words.slice(count).every((word) => counted.test(word))
  return isMake ? words.slice(0, count).join(' ') : null
}

/** The text of a row that may be a title: one cell, perhaps with a number beside it. */
function titleText(cells: readonly string[]): string | null {
  let title: string | null = null
  let filled = 0
  for (const cell of cells) {
    if (cell === '' || cell.trim() === '') continue
    filled += 1
    if (filled > 2 || (filled === 2 && /\p{L}{4}/u.test(cell))) return null
    if (title === null && /\p{L}{2}/u.test(cell)) title = cell
  }
  if (title === null || title.length > 80) return null
  return plainText(title).replace(/^["',;|\t ]+|["',;|\t ]+$/g, '')
}
