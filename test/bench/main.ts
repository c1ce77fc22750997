import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type BenchCase, type CaseResult, runCase } from './bench-case.ts'
import { firstLoad } from './cases/first-load.ts'
import { memory } from './cases/memory.ts'
import { idleNight, largeNight } from './cases/nights.ts'
import { farSource, quietNight } from './cases/requests.ts'
import { storeBare, storeCopy, storeMultiRow, storeRowByRow } from './cases/store.ts'
import { unchanged, unchangedWal } from './cases/unchanged.ts'
import { fourWorkers, twoWorkers } from './cases/workers.ts'
import { firstRequests, statements, unchangedRows } from './cases/counted.ts'
import { csvTyped } from './cases/csv-typed.ts'
import { csvCopy, csvWarehouse } from './cases/csv-warehouse.ts'
import { marts } from './cases/marts.ts'
import { sandboxGeteval } from './cases/sandbox-geteval.ts'
import { resultChart } from './chart.ts'
import { resultTable } from './table.ts'

const cases: readonly BenchCase[] = [
  ...[storeCopy, storeBare, storeMultiRow, storeRowByRow, firstLoad, unchanged],
  ...[unchangedWal, unchangedRows, firstRequests, quietNight, statements],
  ...[farSource, twoWorkers, fourWorkers, idleNight, largeNight, memory],
  ...[csvTyped, csvWarehouse, csvCopy, marts, sandboxGeteval],
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    counted: { type: 'boolean', default: false },
    case: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
    svg: { type: 'string' },
  },
})
const names = cases.map(({ name }) => name)
const unknown = values.case.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no case ${unknown.join(', ')}. Cases: ${names.join(', ')}.`)
  process.exit(2)
}
const wanted = cases
  .filter(({ name }) => values.case.length === 0 || values.case.includes(name))
  .filter(({ counted = false }) => counted || !values.counted)

const results: CaseResult[] = []
for (const one of wanted) {
  console.error(`${one.name}: ${one.what}; reference: ${one.referenceWhat}`)
  results.push(await runCase(one, { quick: values.quick }))
}
console.log(resultTable(results))
if (values.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() }
  const run = { at: new Date().toISOString(), quick: values.quick, ...machine, cases: results }
  writeFileSync(values.json, `${JSON.stringify(run, null, 2)}\n`)
}
if (values.svg !== undefined) writeFileSync(values.svg, resultChart(results))
// Seconds tell of the machine too; what is counted does not.
if (results.some(({ counted, met }) => counted && !met)) process.exitCode = 1
