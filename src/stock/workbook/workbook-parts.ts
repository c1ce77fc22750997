import { posix } from 'node:path'
import { CsvFileError } from '../csv/read/csv-file.ts'
import type { Epoch } from './date-serial.ts'
import { damaged, saveAsCsv, tooLarge, type WorkbookLimits } from './limits.ts'
import { type CellFormat, cellFormat } from './number-format.ts'
import type { CellStyle } from './sheet-rows.ts'
import { type Attributes, ReadingTime, readXml, type XmlSource } from './xml.ts'
import type { ZipParts } from './zip-parts.ts'

/** A sheet with cells; charts and macro sheets are none. */
export interface SheetPart {
  readonly name: string
  /** The part that holds it. */
  readonly part: string
  readonly isHidden: boolean
}

/** A workbook whose sheets are known, and not yet read. */
interface Workbook {
  readonly sheets: readonly SheetPart[]
  readonly epoch: Epoch
  /** How cells of each style are read, by the number of the style. */
  readonly styles: readonly CellStyle[]
  /** Of cells whose style the workbook does not have. */
  readonly general: CellFormat
  /** The part with the shared texts; null: it has none. */
  readonly sharedStrings: string | null
  readonly source: (part: string) => XmlSource
}

/** Reads the table of contents and the styles of an .xlsx file. */
export async function openWorkbook(zip: ZipParts, limits: WorkbookLimits): Promise<Workbook> {
  const time = new ReadingTime(limits)
  const source = (part: string): XmlSource => {
    if (!zip.has(part)) throw damaged(`its part ${part} is missing`)
    return { name: part, chunks: zip.read(part), limits, time }
  }
  const main = mainPart(await readRelations(zip, '', source))
  const relations = await readRelations(zip, main, source)
  const { sheets, epoch } = await readContents(source(main), relations)
  const stylePart = relations.find(({ type }) => type === 'styles')?.target
  return {
    ...{ sheets, epoch, source, general: cellFormat(0, undefined, epoch) },
    styles: stylePart === undefined ? [] : await readStyles(source(stylePart), epoch),
    sharedStrings: relations.find(({ type }) => type === 'sharedStrings')?.target ?? null,
  }
}

interface Relation {
  readonly id: string
  /** The last word of its address, which is the same in strict workbooks. */
  readonly type: string
  /** The name of the part. */
  readonly target: string
}

/** What a part refers to; `''` for the whole file. */
async function readRelations(
  zip: ZipParts,
  part: string,
  source: (part: string) => XmlSource,
): Promise<readonly Relation[]> {
  const folder = posix.dirname(part)
  const name = posix.join(folder, '_rels', `${posix.basename(part)}.rels`)
  const found: Relation[] = []
  if (!zip.has(name)) return found
  const from = source(name)
  await readXml(from, 'Relationships', {
    open: (element, { Id, Type, Target, TargetMode }) => {
      if (element !== 'Relationship' || TargetMode === 'External') return
      const type = (Type ?? '').split('/').at(-1)!
      found.push({ id: Id ?? '', type, target: partName(folder, Target ?? '') })
      assertCount(found.length, from)
    },
  })
  return found
}

/** What a part lists is held in memory: a part of 200 MB may list ten millions. */
function assertCount(count: number, { name, limits: { entries } }: XmlSource): void {
  if (count <= entries) return
  const limit = entries.toLocaleString('en')
  throw tooLarge(`${name} in the workbook has more than ${limit} entries`, limit, saveAsCsv)
}

function tooManySheets({ sheets: limit }: XmlSource['limits']): CsvFileError {
  const advice = `copy the sheet with the stock list into a new workbook, or ${saveAsCsv}`
  return tooLarge(`the workbook has more than ${limit} sheets`, String(limit), advice)
}

/** Targets are relative to the folder of the part, or begin with a slash. */
function partName(folder: string, target: string): string {
  const path = target.startsWith('/') ? target : posix.join('/', folder, target)
  return posix.normalize(path).slice(1)
}

function mainPart(relations: readonly Relation[]): string {
  const main = relations.find(({ type }) => type === 'officeDocument')?.target
  if (main === undefined) throw damaged('it does not name its workbook')
  if (main.endsWith('.bin'))
    throw new CsvFileError(
      'workbook',
      `this is a binary Excel workbook (.xlsb), which is not read: open it in Excel, choose File > Save As > "Excel Workbook (.xlsx)", and import that file`,
    )
  return main
}

async function readContents(
  source: XmlSource,
  relations: readonly Relation[],
): Promise<{ readonly sheets: readonly SheetPart[]; readonly epoch: Epoch }> {
  const sheets: SheetPart[] = []
  const byId = new Map(relations.map((relation) => [relation.id, relation]))
  let epoch: Epoch = 1900
  await readXml(source, 'workbook', {
    open: (element, attributes) => {
      if (element === 'workbookPr' && isTrue(attributes['date1904'])) epoch = 1904
      if (element !== 'sheet') return
      const relation = byId.get(relationId(attributes) ?? '')
      if (relation?.type !== 'worksheet') return
      const { name = '', state } = attributes
      const isHidden = state === 'hidden' || state === 'veryHidden'
      sheets.push({ name, part: relation.target, isHidden })
      if (sheets.length > source.limits.sheets) throw tooManySheets(source.limits)
    },
  })
  if (sheets.length > 0) return { sheets, epoch }
  throw new CsvFileError('workbook', `the workbook has no sheet with cells: ${saveAsCsv}`)
}

/** `r:id`; the prefix can be any. */
function relationId(attributes: Attributes): string | undefined {
  const name = Object.keys(attributes).find((key) => key.endsWith(':id'))
  return name === undefined ? undefined : attributes[name]
}

function isTrue(value: string | undefined): boolean {
  return value === '1' || value === 'true' || value === 'on'
}

/** Excel has at most 255 characters for one; a longer one is not a format. */
function limitFormat(code: string): string {
  return code.length > 1_000 ? 'General' : code
}

async function readStyles(source: XmlSource, epoch: Epoch): Promise<readonly CellStyle[]> {
  const codes = new Map<number, string>()
  const struckFonts: boolean[] = []
  const formats: { readonly id: number; readonly font: number }[] = []
  const within = { numFmts: false, fonts: false, cellXfs: false }
  const enter = (element: string, is: boolean) => {
    if (element === 'numFmts' || element === 'fonts' || element === 'cellXfs') within[element] = is
  }
  await readXml(source, 'styleSheet', {
    open: (element, { numFmtId, formatCode, fontId, val }) => {
      enter(element, true)
      if (within.numFmts && element === 'numFmt')
        codes.set(Number(numFmtId), limitFormat(formatCode ?? ''))
      if (within.fonts && element === 'font') struckFonts.push(false)
      if (within.fonts && element === 'strike')
        struckFonts[struckFonts.length - 1] = val === undefined || isTrue(val)
      if (within.cellXfs && element === 'xf')
        formats.push({ id: Number(numFmtId ?? 0), font: Number(fontId ?? 0) })
      assertCount(Math.max(formats.length, codes.size, struckFonts.length), source)
    },
    close: (element) => enter(element, false),
  })
  const known = new Map<number, CellFormat>()
  return formats.map(({ id, font }) => {
    const format = known.get(id) ?? cellFormat(id, codes.get(id), epoch)
    known.set(id, format)
    return { ...format, isStruck: struckFonts[font] === true }
  })
}
