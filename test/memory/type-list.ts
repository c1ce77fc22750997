import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { stockListText } from '../bench/stock-list.ts'

// Reads and types a list of the given size, generated while it is read, and prints the cost.

const wanted = Number(process.argv[2])
const sampleSize = 500
let bytes = 0

async function* list(): AsyncGenerator<Buffer> {
  for (const text of stockListText(Number.MAX_SAFE_INTEGER)) {
    const piece = Buffer.from(text)
    bytes += piece.length
    yield piece
    if (bytes >= wanted) return
  }
}

const before = process.memoryUsage.rss()
const csv = await readCsv(list(), { market: 'AU', isKnownName: isKnownHeader })
const sample: (readonly string[])[] = []
let accepted = 0
let type: ReturnType<typeof rowTyper> | null = null
for await (const batch of csv.batches)
  for (const record of batch) {
    if (sample.length < sampleSize) sample.push(record.cells)
    else type ??= typerOf(sample)
    if (type?.(record).status === 'accepted') accepted += 1
  }
const grown = process.resourceUsage().maxRSS / 1024 - before / 1024 ** 2
console.log(JSON.stringify({ accepted, bytes, grown }))

function typerOf(rows: readonly (readonly string[])[]): ReturnType<typeof rowTyper> {
  const mapping = proposeMapping(csv.header!.names, rows)
  const options = { market: 'AU', currency: 'AUD', today: '2026-06-30' } as const
  return rowTyper(mapping, startStyles(mapping, options).styles())
}
