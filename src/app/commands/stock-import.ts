import { resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import { keepNewSpaceSmall } from '../../heap.ts'
import { mappingSummary } from '../../stock/csv/map/mapping-text.ts'
import type { CellIssue } from '../../stock/csv/map/typing/typed-row.ts'
import { importStock } from '../../stock/import/import-stock.ts'
import type {
  ChangeKind,
  Figures,
  ImportRequest,
  StockImportReport,
  UnitChange,
} from '../../stock/import/request.ts'
import { figureNames } from '../../stock/import/unusual-values.ts'
import { issueLine } from '../../stock/refusal.ts'
import { shortened } from '../../values/text.ts'
import { chooseRooftops, rooftopLabel } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { crashPointFrom } from './crash-switch.ts'
import { parseDelimiter } from './option-values.ts'
import { userName } from './requester.ts'

/** `stock import`: below `stock`. */
export const stockImport: RunCommand = async (session, options, [file]) => {
  keepNewSpaceSmall()
  const { config, io } = session
  const path = (given: string) => resolve(io.environment.cwd, given)
  const { rejects, encoding, delimiter, sheet } = options
  const request: ImportRequest = {
    ...(file === '-'
      ? { file: 'standard input', input: io.stdin ?? process.stdin }
      : { file: path(String(file)) }),
    ...(typeof encoding === 'string' ? { encoding } : {}),
    ...(typeof delimiter === 'string' ? { delimiter: parseDelimiter(delimiter) } : {}),
    ...(typeof sheet === 'string' ? { sheet } : {}),
    rooftop: chooseRooftops(config, [String(options['rooftop'])])[0]!,
    ...parseOnly(options['only'] as string[]),
    mode: options['mode'] === 'delta' ? 'delta' : 'snapshot',
    dryRun: options['dryRun'] === true,
    maps: options['map'] as string[],
    rejects: typeof rejects === 'string' ? path(rejects) : null,
    allowMassRemoval: options['allowMassRemoval'] === true,
    allowMassChange: options['allowMassChange'] === true,
    allowUnusualValues: options['allowUnusualValues'] === true,
    allowOlderValues: options['allowOlderValues'] === true,
    importedBy: userName(),
    now: new Date(),
  }
  const warehouse = await session.warehouse(request.dryRun ? 'read' : 'write')
  const crashPoint = crashPointFrom(io.environment)
  const report = await importStock({ warehouse, signal: io.signal, crashPoint }, request)
  const rooftop = rooftopLabel(request.rooftop)
  session.result(report, () => stockImportLines({ ...report, rooftop }))
  return report.status !== 'already-imported' && report.rejected > 0 ? 1 : 0
}

/** `--only <column>=<value>`, all of one column. */
function parseOnly(texts: readonly string[]): Pick<ImportRequest, 'only'> {
  if (texts.length === 0) return {}
  const pairs = texts.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`--only ${text} is not of the form <column>=<value>.`)
    return { column: text.slice(0, at), value: text.slice(at + 1) }
  })
  const { column } = pairs[0]!
  const other = pairs.find((pair) => pair.column !== column)
  if (other !== undefined)
    throw new UsageError(
      `--only names the columns "${column}" and "${other.column}": name values of one column.`,
    )
  return { only: { column, values: pairs.map(({ value }) => value) } }
}

/** Shown of each kind of change, and in all of issues. */
const shownChanges = 20
const shownOfCode = 5

/** What a person reads after an import. */
export function stockImportLines(report: StockImportReport): string[] {
  if (report.status === 'already-imported') return alreadyLines(report)
  return [
    headLine(report),
    ...countLines(report),
    ...columnLines(report),
    ...figureLines(report.figures),
    ...(['added', 'updated', 'reappeared', 'removed'] as const).flatMap((kind) =>
      changeLines(report, kind),
    ),
    ...issueLines('Of the file and its columns', report.warnings, []),
    ...issueLines('Of its rows', report.issues, report.issueTotals),
    ...adviceLines(report),
  ]
}

function alreadyLines(report: StockImportReport): string[] {
  const { importId, file, offStock } = report
  return [
    `${file}: already imported as import ${importId}, nothing to do.`,
    ...graceLine(offStock),
    ...columnLines(report),
    ...adviceLines(report),
  ]
}

function columnLines({ mapping, missing }: StockImportReport): string[] {
  const lines = mappingSummary(mapping, missing)
  return ['How its columns were read:', ...lines.map((line) => `  ${line}`)]
}

/** `asking price: 18990 to 45000 AUD, median 25990, 3 empty; the stock before: …` */
function figureLines(figures: StockImportReport['figures']): string[] {
  const text = ({ minimum, median, maximum, empty }: Figures) =>
    median === null
      ? 'no value'
      : `${minimum} to ${maximum}, median ${median}${empty > 0 ? `, ${empty} empty` : ''}`
  const lines = figures.map(({ column, currency, list, stock }) => {
    const name = [figureNames[column], ...(currency === null ? [] : [currency])].join(' in ')
    return `  ${name}: ${text(list)}${stock === null ? '' : `; the stock before: ${text(stock)}`}`
  })
  return lines.length === 0 ? [] : ['What its number columns hold:', ...lines]
}

function adviceLines({ rejected, rejectsFile }: StockImportReport): string[] {
  if (rejectsFile !== null)
    return [
      `The rejected rows are in ${rejectsFile}: correct them there and import it with --mode delta.`,
    ]
  return rejected > 0
    ? ['With --rejects <file> the rejected rows are written to a file of their own.']
    : []
}

function headLine(report: StockImportReport): string {
  const { status, file, rooftop, importId, mode, encoding, delimiter, sheet, entry } = report
  const form = sheet === null ? delimiterName(delimiter) : `sheet ${JSON.stringify(sheet)}`
  const how = [mode, encoding, form, ...(entry === null ? [] : [`in it ${entry}`])].join(', ')
  return status === 'dry-run'
    ? `Dry run, nothing was written: ${file} at ${rooftop} (${how})`
    : `Import ${importId}: ${file} at ${rooftop} (${how})`
}

function countLines(report: StockImportReport): string[] {
  const { records, accepted, rejected, collapsed, skipped } = report
  const { added, updated, unchanged, reappeared, removed, offStock } = report
  return [
    `  ${records} records = ${accepted} accepted + ${rejected} rejected + ${collapsed} repeated + ${skipped} skipped`,
    `  ${accepted} accepted = ${added} added + ${updated} updated + ${unchanged} unchanged + ${reappeared} reappeared; ${removed} removed`,
    ...graceLine(offStock),
  ]
}

function graceLine(offStock: number): string[] {
  if (offStock === 0) return []
  return [`  ${offStock} removed before and not seen since: off stock from now on`]
}

function changeLines(report: StockImportReport, kind: ChangeKind): string[] {
  const all = report.changes.filter(({ change }) => change === kind)
  if (all.length === 0) return []
  const head = `${kind[0]!.toUpperCase()}${kind.slice(1)}:`
  const first = all.slice(0, shownChanges)
  const isPlain = first.every(({ changes }) => Object.keys(changes).length === 0)
  const more = report[kind] - first.length
  const rest = more > 0 ? [`  … and ${more} more: core.stock_unit_change has all of them`] : []
  if (isPlain) return [head, `  ${first.map(({ stockNo }) => stockNo).join(', ')}`, ...rest]
  return [head, ...first.map((change) => `  ${changeText(change)}`), ...rest]
}

function changeText({ stockNo, change, changes }: UnitChange): string {
  const parts = Object.entries(changes).map(
    ([name, [from, to]]) => `${name} ${valueText(from)} → ${valueText(to)}`,
  )
  const notice = change === 'added' && parts.length > 0 ? 'now another vehicle: ' : ''
  return parts.length === 0 ? stockNo : `${stockNo}: ${notice}${parts.join(', ')}`
}

function valueText(value: unknown): string {
  if (value === null) return 'none'
  const text = String(value).replaceAll(/\s+/g, ' ')
  return shortened(text, 60)
}

function issueLines(
  title: string,
  issues: readonly CellIssue[],
  totals: StockImportReport['issueTotals'],
): string[] {
  if (issues.length === 0) return []
  const byCode = Map.groupBy(issues, ({ severity, code }) => `${severity} ${code}`)
  return [
    `${title}:`,
    ...[...byCode].flatMap(([name, of]) => {
      const total = totals.find(({ severity, code }) => `${severity} ${code}` === name)
      const count = total?.count ?? of.length
      const more = count > shownOfCode ? [`    … and ${count - shownOfCode} more`] : []
      const first = of.slice(0, shownOfCode).map((issue) => `    ${issueLine(issue)}`)
      return [`  ${name} (${count})`, ...first, ...more]
    }),
  ]
}

function delimiterName(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : `"${delimiter}"`
}
