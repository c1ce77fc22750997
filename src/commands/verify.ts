import { randomBytes } from 'node:crypto'
import { UsageError } from '../errors.ts'
import { openAppraisal, openServices } from '../sources/open-services.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { isProved, uncover, type Verification } from '../pipeline/verify.ts'
import type { IsoSpan } from '../pipeline/verify-stored.ts'
import type { WrongAggregate } from '../pipeline/verify-aggregates.ts'
import { type DeepVerification, verifyDeep } from '../pipeline/verify-deep.ts'
import {
  type DifferingRow,
  type RowSample,
  type RowsVerification,
  verifyRows,
} from '../pipeline/verify-rows.ts'
import {
  recordVerification,
  uncoverFaults,
  verifyWarehouse,
  type WarehouseVerification,
} from '../pipeline/verify-warehouse.ts'
import { allStreams } from '../streams/all.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Warehouse } from '../warehouse.ts'
import type { Session } from './session.ts'
import type { RunCommand } from './command.ts'
import { CoverageWriter, type CoverageRefused } from './coverage-writer.ts'
import { wholeNumberOption } from './option-values.ts'
import { table } from './table.ts'

export const verify: RunCommand = async (session, options) => {
  const sample = sampleOf(options)
  const chosen = chooseRooftops(session.config, options['rooftop'] as string[])
  const warehouse = await session.warehouse('read')
  const rooftops = await findRooftops(warehouse.db, chosen)
  const found = await verifyWarehouse(warehouse, allStreams, rooftops, session.config.sync)
  const { checked, duplicates, aggregates } = found
  const writer = new CoverageWriter(warehouse.db)
  await writer.write(async (db) => {
    await uncoverFaults(db, allStreams, rooftops, found)
    await recordVerification(db, rooftops, found)
  })
  const deep = options['deep'] === true ? await relist(session, warehouse, rooftops, writer) : []
  const { signal } = session.io
  const rows =
    options['rows'] === true
      ? await verifyRows(warehouse, allStreams, rooftops, sample, signal)
      : null
  const proved =
    checked.every(isProved) &&
    deep.every(({ missing, notConserved }) => missing.length === 0 && notConserved.length === 0) &&
    duplicates.length === 0 &&
    aggregates.length === 0 &&
    (rows === null || rows.differing === 0)
  const gaps = sum(checked, 'gaps')
  const overlaps = sum(checked, 'overlaps')
  const document = {
    status: proved ? 'ok' : 'failed',
    gaps,
    overlaps,
    rooftops: checked,
    duplicates,
    aggregates,
    deep: options['deep'] === true ? deep : null,
    rows,
    ...(writer.refused === null ? {} : { coverageRefused: writer.refused }),
  }
  const label = labelRooftops(chosen)
  const labelled = <T extends { rooftop: string }>(list: readonly T[]) =>
    list.map((entry) => ({ ...entry, rooftop: label(entry.rooftop) }))
  session.result(document, () => [
    ...lines(
      proved,
      session.config.sync.start,
      labelled(checked),
      labelled(deep),
      duplicates,
      writer.refused === null ? readBySync : notUncovered,
    ),
    ...aggregates.map(aggregateLine),
    ...(rows === null ? [] : rowLines(rows, label)),
    ...(writer.refused === null ? [] : [refusedLine(writer.refused)]),
  ])
  return proved ? 0 : 1
}

/** Lists every window again at the source, and compares. */
async function relist(
  session: Session,
  warehouse: Warehouse,
  rooftops: readonly RooftopRow[],
  writer: CoverageWriter,
): Promise<DeepVerification[]> {
  const deep: DeepVerification[] = []
  const appraisal = openAppraisal(session.config, session.log)
  await using services = openServices(session.config, session.log, ['read'])
  const clients = { appraisal, services: services.client }
  const context = { ...warehouse, ...clients, signal: session.io.signal }
  for (const stream of allStreams.flatMap(({ records }) => records ?? []))
    for (const rooftop of rooftops) {
      const relisted = await verifyDeep(context, stream, rooftop)
      deep.push(relisted)
      await writer.write((db) => uncover(db, stream, rooftop, relisted.doubtful))
    }
  await appraisal.close()
  return deep
}

function sum(checked: readonly Verification[], name: 'gaps' | 'overlaps'): number {
  return checked.reduce((total, entry) => total + entry[name].length, 0)
}

function lines(
  proved: boolean,
  syncStart: Date,
  checked: readonly Verification[],
  deep: readonly DeepVerification[],
  duplicates: WarehouseVerification['duplicates'],
  readAgain: string,
): string[] {
  const rows = checked.map((entry) => [
    entry.rooftop,
    entry.stream,
    entry.windows,
    entry.listed,
    entry.loaded,
    entry.quarantined,
    entry.vanished,
    entry.gaps.length,
    entry.overlaps.length,
    entry.unprovable.length,
  ])
  const headings = [
    'rooftop',
    'stream',
    'windows',
    'listed',
    'loaded',
    'quarantined',
    'vanished',
    'gaps',
    'overlaps',
    'unprovable',
  ]
  return [
    `${proved ? 'Proved' : 'NOT PROVED'}: ${sum(checked, 'gaps')} gaps, ${sum(checked, 'overlaps')} overlaps${conserved(checked)}.`,
    ...table(headings, rows),
    ...checked.flatMap((entry) => problems(entry, syncStart, readAgain)),
    ...deep.flatMap(deepProblems),
    ...duplicates.map(
      ({ evalId, rooftops }) =>
        `  evaluation ${evalId} is stored under rooftops ${rooftops.join(' and ')}: give them the same group: in the config`,
    ),
  ]
}

function conserved(checked: readonly Verification[]): string {
  const isBroken = checked.some(({ brokenSums }) => brokenSums.length > 0)
  return isBroken ? '' : '; listed = loaded + quarantined + vanished in every window'
}

function refusedLine({ login, reason, logins }: CoverageRefused): string {
  const advice =
    logins.length === 0
      ? 'run "forecourt verify" against the primary server'
      : `run "forecourt verify" with a login that may, e.g. ${logins.join(', ')}`
  return `The windows found wrong were NOT taken out of coverage: login ${login} cannot write (${reason}). Until they are, no sync reads them again: ${advice}.`
}

const readBySync = 'the next "forecourt sync" reads this window again'
const notUncovered = 'it was not taken out of coverage, see below'

function problems(entry: Verification, syncStart: Date, readAgain: string): string[] {
  const list = <S extends IsoSpan>(spans: readonly S[], what: (span: S) => string) =>
    spans.map(
      (span) => `  ${entry.rooftop} ${entry.stream}: ${span.from} to ${span.until}: ${what(span)}`,
    )
  const byBackfill = ({ from, until }: IsoSpan) =>
    `run "forecourt backfill --from ${from} --to ${until}"`
  return [
    ...list(entry.gaps, (span) =>
      new Date(span.from) < syncStart
        ? `gap: ${byBackfill(span)}`
        : 'gap: the next "forecourt sync" lists it',
    ),
    ...list(entry.overlaps, () => `certificates overlap: ${readAgain}`),
    ...list(
      entry.brokenSums,
      () => `the certificate's counts are not those of its ids: ${readAgain}`,
    ),
    ...list(entry.uncertified, () => `covered without a certificate: ${readAgain}`),
    ...list(
      entry.unprovable,
      () =>
        'cannot be proved: the source cuts its list within one second, and only a longer list of the source can fix that',
    ),
    ...list(entry.notStored, ({ isCertified, missing, unexpected, ...span }) => {
      const ids = [
        ...(missing.length > 0 ? [`missing: ${someOf(missing)}`] : []),
        ...(unexpected.length > 0 ? [`not listed: ${someOf(unexpected)}`] : []),
      ]
      return `rows differ from the certificate (${ids.join('; ')}): ${isCertified ? readAgain : byBackfill(span)}`
    }),
    ...(entry.orphans > 0
      ? [
          `  ${entry.rooftop} ${entry.stream}: ${entry.orphans} child rows without their record (run "forecourt replay")`,
        ]
      : []),
  ]
}

function someOf(ids: readonly number[]): string {
  return `${ids.slice(0, 20).join(', ')}${ids.length > 20 ? ` and ${ids.length - 20} more` : ''}`
}

function aggregateLine({ aggregate, of, differences }: WrongAggregate): string {
  const isOfGroup = aggregate === 'agg_repeat_vehicle'
  const scope = isOfGroup ? '' : ` --rooftop ${of}`
  return `  ${of}: core.${aggregate} differs from the facts for ${differences} ${isOfGroup ? 'vehicles' : 'days'}: run "forecourt replay evaluations${scope}"`
}

function sampleOf(options: Parameters<RunCommand>[1]): RowSample | null {
  const { rows, sample, seed } = options
  if (rows !== true && sample !== undefined) throw new UsageError('--sample needs --rows.')
  if (sample === undefined && seed !== undefined) throw new UsageError('--seed needs --sample.')
  if (sample === undefined) return null
  const size = wholeNumberOption('--sample', sample, 1, 10_000_000)
  return { size, seed: seed === undefined ? randomBytes(4).toString('hex') : String(seed) }
}

/** Differing rows that are printed; --json has more. */
const mostPrinted = 50

function rowLines(
  { records, sample, differing, rows }: RowsVerification,
  label: (uid: string) => string,
): string[] {
  const which = sample === null ? '' : `, taken at random with --seed ${sample.seed}`
  const printed = rows.slice(0, mostPrinted)
  const left = differing - printed.length
  const streams = [...new Set(rows.map(({ stream }) => stream))]
  return [
    `Rows derived again from the stored payloads of ${records} records${which}: ${differing} differ.`,
    ...printed.map((row) => `  ${label(row.rooftop)} ${row.stream}: ${rowText(row)}`),
    ...(left > 0 ? [`  and ${left} more${left > rows.length ? '' : ' (--json lists them)'}`] : []),
    ...(differing > 0 ? [`Run "forecourt replay ${streams.join(' ')}" to set them right.`] : []),
  ]
}

const rowFaults = {
  missing: 'is missing',
  extra: 'comes from no payload',
  unfit: 'no longer fits',
} as const

function rowText({ table, key, kind, columns }: DifferingRow): string {
  const own = Object.entries(key).filter(([name]) => name !== 'rooftop_id')
  const row = `${table} ${own.map(([name, value]) => `${name} ${valueText(value)}`).join(', ')}`
  const facts = columns.map(({ column, stored, derived }) =>
    kind === 'unfit' ? `${column} ${stored}` : `${column} is ${stored}, not ${derived}`,
  )
  return [kind === 'changed' ? row : `${row} ${rowFaults[kind]}`, ...facts].join('; ')
}

function valueText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

function deepProblems(entry: DeepVerification): string[] {
  return [
    `  ${entry.rooftop} ${entry.stream}: ${entry.windows} windows listed again in ${entry.requests} requests, ${entry.missing.length} missing, ${entry.notConserved.length} not conserved`,
    ...(entry.missing.length > 0 ? [`    missing: ${entry.missing.slice(0, 20).join(', ')}`] : []),
    ...entry.notConserved.map(({ from, until }) => `    not conserved: ${from} to ${until}`),
  ]
}
