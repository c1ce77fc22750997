import { openAppraisal } from '../context.ts'
import { chooseRooftops, findRooftops } from '../pipeline/rooftops.ts'
import {
  duplicateIds,
  isProved,
  type Span,
  type Verification,
  verifyStream,
} from '../pipeline/verify.ts'
import { type UntrueAggregate, verifyAggregates } from '../pipeline/verify-aggregates.ts'
import { type DeepVerification, verifyDeep } from '../pipeline/verify-deep.ts'
import { allStreams } from '../streams/all.ts'
import { collect, type CommandDefinition } from './command.ts'
import { table } from './table.ts'

const windowed = allStreams.filter((stream) => stream.kind === 'windowed')

export const verify: CommandDefinition = {
  usage: 'verify',
  summary: 'Proves coverage: gaps, overlaps, counts, ids; --deep lists the source again',
  options: (command) =>
    command
      .option('--deep', 'list every window again, whole and in halves, and compare the ids')
      .option('--rooftop <uid>', 'only this rooftop (repeatable)', collect, []),
  examples: ['forecourt verify', 'forecourt verify --deep --json'],
  async run(session, options) {
    const chosen = chooseRooftops(session.config, options['rooftop'] as string[])
    const warehouse = await session.warehouse('read')
    const rooftops = await findRooftops(warehouse.db, chosen)
    const checked: Verification[] = []
    const deep: DeepVerification[] = []
    const appraisal = openAppraisal(session.config, session.log)
    for (const stream of windowed) {
      for (const rooftop of rooftops) {
        checked.push(
          await verifyStream(warehouse.db, stream, rooftop, session.config.sync, new Date()),
        )
        const context = { ...warehouse, appraisal, signal: session.io.signal }
        if (options['deep'] === true) deep.push(await verifyDeep(context, stream, rooftop))
      }
    }
    await appraisal.close()
    const duplicates = await duplicateIds(warehouse.db)
    const aggregates = await verifyAggregates(warehouse.db, rooftops)
    const proved =
      checked.every(isProved) &&
      deep.every(
        ({ missing, notConserved }) => missing.length === 0 && notConserved.length === 0,
      ) &&
      duplicates.length === 0 &&
      aggregates.length === 0
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
    }
    session.result(document, () => [
      ...lines(proved, checked, deep, duplicates),
      ...aggregates.map(untrue),
    ])
    return proved ? 0 : 1
  },
}

function sum(checked: readonly Verification[], name: 'gaps' | 'overlaps'): number {
  return checked.reduce((total, entry) => total + entry[name].length, 0)
}

function lines(
  proved: boolean,
  checked: readonly Verification[],
  deep: readonly DeepVerification[],
  duplicates: readonly { evalId: number; rooftops: string[] }[],
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
    `${proved ? 'Proved' : 'NOT PROVED'}: ${sum(checked, 'gaps')} gaps, ${sum(checked, 'overlaps')} overlaps; listed = loaded + quarantined + vanished in every window.`,
    ...table(headings, rows),
    ...checked.flatMap(problems),
    ...deep.flatMap(deepProblems),
    ...duplicates.map(
      ({ evalId, rooftops }) =>
        `  evaluation ${evalId} stands under rooftops ${rooftops.join(' and ')}: give them the same group: in the config`,
    ),
  ]
}

function problems(entry: Verification): string[] {
  const tell = (what: string, spans: readonly Span[]) =>
    spans.map(
      ({ from, until }) => `  ${entry.rooftop} ${entry.stream}: ${what} ${from} to ${until}`,
    )
  return [
    ...tell('gap (run "forecourt sync")', entry.gaps),
    ...tell('overlap', entry.overlaps),
    ...tell('sum does not hold', entry.brokenSums),
    ...tell('covered without a certificate', entry.uncertified),
    ...tell('cannot be proved: the source cuts its list within one second', entry.unprovable),
    ...tell('rows differ from the certificate (run "forecourt replay")', entry.notStored),
    ...(entry.orphans > 0
      ? [
          `  ${entry.rooftop} ${entry.stream}: ${entry.orphans} child rows without their record (run "forecourt replay")`,
        ]
      : []),
  ]
}

function untrue({ aggregate, of, differences, mend }: UntrueAggregate): string {
  const what = aggregate === 'agg_repeat_vehicle' ? 'vehicles' : 'days'
  return `  ${of}: core.${aggregate} is not what the facts say of ${differences} ${what}: run "${mend}" in the warehouse`
}

function deepProblems(entry: DeepVerification): string[] {
  return [
    `  ${entry.rooftop} ${entry.stream}: ${entry.windows} windows listed again in ${entry.requests} requests, ${entry.missing.length} missing, ${entry.notConserved.length} not conserved`,
    ...(entry.missing.length > 0 ? [`    missing: ${entry.missing.slice(0, 20).join(', ')}`] : []),
    ...entry.notConserved.map(({ from, until }) => `    not conserved: ${from} to ${until}`),
  ]
}
