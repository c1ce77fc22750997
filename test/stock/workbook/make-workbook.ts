import { type ZipMember, zipFile } from './zip-file.ts'

/** A sheet of a workbook that a test makes. */
export interface TestSheet {
  readonly name: string
  readonly state?: 'hidden' | 'veryHidden'
  /** Columns from 0 that are hidden. */
  readonly hidden?: readonly number[]
  /** The content of <sheetData>. */
  readonly rows: string
  /** What follows it. */
  readonly after?: string
}

interface TestWorkbook {
  readonly sheets: readonly TestSheet[]
  /** The content of <sst>. */
  readonly shared?: string
  /** The number format of each style: a number, or a code. */
  readonly formats?: readonly (number | string)[]
  /** Adds a style of struck-through texts: the last one. */
  readonly hasStrike?: boolean
  readonly date1904?: boolean
  readonly isStrict?: boolean
  /** The prefix of all elements. */
  readonly prefix?: string
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const strictMain = 'http://purl.oclc.org/ooxml/spreadsheetml/main'
const relation = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const strictRelation = 'http://purl.oclc.org/ooxml/officeDocument/relationships'
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

/** The parts of a workbook, with the shared texts last, as some programs write them. */
export function workbookParts(book: TestWorkbook): ZipMember[] {
  const { sheets, shared, prefix = '', isStrict = false } = book
  const [space, rel] = isStrict ? [strictMain, strictRelation] : [main, relation]
  const xmlns = prefix === '' ? `xmlns="${space}"` : `xmlns:${prefix}="${space}"`
  const own = (xml: string) =>
    prefix === '' ? xml : xml.replace(/<(\/?)([a-zA-Z])/g, `<$1${prefix}:$2`)
  const root = (name: string, inner: string, more = '') =>
    `${declaration}${own(`<${name} ${xmlns}${more}>${inner}</${name}>`)}`
  const relations = (list: readonly string[]) =>
    `${declaration}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list.join('')}</Relationships>`
  const relationOf = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${rel}/${type}" Target="${target}"/>`
  const list = sheets.map(
    ({ name, state }, at) =>
      `<sheet name="${name}" sheetId="${at + 1}"${state ? ` state="${state}"` : ''} r:id="s${at}"/>`,
  )
  const settings = book.date1904 ? '<workbookPr date1904="1"/>' : ''
  return [
    { name: '[Content_Types].xml', data: contentTypes(sheets.length) },
    {
      name: '_rels/.rels',
      data: relations([relationOf('r', 'officeDocument', 'xl/workbook.xml')]),
    },
    {
      name: 'xl/workbook.xml',
      data: root('workbook', `${settings}<sheets>${list.join('')}</sheets>`, ` xmlns:r="${rel}"`),
    },
    ...sheets.map(({ rows, after = '', hidden = [] }, at) => ({
      name: `xl/worksheets/sheet${at + 1}.xml`,
      data: root('worksheet', `${columnsOf(hidden)}<sheetData>${rows}</sheetData>${after}`),
    })),
    {
      name: 'xl/_rels/workbook.xml.rels',
      data: relations([
        ...sheets.map((_, at) =>
          relationOf(`s${at}`, 'worksheet', `worksheets/sheet${at + 1}.xml`),
        ),
        relationOf('styles', 'styles', '/xl/styles.xml'),
        ...(shared === undefined
          ? []
          : [relationOf('shared', 'sharedStrings', 'sharedStrings.xml')]),
      ]),
    },
    {
      name: 'xl/styles.xml',
      data: root('styleSheet', stylesOf(book.formats ?? [], book.hasStrike ?? false)),
    },
    ...(shared === undefined ? [] : [{ name: 'xl/sharedStrings.xml', data: root('sst', shared) }]),
  ]
}

function columnsOf(hidden: readonly number[]): string {
  const columns = hidden.map((at) => `<col min="${at + 1}" max="${at + 1}" width="9" hidden="1"/>`)
  return columns.length === 0 ? '' : `<cols>${columns.join('')}</cols>`
}

function contentTypes(sheets: number): string {
  const override = (path: string, type: string) =>
    `<Override PartName="/xl/${path}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`
  const parts = [
    override('workbook', 'sheet.main'),
    override('styles', 'styles'),
    override('sharedStrings', 'sharedStrings'),
    ...Array.from({ length: sheets }, (_, at) =>
      override(`worksheets/sheet${at + 1}`, 'worksheet'),
    ),
  ]
  return `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${parts.join('')}</Types>`
}

/** Style 0 is General, and the formats follow. */
function stylesOf(formats: readonly (number | string)[], hasStrike: boolean): string {
  const ids = formats.map((format, at) => (typeof format === 'number' ? format : 164 + at))
  const own = formats.flatMap((format, at) =>
    typeof format === 'number'
      ? []
      : [`<numFmt numFmtId="${164 + at}" formatCode="${escapeXml(format)}"/>`],
  )
  const styles = [0, ...ids].map((id) => `<xf numFmtId="${id}"/>`)
  if (hasStrike) styles.push('<xf numFmtId="0" fontId="2"/>')
  const fonts = hasStrike
    ? '<fonts><font/><font><strike val="0"/></font><font><b/><strike/></font></fonts>'
    : ''
  return `<numFmts>${own.join('')}</numFmts>${fonts}<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs>${styles.join('')}</cellXfs>`
}

/** A workbook as one file. */
export function workbook(book: TestWorkbook): Buffer {
  return zipFile(workbookParts(book))
}

/** Rows of texts as they are, without shared ones. */
export function textRows(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `<row>${cells.map(textCell).join('')}</row>`).join('')
}

function textCell(text: string): string {
  return `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
