import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type BenchCase, runCase } from './bench-case.ts'
import { firstLoad } from './cases/first-load.ts'
import { memory } from './cases/memory.ts'
import { farSource, quietNight } from './cases/requests.ts'
import { storeCopy, storeMultiRow, storeRowByRow } from './cases/store.ts'
import { unchanged, unchangedWal } from './cases/unchanged.ts'
import { csvTyped } from './cases/csv-typed.ts'
import { csvCopy, csvWarehouse } from './cases/csv-warehouse.ts'
import { marts } from './cases/marts.ts'
import { sandboxGeteval } from './cases/sandbox-geteval.ts'
import { resultTable } from './table.ts'

const cases: readonly BenchCase[] = [
  ...[storeCopy, storeMultiRow, storeRowByRow, firstLoad, unchanged, unchangedWal],
  ...[farSource, quietNight, memory, csvTyped, csvWarehouse, csvCopy, marts, sandboxGeteval],
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    case: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
  },
})
const names = cases.map(({ name }) => name)
const unknown = values.case.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no case ${unknown.join(', ')}. Cases: ${names.join(', ')}.`)
  process.exit(2)
}
const wanted = cases.filter(({ name }) => values.case.length === 0 || values.case.includes(name))

const results = []
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
if (results.some(({ met }) => !met)) process.exitCode = 1
