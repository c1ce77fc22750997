import { expect, test } from 'vitest'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'

/** Chunks of 100 rows, how many of them were requested, and whether the source was closed. */
function source(chunks: number) {
  const seen = { asked: 0, isClosed: false }
  async function* rows() {
    try {
      yield Buffer.from('Stock,Make,Price,Note\n')
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        seen.asked += 1
        yield Buffer.from(`A${chunk},Kia,900,${'long note '.repeat(60)}\n`.repeat(100))
      }
    } finally {
      seen.isClosed = true
    }
  }
  return { seen, rows: rows() }
}

test('nothing is read ahead', async () => {
  const { seen, rows } = source(1000)

  const file = await readCsv(rows)
  const atOpening = seen.asked
  let records = 0
  for await (const batch of file.batches) {
    records += batch.length
    if (records >= 1000) break
  }

  expect(atOpening).toBeLessThan(5)
  expect(seen.asked).toBeLessThan(20)
})

test('a source is closed when the reader stops early, and when it never starts', async () => {
  const left = source(1000)
  const unwanted = source(1000)
  const refused = source(1000)

  for await (const batch of (await readCsv(left.rows)).batches) if (batch.length > 0) break
  await (await readCsv(unwanted.rows)).close()
  await readCsv(refused.rows, { maxColumns: 2 }).catch(() => {})

  expect([left.seen.isClosed, unwanted.seen.isClosed, refused.seen.isClosed]).toEqual([
    true,
    true,
    true,
  ])
})

test('chunks of any size give the same records', async () => {
  const text = Buffer.from(`Stock,Note\r\n${'A1,"two\r\nlines, ""é"""\r\nA2,漢\r\n'.repeat(40)}`)
  const inChunks = async (size: number) => {
    async function* pieces() {
      for (let at = 0; at < text.length; at += size) yield text.subarray(at, at + size)
    }
    const records = []
    for await (const batch of (await readCsv(pieces())).batches) records.push(...batch)
    return records
  }

  const whole = await inChunks(text.length)

  expect(whole).toHaveLength(80)
  for (const size of [1, 2, 3, 7, 64]) expect(await inChunks(size)).toEqual(whole)
})
