import { availableParallelism, cpus } from 'node:os'
import { UsageError } from '#src/errors.ts'
import { type BenchCase, type CaseResult, runCase } from './bench-case.ts'
import { firstRequests, statements, unchangedRows } from './cases/counted.ts'
import { csvTyped } from './cases/csv-typed.ts'
import { csvCopy, csvWarehouse } from './cases/csv-warehouse.ts'
import { firstLoad } from './cases/first-load.ts'
import { marts } from './cases/marts.ts'
import { memory } from './cases/memory.ts'
import { idleNight, idleStatements, largeNight } from './cases/nights.ts'
import { storePeer } from './cases/peer.ts'
import { farSource, quietNight } from './cases/requests.ts'
import { sandboxGeteval } from './cases/sandbox-geteval.ts'
import { storeCopy, storeMultiRow, storeRowByRow } from './cases/store.ts'
import { unchanged, unchangedWal } from './cases/unchanged.ts'
import { fourWorkers, twoWorkers } from './cases/workers.ts'
import { resultChart } from './chart.ts'
import { resultTable } from './table.ts'

/** What is to be measured. */
export interface BenchRequest {
  readonly quick: boolean
  /** Only what is the same on every machine. */
  readonly counted: boolean
  /** Names of cases; empty: all. */
  readonly cases: readonly string[]
}

export interface BenchReport {
  /** Everything that was measured, as JSON. */
  readonly document: unknown
  readonly table: string
  readonly svg: string
  /** 1 when a counted figure missed its target. */
  readonly exitCode: number
}

const cases: readonly BenchCase[] = [
  ...[storeCopy, storeMultiRow, storeRowByRow, storePeer, firstLoad, unchanged],
  ...[unchangedWal, unchangedRows, firstRequests, quietNight, statements],
  ...[farSource, twoWorkers, fourWorkers, idleNight, idleStatements, largeNight, memory],
  ...[csvTyped, csvWarehouse, csvCopy, marts, sandboxGeteval],
]

const names = cases.map(({ name }) => name)
const thoroughCases = cases.filter(({ thorough }) => thorough).map(({ name }) => name)

/** Runs the requested cases one after the other. UsageError for an unknown name. */
export async function bench(
  request: BenchRequest,
  print: (line: string) => void,
): Promise<BenchReport> {
  const unknown = request.cases.filter((name) => !names.includes(name))
  if (unknown.length > 0)
    throw new UsageError(`There is no case ${unknown.join(', ')}. Cases: ${names.join(', ')}.`)
  const wanted = wantedOf(request)
  if (request.quick && request.cases.length === 0)
    print(
      `Quick run with smaller sizes than stated below. Only in a full run, or with --case: ${thoroughCases.join(', ')}.`,
    )

  const results: CaseResult[] = []
  for (const one of wanted) {
    print(`${one.name}: ${one.what}; reference: ${one.referenceWhat}`)
    results.push(await runCase(one, { quick: request.quick }))
    // Printed at once, because a later case may fail.
    print(`  ${resultTable(results.slice(-1)).split('\n').at(-1)!}`)
  }
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() }
  return {
    document: { at: new Date().toISOString(), quick: request.quick, ...machine, cases: results },
    table: resultTable(results),
    svg: resultChart(results),
    // Times depend on the machine, counts do not.
    exitCode: results.some(({ counted, met }) => counted && !met) ? 1 : 0,
  }
}

function wantedOf({ cases: named, quick, counted: isCounted }: BenchRequest): readonly BenchCase[] {
  return cases
    .filter(({ name, thorough }) =>
      named.length > 0 ? named.includes(name) : !(quick && thorough),
    )
    .filter(({ counted }) => counted || !isCounted)
}
