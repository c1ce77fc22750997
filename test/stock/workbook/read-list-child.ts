import { createReadStream, readFileSync } from 'node:fs'
import { useCompileCache } from '#src/compile-cache.ts'
import { growInSmallSteps, keepNewSpaceSmall } from '#src/heap.ts'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { CsvFileError } from '#src/stock/csv/read/csv-file.ts'

// Reads a list as the program does, and prints what it is and what it cost.

growInSmallSteps()
keepNewSpaceSmall()
useCompileCache()
const { readList } = await import('#src/stock/workbook/read-list.ts')
const before = { cpu: process.cpuUsage(), at: performance.now() }
let rows = 0
let cells = 0
let refused: { code: string; message: string } | null = null
try {
  const list = await readList(createReadStream(process.argv[2]!), { isKnownName: isKnownHeader })
  for await (const batch of list.batches) {
    rows += batch.length
    for (const record of batch) cells += record.cells.length
  }
} catch (error) {
  if (!(error instanceof CsvFileError)) throw error
  refused = { code: error.code, message: error.message }
}
const { user, system } = process.cpuUsage(before.cpu)
const cost = {
  cpuSeconds: (user + system) / 1e6,
  seconds: (performance.now() - before.at) / 1000,
  // Not maxRSS, which begins with the memory of the process that started this one.
  megabytes: Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) / 1024,
}
console.log(JSON.stringify({ rows, cells, refused, ...cost }))
