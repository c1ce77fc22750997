import path from 'node:path'
import { UsageError } from '../../errors.ts'
import type { ExportSubject } from '../../stock/export/export.ts'
import { type ExportFormat, type ExportRequest, runExport } from '../../stock/export/export.ts'
import { checkTarget } from '../../stock/export/output.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { parseDelimiter, parseId } from './option-values.ts'

/** `stock export`: below `stock`. */
export const stockExport: RunCommand = async (session, options) => {
  const wanted = readOptions(options)
  if (session.json && wanted.out === null)
    throw new UsageError('--json needs --out: without it the list itself goes to stdout.')
  if (wanted.format === 'xlsx' && wanted.out === null && session.io.stdout.isTTY)
    throw new UsageError('--format xlsx is not a text for a terminal: add --out <file>.')
  const { environment, stdout } = session.io
  const to =
    wanted.out === null
      ? stdout
      : await checkTarget(path.resolve(environment.cwd, wanted.out), wanted.force)
  const { format, delimiter, bom, raw } = wanted
  const rooftops = wanted.rooftop === null ? [] : chooseRooftops(session.config, [wanted.rooftop])
  const { pool, db } = await session.warehouse('read')
  const [rooftop] = await findRooftops(db, rooftops)
  const subject = exportSubject(wanted, rooftop)
  const { signal } = session.io
  const request = { subject, format, delimiter, bom, raw, to, signal } as const
  const { rows, bytes } = await runExport(pool, request)
  if (rows === 0) session.log.warn({ subject: subject.is }, 'there is no row to export')
  if (wanted.out === null) session.io.hasResult = true
  else
    session.result({ rows, file: wanted.out, bytes }, () => [
      `${rows} row${rows === 1 ? '' : 's'} written to ${wanted.out} (${bytes} bytes).`,
    ])
  return 0
}

interface ExportOptions extends Pick<ExportRequest, 'format' | 'delimiter' | 'bom' | 'raw'> {
  readonly rooftop: string | null
  readonly importId: number | null
  readonly mart: string | null
  readonly all: boolean
  readonly out: string | null
  readonly force: boolean
}

function readOptions(options: Record<string, unknown>): ExportOptions {
  const text = (name: string) =>
    typeof options[name] === 'string' ? (options[name] as string) : null
  const flag = (name: string) => options[name] === true
  const delimiter = text('delimiter')
  const original = text('original')
  const wanted = {
    rooftop: text('rooftop'),
    importId:
      original === null
        ? null
        : parseId(
            original,
            `--original ${original} is not a number of an import: "forecourt stock import" has printed it.`,
          ),
    mart: text('mart')?.replace(/^mart\./, '') ?? null,
    all: flag('all'),
    out: text('out'),
    force: flag('force'),
    format: parseFormat(String(options['format'])),
    delimiter: delimiter === null ? null : parseDelimiter(delimiter),
    bom: options['bom'] !== false,
    raw: flag('raw'),
  }
  refuseContradictions(wanted)
  return wanted
}

function refuseContradictions(wanted: ExportOptions): void {
  const { rooftop, importId, mart, all, format, out, delimiter } = wanted
  if (mart !== null && (rooftop !== null || importId !== null || all))
    throw new UsageError(
      '--mart exports a view of all rooftops: leave --rooftop, --original and --all out.',
    )
  if (mart === null && rooftop === null)
    throw new UsageError(
      'Name whose stock it is with --rooftop <uid>, or a view with --mart <view>.',
    )
  if (importId !== null && all)
    throw new UsageError('--original gives every row of the upload: leave --all out.')
  if (format === 'xlsx' && delimiter !== null)
    throw new UsageError('--delimiter is for text, and --format xlsx is none: leave one out.')
  if (format === 'parquet' && (mart === null || out === null))
    throw new UsageError(
      '--format parquet is for marts and goes into a file: add --mart and --out.',
    )
}

function exportSubject(
  { mart, importId, all }: ExportOptions,
  rooftop: RooftopRow | undefined,
): ExportSubject {
  if (mart !== null) return { is: 'mart', name: mart }
  const whose = { id: rooftop!.id, uid: rooftop!.uid }
  if (importId !== null) return { is: 'original', rooftop: whose, importId }
  return { is: 'list', rooftop: whose, all }
}

function parseFormat(text: string): ExportFormat {
  if (text === 'csv' || text === 'xlsx' || text === 'parquet') return text
  throw new UsageError(`--format ${text} is not known: write csv, xlsx or parquet.`)
}
