import { Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import { UsageError } from '../../errors.ts'
import { dayMs, firstDays, lastSerial } from './date-serial.ts'
import { columnName } from './sheet-rows.ts'

/** How the cells of a column are written. A cell that does not fit is written as text. */
export type ColumnKind = 'text' | 'number' | 'amount' | 'date' | 'instant' | 'boolean'

/** A sheet that is written while its rows are read. */
export interface WrittenSheet {
  readonly name: string
  /** Rows of text above the others; they stay on the screen. */
  readonly head: readonly (readonly string[])[]
  /** By column; cells beyond are text. */
  readonly kinds: readonly ColumnKind[]
  readonly pages: AsyncIterable<readonly (readonly string[])[]>
}

/** What Excel opens; it calls files with more damaged. */
const maxRows = 1_048_576
const maxColumns = 16_384
const longestCell = 32_767

/** The index of each style of `styles`. */
const styleOf: Readonly<Record<ColumnKind | 'head', number>> = {
  ...{ number: 0, boolean: 0, text: 1, amount: 2, date: 3, instant: 4, head: 5 },
}

/** Writes an .xlsx file in constant memory. Texts are never formulas, and keep their zeros when they are edited. */
export function writeWorkbook(sheet: WrittenSheet): Readable {
  const zip = new ZipFile()
  // The same content gives the same file.
  const mtime = new Date('2000-01-01T00:00:00Z')
  for (const [name, xml] of Object.entries(fixedParts(sheet.name)))
    zip.addBuffer(Buffer.from(declaration + xml), name, { mtime })
  const rows = Readable.from(sheetXml(sheet))
  const output = zip.outputStream as Readable
  rows.on('error', (error) => output.destroy(error))
  output.on('close', () => rows.destroy())
  zip.addReadStream(rows, 'xl/worksheets/sheet1.xml', { mtime })
  zip.end()
  return output
}

async function* sheetXml({ head, kinds, pages }: WrittenSheet): AsyncGenerator<string> {
  const pane = `<pane ySplit="${head.length}" topLeftCell="A${head.length + 1}" activePane="bottomLeft" state="frozen"/>`
  const view = `<sheetViews><sheetView workbookViewId="0">${head.length > 0 ? pane : ''}</sheetView></sheetViews>`
  yield `${declaration}<worksheet xmlns="${main}">${view}`
  let line = head.length
  let isBegun = false
  // The widths come before the rows, so they are those of the first page.
  const begin = (page: readonly (readonly string[])[]) => {
    isBegun = true
    const measured = [...head.slice(-1), ...page.slice(0, measuredRows)]
    const headXml = head.map((cells, at) => rowXml(at + 1, cells, () => 'head')).join('')
    return `${columnsXml(kinds, columnWidths(measured, kinds))}<sheetData>${headXml}`
  }
  for await (const page of pages) {
    let xml = isBegun ? '' : begin(page)
    for (const cells of page) {
      line += 1
      xml += rowXml(line, cells, (column) => kinds[column] ?? 'text')
    }
    yield xml
  }
  yield `${isBegun ? '' : begin([])}</sheetData></worksheet>`
}

/** Rows that decide how wide a column is. */
const measuredRows = 200

/** In characters. Excel shows `####` for a number or a date that is wider than its column. */
function columnWidths(
  rows: readonly (readonly string[])[],
  kinds: readonly ColumnKind[],
): readonly number[] {
  const shown = { instant: 19, date: 10 } as Readonly<Partial<Record<ColumnKind, number>>>
  return kinds.map((kind, at) => {
    const longest = rows.reduce((most, cells) => {
      // An amount has separators of thousands and two decimals.
      const { length } = (cells[at] ?? '').split('\n', 1)[0]!
      return Math.max(most, kind === 'amount' ? length + 5 : length)
    }, shown[kind] ?? 0)
    return Math.min(Math.max(longest + 2, 8), 60)
  })
}

/** The style of each column: a text that someone adds is not a number. */
function columnsXml(kinds: readonly ColumnKind[], widths: readonly number[]): string {
  const columns = kinds.map(
    (kind, at) =>
      `<col min="${at + 1}" max="${at + 1}" width="${widths[at]}" style="${styleOf[kind]}" customWidth="1"/>`,
  )
  return columns.length === 0 ? '' : `<cols>${columns.join('')}</cols>`
}

function rowXml(
  line: number,
  cells: readonly string[],
  kindOf: (column: number) => ColumnKind | 'head',
): string {
  if (line > maxRows || cells.length > maxColumns) throw tooMany()
  const written = cells.map((text, column) =>
    text === '' ? '' : cellXml(`${columnName(column)}${line}`, text, kindOf(column)),
  )
  return `<row r="${line}">${written.join('')}</row>`
}

function cellXml(place: string, text: string, kind: ColumnKind | 'head'): string {
  const value = cellNumber(text, kind)
  if (value !== null) {
    const type = kind === 'boolean' ? ' t="b"' : ''
    return `<c r="${place}" s="${styleOf[kind]}"${type}><v>${value}</v></c>`
  }
  if (text.length > longestCell)
    throw new UsageError(
      `cell ${place} has ${text.length.toLocaleString('en')} characters, and a cell of Excel has at most ${longestCell.toLocaleString('en')}: export it with --format csv.`,
    )
  const style = styleOf[kind === 'head' ? 'head' : 'text']
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeText(text)}</t></is></c>`
}

/** The cell as a number; null: it is a text. */
function cellNumber(text: string, kind: ColumnKind | 'head'): string | null {
  if (kind === 'number' || kind === 'amount') return numberText(text)
  if (kind === 'date' || kind === 'instant') return serialNumber(text)
  if (kind !== 'boolean') return null
  return text === 'true' ? '1' : text === 'false' ? '0' : null
}

function tooMany(): UsageError {
  const sizes = `${maxRows.toLocaleString('en')} rows of ${maxColumns.toLocaleString('en')} columns`
  return new UsageError(
    `the export is larger than a sheet of Excel, which has ${sizes}: write it with --format csv.`,
  )
}

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const formats = 'http://schemas.openxmlformats.org/package/2006'
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const types = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

function fixedParts(name: string): Readonly<Record<string, string>> {
  const part = (path: string, type: string) =>
    `<Override PartName="/${path}" ContentType="${types}.${type}+xml"/>`
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`
  const parts = [
    part('xl/workbook.xml', 'sheet.main'),
    part('xl/worksheets/sheet1.xml', 'worksheet'),
    part('xl/styles.xml', 'styles'),
  ]
  const inBook = [
    relation('rId1', 'worksheet', 'worksheets/sheet1.xml'),
    relation('rId2', 'styles', 'styles.xml'),
  ]
  return {
    '[Content_Types].xml': `<Types xmlns="${formats}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${parts.join('')}</Types>`,
    '_rels/.rels': `<Relationships xmlns="${formats}/relationships">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="${sheetName(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${formats}/relationships">${inBook.join('')}</Relationships>`,
    'xl/styles.xml': styles,
  }
}

/** Excel allows 31 characters, and not all of them. */
function sheetName(name: string): string {
  const allowed = name
    .slice(0, 31)
    .replace(/[[\]:*?/\\]/g, ' ')
    .replace(/^'+|'+$/g, '')
  return escapeText(allowed.trim() || 'Sheet').replaceAll('"', '&quot;')
}

const styles = `<styleSheet xmlns="${main}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="6">${[
  [0, 0],
  [49, 0],
  [4, 0],
  [164, 0],
  [165, 0],
  [49, 1],
]
  .map(
    ([format, font]) =>
      `<xf numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>`,
  )
  .join(
    '',
  )}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`

const day = /^(\d{4})-(\d{2})-(\d{2})$/
const instant = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(Z|[+-]\d{2}(?::?\d{2})?)?$/
/** 1 March 1900: before it the calendar of Excel is another one. */
const firstCertain = 61

/** More characters are more digits than Excel has, or zeros. */
const longestNumber = 40

/** A decimal number that Excel stores exactly, without needless zeros; null for any other text. */
function numberText(text: string): string | null {
  if (text.length > longestNumber || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return null
  const plain = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  return plain.replace(/[-.]/g, '').replace(/^0+/, '').length <= 15 ? plain : null
}

/** The serial number of `YYYY-MM-DD`, or of an instant in UTC; null for any other text. */
function serialNumber(text: string): string | null {
  const parts = instant.exec(text)
  const date = parts ? `${parts[1]}T${parts[2]}${isoZone(parts[3])}` : day.test(text) ? text : ''
  const serial = (new Date(date).getTime() - firstDays[1900]) / dayMs
  if (!(serial >= firstCertain && serial < lastSerial[1900] + 1)) return null
  // 29 February of a common year would become 1 March.
  if (!parts && new Date(date).toISOString().slice(0, 10) !== text) return null
  return String(Number(serial.toFixed(9)))
}

/** `+02` and `+0200` as `+02:00`; without a zone it is UTC. */
function isoZone(zone: string | undefined): string {
  if (zone === undefined || zone === 'Z') return 'Z'
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no way to write them
const impossible = /[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]/g
/** The start of a text that would be read as such a character; its last _ may be that of the next one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same characters
const likeOne = /_x(?=[0-9A-Fa-f]{4}(?:_|[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]))/g

/** The text for XML; characters that XML cannot hold are written as Excel does, `_x000D_`. */
function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replace(likeOne, '_x005F_x')
    .replace(impossible, (character) => `_x${hex(character)}_`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
}
