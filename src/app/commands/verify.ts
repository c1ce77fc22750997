import { randomBytes } from 'node:crypto'
import { UsageError } from '../../errors.ts'
import { allStreams } from '../../streams/all.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { isFaultless, isProved, type Verification } from '../../sync/verify/verify.ts'
import type { WrongAggregate } from '../../sync/verify/verify-aggregates.ts'
import { type CoverageRefused, verifyAndStore } from '../../sync/verify/verify-and-store.ts'
import type { DeepVerification } from '../../sync/verify/verify-deep.ts'
import type {
  DifferingRow,
  RowSample,
  RowScope,
  RowsVerification,
} from '../../sync/verify/verify-rows.ts'
import type { IsoSpan } from '../../sync/verify/verify-stored.ts'
import {
  readValueStatus,
  type ValueDifference,
  type ValueStatus,
} from '../../sync/verify/verify-values.ts'
import type { WarehouseVerification } from '../../sync/verify/verify-warehouse.ts'
import { addDays, isDay, utcText } from '../../values/instant.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { rooftopOptions } from '../../values/shell.ts'
import { firstText, plural, shareText } from '../../values/text.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { wholeNumberOption } from './option-values.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const verify: RunCommand = async (session, options) => {
  const scope = readScope(options)
  const { config } = session
  const chosen = chooseRooftops(config, options['rooftop'] as string[])
  const warehouse = await session.warehouse('read')
  const rooftops = await findRooftops(warehouse.db, chosen)
  const isDeep = options['deep'] === true
  const extent = { isDeep, scope }
  const verified = await verifyAndStore(warehouse, allStreams, rooftops, extent, session.io.signal)
  const { found, deep, rows, refused } = verified
  const { checked, duplicates, aggregates } = found
  const { withinNights } = config.verify
  const values = await readValueStatus(warehouse.db, allStreams, rooftops, withinNights)
  const faultless =
    checked.every(isFaultless) &&
    deep.every(({ missing, notConserved }) => missing.length === 0 && notConserved.length === 0) &&
    duplicates.length === 0 &&
    aggregates.length === 0 &&
    values.differences.length === 0 &&
    (rows === null || rows.differing === 0)
  const proved = faultless && checked.every(isProved)
  const document = {
    status: proved ? 'ok' : faultless ? 'incomplete' : 'failed',
    gaps: sum(checked, 'gaps'),
    unlisted: sum(checked, 'unlisted'),
    overlaps: sum(checked, 'overlaps'),
    rooftops: checked.map((entry) => ({ ...entry, orphans: countRows(entry) })),
    duplicates,
    aggregates,
    values,
    deep: isDeep ? deep : null,
    rows,
    ...(refused === null ? {} : { coverageRefused: refused }),
  }
  const label = labelRooftops(chosen)
  const labelled = <T extends { rooftop: string }>(list: readonly T[]) =>
    list.map((entry) => ({ ...entry, uid: entry.rooftop, rooftop: label(entry.rooftop) }))
  session.result(document, () => [
    ...lines(
      proved ? 'Proved' : faultless ? 'NOT COMPLETE YET' : 'NOT PROVED',
      config.sync.start,
      labelled(checked),
      labelled(deep),
      duplicates,
      refused === null ? readBySync : notUncovered,
    ),
    comparedLine(found, values),
    ...aggregateLines(aggregates),
    ...values.differences.map((one) => valueLine(one, label)),
    ...(rows === null ? [] : rowLines(rows, label)),
    ...(refused === null ? [] : [refusedLine(refused)]),
  ])
  return proved ? 0 : 1
}

/** Verifies the rooftops and stores what is found, for what reads it. UsageError where the login may not store it. */
export async function verifyNow(
  { io }: Session,
  warehouse: Warehouse,
  rooftops: readonly RooftopRow[],
): Promise<void> {
  const extent = { isDeep: false, scope: null }
  const { refused } = await verifyAndStore(warehouse, allStreams, rooftops, extent, io.signal)
  if (refused !== null)
    throw new UsageError(
      `${refusedLine(refused)} Run "forecourt verify" instead, which shows what it finds.`,
    )
}

/** Child rows without their record. */
function countRows({ orphans }: Verification): number {
  return orphans.reduce((total, { rows }) => total + rows, 0)
}

function sum(checked: readonly Verification[], name: 'gaps' | 'unlisted' | 'overlaps'): number {
  return checked.reduce((total, entry) => total + entry[name].length, 0)
}

/** With the rooftop as it is shown, and its uid. */
type Labelled = Verification & { readonly uid: string }

function lines(
  result: string,
  syncStart: Date,
  checked: readonly Labelled[],
  deep: readonly DeepVerification[],
  duplicates: WarehouseVerification['duplicates'],
  readAgain: string,
): string[] {
  const numbers = ['windows', 'listed', 'loaded', 'quarantined', 'vanished'] as const
  const spans = ['gaps', 'overlaps', 'unprovable'] as const
  const left = sum(checked, 'unlisted')
  const waiting = left === 0 ? '' : `, ${plural(left, 'span')} not listed yet`
  const rows = checked.map((entry) => [
    ...[entry.rooftop, entry.stream],
    ...numbers.map((name) => entry[name]),
    ...spans.map((name) => entry[name].length),
  ])
  return [
    `${result}: ${sum(checked, 'gaps')} gaps, ${sum(checked, 'overlaps')} overlaps${waiting}${conserved(checked)}.`,
    ...table(['rooftop', 'stream', ...numbers, ...spans], rows),
    ...checked.flatMap((entry) => problems(entry, syncStart, readAgain)),
    ...deep.flatMap(deepProblems),
    ...duplicates
      .slice(0, maxPrinted)
      .map(
        ({ evalId, rooftops }) =>
          `  evaluation ${evalId} is stored under rooftops ${rooftops.join(' and ')}, which are of one dealer group: load both into a new warehouse (warehouse.url) with the same group:, as group: cannot change here`,
      ),
    ...(duplicates.length > maxPrinted
      ? [`  and ${duplicates.length - maxPrinted} more (--json lists them)`]
      : []),
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

const thenVerify = 'then "forecourt verify"'
const readBySync = `run "forecourt sync", which reads this window again, ${thenVerify}`
const notUncovered = 'it was not taken out of coverage, see below'

function problems(entry: Labelled, syncStart: Date, readAgain: string): string[] {
  const list = <S extends IsoSpan>(spans: readonly S[], what: (span: S) => string) =>
    spans.map(
      (span) =>
        `  ${entry.rooftop} ${entry.stream}: ${utcText(span.from)} to ${utcText(span.until)}: ${what(span)}`,
    )
  const byBackfill = ({ from, until }: IsoSpan) =>
    `run "forecourt backfill ${entry.stream} --from ${from} --to ${until}${rooftopOptions(entry.uid)}"`
  return [
    ...list(entry.gaps, (span) =>
      new Date(span.from) < syncStart
        ? `gap: ${byBackfill(span)}`
        : 'gap: the next "forecourt sync" lists it',
    ),
    ...list(entry.unlisted, () => 'not listed yet: a run is at work on it'),
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
        ...(missing.length > 0 ? [`missing: ${firstIds(missing)}`] : []),
        ...(unexpected.length > 0 ? [`not listed: ${firstIds(unexpected)}`] : []),
      ]
      return `rows differ from the certificate (${ids.join('; ')}): ${isCertified ? readAgain : `${byBackfill(span)}, ${thenVerify}`}`
    }),
    ...(entry.orphans.length > 0 ? [orphansLine(entry)] : []),
  ]
}

/** Replay makes what a payload is stored of; nothing makes the others. */
function orphansLine(entry: Labelled): string {
  const { rooftop, uid, stream, orphans } = entry
  const ids = orphans.map(({ record }) => Number(record))
  const tables = [...new Set(orphans.flatMap((one) => one.tables))]
  return (
    `  ${rooftop} ${stream}: ${countRows(entry)} child rows without their record: run "forecourt sync", then "forecourt replay ${stream}${rooftopOptions(uid)}", ${thenVerify}. ` +
    `What is left then is in no list and no payload: delete it (${tables.join(', ')}; ids ${firstIds(ids)})`
  )
}

const firstIds = (ids: readonly number[]) => firstText(ids, 20)

/** What was compared: ids and sums of everything, values of a part. */
function comparedLine(
  { checked, aggregates }: WarehouseVerification,
  { compared, since, restBy }: ValueStatus,
): string {
  const windows = checked.reduce((total, entry) => total + entry.windows, 0)
  const isEqual =
    aggregates.length === 0 &&
    checked.every((one) => one.notStored.length + one.brokenSums.length + one.orphans.length === 0)
  const ids = `Compared: ids and sums of ${windows.toLocaleString('en')} windows: ${isEqual ? 'equal' : 'not equal'}`
  if (since === null)
    return `${ids}; values of no rows yet: the nightly job "verify" compares a share, "forecourt verify --rows" all`
  if (restBy === null) return `${ids}; values of all rows compared since ${utcText(since)}`
  return `${ids}; values of ${shareText(compared)} of the rows compared since ${utcText(since)}, the rest by ${utcText(restBy)}`
}

/** The commands that show which values differ, set them right, and prove it. */
function cureText(rooftops: readonly string[], streams: string, days = ''): string {
  const scope = rooftopOptions(...rooftops)
  return `run "forecourt verify --rows${scope}${days}", then "forecourt replay ${streams}${scope}", then "forecourt verify${scope}"`
}

/** A line for each set of rooftops: their sums that differ, and one cure. */
function aggregateLines(aggregates: readonly WrongAggregate[]): string[] {
  const isDue = ({ kind }: WrongAggregate) => kind === 'due'
  const together = Map.groupBy(
    aggregates.filter((one) => !isDue(one)),
    ({ rooftops }) => rooftops.join(' '),
  )
  const sums = [...together.values()].map((same) => {
    const which = same.map(
      ({ aggregate, of, differences, days }) =>
        `${aggregate === 'signed_link' ? 'pii' : 'core'}.${aggregate} of ${of} (${plural(differences, days === null ? 'vehicle' : 'day')})`,
    )
    const first = same.map(({ days }) => days?.first).sort()[0]
    const last = same
      .map(({ days }) => days?.last)
      .sort()
      .at(-1)
    const isOfDays = same.every(({ days }) => days !== null)
    const span = isOfDays ? ` --from ${first} --to ${addDays(last!, 1)}` : ''
    return `  Sums differ from the rows: ${which.join(', ')}. A row may be wrong, or the sum: ${cureText(same[0]!.rooftops, 'evaluations pricing', span)}`
  })
  const due = aggregates.filter(isDue).map(({ of, differences }) => {
    const scope = rooftopOptions(of)
    return `  What is due for Pricing AI differs from the facts of ${plural(differences, 'evaluation')}: run "forecourt replay evaluations${scope}", then "forecourt verify${scope}"`
  })
  return [...sums, ...due]
}

function valueLine(
  { rooftop, stream, records, examples, since }: ValueDifference,
  label: (uid: string) => string,
): string {
  const left = records - examples.length
  const which = `${examples.join('; ')}${left > 0 ? ` and ${left} more` : ''}`
  return `  ${label(rooftop)} ${stream}: the values of ${plural(records, 'record')} differ from the payloads since ${utcText(since)} or before (${which}): ${cureText([rooftop], stream)}`
}

/** What --rows compares; null: it was not given. */
function readScope(options: Parameters<RunCommand>[1]): RowScope | null {
  const { rows, from, to } = options
  const sample = readSample(options)
  if (rows !== true) {
    if (from !== undefined || to !== undefined) throw new UsageError('--from and --to need --rows.')
    return null
  }
  if ((from === undefined) !== (to === undefined))
    throw new UsageError('--from and --to need each other.')
  if (from === undefined) return { sample, days: null }
  return { sample, days: { from: dayOption('--from', from), to: dayOption('--to', to) } }
}

function dayOption(name: string, given: unknown): string {
  const text = String(given)
  if (isDay(text)) return text
  throw new UsageError(`${name} ${text} is not a day, e.g. 2026-03-01.`)
}

function readSample(options: Parameters<RunCommand>[1]): RowSample | null {
  const { rows, sample, seed } = options
  if (rows !== true && sample !== undefined) throw new UsageError('--sample needs --rows.')
  if (sample === undefined && seed !== undefined) throw new UsageError('--seed needs --sample.')
  if (sample === undefined) return null
  const size = wholeNumberOption('--sample', sample, 1, 10_000_000)
  return { size, seed: seed === undefined ? randomBytes(4).toString('hex') : String(seed) }
}

/** Evaluations of several rooftops that are printed; --json has more. */
const maxPrinted = 50
/** Rows that are printed; of more the columns are counted too. */
const fewRows = 5
/** Differences of a row that are printed. */
const fewColumns = 3

function rowLines(
  { records, sample, differing, streams, unfit, columns, rows }: RowsVerification,
  label: (uid: string) => string,
): string[] {
  const which = sample === null ? '' : `, taken at random with --seed ${sample.seed}`
  const left = differing - fewRows
  const listed = differing > rows.length ? `the first ${rows.length}` : 'them'
  const counts = columns.map(({ stream, table: name, column, kind, records: count, compared }) => [
    // The payloads of all streams are in one table.
    kind === 'changed'
      ? `${name}.${column}`
      : `${name}${kind === 'unfit' ? ` of ${stream}` : ''}: ${rowFaults[kind]}`,
    ...[count, compared],
  ])
  const toQuarantine =
    unfit === 0
      ? ''
      : ', and those that no longer fit into quarantine ("forecourt quarantine list")'
  return [
    `Rows derived again from the stored payloads of ${records} records${which}: ${differing} differ.`,
    ...(left > 0 ? [...table(['column', 'records', 'of'], counts), 'The first rows:'] : []),
    ...rows
      .slice(0, fewRows)
      .map((row) => `  ${label(row.rooftop)} ${row.stream}: ${rowText(row)}`),
    ...(left > 0 ? [`  and ${left} more (--json lists ${listed})`] : []),
    ...(differing > 0
      ? [
          `Run "forecourt replay ${streams.join(' ')}" to set them right${toQuarantine}, ${thenVerify}.`,
        ]
      : []),
  ]
}

const rowFaults = {
  missing: 'is missing',
  extra: 'comes from no payload',
  unfit: 'no longer fits',
} as const

function rowText({ table, key, kind, columns }: DifferingRow): string {
  const keyColumns = Object.entries(key).filter(([name]) => name !== 'rooftop_id')
  const row = `${table} ${keyColumns.map(([name, value]) => `${name} ${valueText(value)}`).join(', ')}`
  const facts = columns
    .slice(0, fewColumns)
    .map(({ column, stored, derived }) =>
      kind === 'unfit' ? `${column} ${stored}` : `${column} is ${stored}, not ${derived}`,
    )
  const left = columns.length - facts.length
  return [
    kind === 'changed' ? row : `${row} ${rowFaults[kind]}`,
    ...facts,
    ...(left > 0 ? [`and ${left} more`] : []),
  ].join('; ')
}

function valueText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

function deepProblems(entry: DeepVerification): string[] {
  return [
    `  ${entry.rooftop} ${entry.stream}: ${entry.windows} windows listed again in ${entry.requests} requests, ${entry.missing.length} missing, ${entry.notConserved.length} not conserved`,
    ...(entry.missing.length > 0 ? [`    missing: ${entry.missing.slice(0, 20).join(', ')}`] : []),
    ...entry.notConserved.map(
      ({ from, until }) => `    not conserved: ${utcText(from)} to ${utcText(until)}`,
    ),
  ]
}
