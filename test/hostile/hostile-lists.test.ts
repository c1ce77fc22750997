import { expect, test } from 'vitest'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import { CsvFileError, type CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import { readList } from '#src/stock/workbook/read-list.ts'
import { caseCount, runsEveryCase } from '../support/cases.ts'
import { hostileLists } from './hostile-lists.ts'

// Rows parted by <br> once took 36 s for 86 KB, and brackets before quotes 13 minutes for 390 KB.

/** Seconds of CPU to read, map and type a list. */
async function cost(text: string): Promise<number> {
  const before = process.cpuUsage()
  try {
    await readAndType(text)
  } catch (error) {
    if (!(error instanceof CsvFileError)) throw error
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

async function readAndType(text: string): Promise<void> {
  const bytes = Buffer.from(text)
  async function* source() {
    yield bytes
  }
  const csv = await readList(source(), { market: 'AU', isKnownName: isKnownHeader })
  const records: CsvRecord[] = []
  for await (const batch of csv.batches) for (const record of batch) records.push(record)
  const sound = records.filter(({ problem }) => problem === undefined).slice(0, 500)
  const rows = sound.map(({ cells }) => cells.slice(0, csv.width))
  const mapping = proposeMapping(csv.header?.names ?? null, rows)
  const evidence = startStyles(mapping, { market: 'AU', currency: 'AUD', today: '2026-06-30' })
  for (const { cells } of sound) evidence.observe({ cells })
  const type = rowTyper(mapping, evidence.styles())
  for (const record of records) type(record)
}

const chosen = hostileLists.filter((_, index) => runsEveryCase || index % 12 === 0)

test.each(chosen)(
  '%s: four times the size take no more than a multiple of the time',
  async (_, list) => {
    const four = await cost(list(100_000))

    // Below a second the machine decides. Above it, sixteen times would be quadratic.
    const most = four < 1 ? 1 : 10 * (await cost(list(25_000))) + 1
    expect(four).toBeLessThan(most)
  },
)

test.each([
  ['an open quote in every row', 'S1,"Kia,Rio,1,2\n'],
  ['an open quote in every row of a list without them', '"S1,Kia,Rio,1,2\n'],
  ['a quoted cell that never ends', '"S1\nKia\nRio\n'],
] as const)('megabytes of %s are read or refused in seconds', async (_, row) => {
  const megabytes = caseCount(3_000_000, 300_000)
  const header = 'Stock No,Make,Model,Price,Odometer\n'
  const sound = 'S9,Kia,Rio,18990,51000\n'.repeat(3_000)

  expect(await cost(header + sound + row.repeat(megabytes / row.length))).toBeLessThan(60)
})
