import { monitorEventLoopDelay } from 'node:perf_hooks'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { CsvFileError, type CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import { openApart, readingLimits } from '#src/stock/import/read-apart.ts'
import { SheetChoiceError } from '#src/stock/workbook/choose-sheet.ts'
import { readList } from '#src/stock/workbook/read-list.ts'
import { hostileLists } from '../hostile/hostile-lists.ts'
import { someOf } from '../support/cases.ts'
import { textRows, workbook } from './workbook/make-workbook.ts'

const never = new AbortController().signal
const sourceOf = (content: string | Buffer) => ({
  read: async function* () {
    const bytes = Buffer.from(content)
    for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
  },
})

async function recordsOf(batches: AsyncIterable<readonly CsvRecord[]>): Promise<CsvRecord[]> {
  const records: CsvRecord[] = []
  for await (const batch of batches) records.push(...batch)
  return records
}

async function readApart(content: string | Buffer, options = {}, limits = readingLimits) {
  await using stack = new AsyncDisposableStack()
  const list = await openApart(sourceOf(content), options, never, limits)
  stack.defer(() => list.close())
  return { list, records: await recordsOf(list.batches) }
}

const header = 'Stock No,Make,Model,Price\n'
const row = 'S1,Kia,Rio,18990\n'
const table = [
  ['Stock No', 'Make', 'Price'],
  ['S1', 'Kia', '5'],
]
const book = workbook({ sheets: [{ name: 'Stock', rows: textRows(table) }] })

test.each([
  ['a text', `My stock\n${header}${row.repeat(20_000)}S2,Caf\xe9,"a\nb`, {}],
  ['a workbook', book, {}],
  ['a packed text', gzipSync(header + row), { market: 'GCC' } as const],
])('%s has the same records apart as here', async (_, content, options) => {
  const here = await readList(sourceOf(content).read(), options)
  const records = await recordsOf(here.batches)
  const apart = await readApart(content, options)

  expect(apart.records).toEqual(records)
  for (const key of [
    'encoding',
    'dialect',
    'header',
    'width',
    'head',
    'warnings',
    'sheets',
  ] as const)
    expect(apart.list[key]).toEqual(here[key])
})

test('a refusal is the same apart as here, with its class and its fields', async () => {
  const sheets = ['One', 'Two'].map((name) => ({ name, rows: textRows(table) }))
  const choice = await readApart(workbook({ sheets })).catch((error: unknown) => error)
  const empty = await readApart('').catch((error: unknown) => error)
  const usage = await readApart(row, { sheet: 'One' }).catch((error: unknown) => error)

  expect(choice).toBeInstanceOf(SheetChoiceError)
  expect(choice).toMatchObject({ code: 'which-sheet', sheets: ['One', 'Two', 'One/Two'] })
  expect(empty).toBeInstanceOf(CsvFileError)
  expect(empty).toMatchObject({ code: 'empty', name: 'UsageError' })
  expect(usage).toBeInstanceOf(UsageError)
  expect(usage).not.toBeInstanceOf(CsvFileError)
})

test('an error of the source is the error of the list', { tags: 'ci' }, async () => {
  const broken = new UsageError('the file was written to')
  const source = {
    read: async function* () {
      yield Buffer.from(header + row.repeat(50_000))
      throw broken
    },
  }
  const list = await openApart(source, {}, never)

  await expect(recordsOf(list.batches)).rejects.toBe(broken)
})

test('a list that takes too long or too much memory is refused with what to do', async () => {
  const silent = {
    read: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
  }
  const slow = openApart(silent, {}, never, { ...readingLimits, batchSeconds: 0.3 })
  await expect(slow).rejects.toThrow(/takes more than 0.3 seconds: .*Export the list again/)

  const large = readApart(header + row, {}, { ...readingLimits, megabytes: 4 })
  await expect(large).rejects.toThrow(/takes more than 4 MB of memory: .*Export the list again/)
  await expect(large).rejects.toBeInstanceOf(CsvFileError)
})

test('a signal ends the reading at once, before and within the list', async () => {
  const endless = {
    read: async function* () {
      yield Buffer.from(header)
      for (;;) yield Buffer.from(row.repeat(5_000))
    },
  }
  const [first, second] = [new AbortController(), new AbortController()]
  const opening = openApart(endless, {}, first.signal)
  first.abort(new Error('stopped'))
  await expect(opening).rejects.toThrow('stopped')

  const list = await openApart(endless, {}, second.signal)
  setTimeout(() => second.abort(new Error('stopped later')), 200)
  const reading = async () => {
    for await (const batch of list.batches) void batch
  }
  await expect(reading()).rejects.toThrow('stopped later')
})

test('hostile lists hold up neither timers nor sockets of the program', {
  tags: 'ci',
}, async () => {
  const chosen = someOf(
    hostileLists.filter((_, index) => index % 40 === 0),
    4,
  )
  using delay = Object.assign(monitorEventLoopDelay({ resolution: 10 }), {
    [Symbol.dispose]: () => void delay.disable(),
  })
  delay.enable()
  for (const [, list] of chosen) await readApart(list(400_000)).catch(() => undefined)

  // It is some milliseconds; a busy machine may add others' time.
  expect(delay.max / 1e6).toBeLessThan(1_000)
})
