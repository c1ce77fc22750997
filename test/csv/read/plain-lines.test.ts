import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countKinds } from '#src/csv/read/kind-counts.ts'
import type { CsvRecord, Dialect } from '#src/csv/read/csv-file.ts'
import { QuotedRecords } from '#src/csv/read/quoted-records.ts'
import type { RawRecord } from '#src/csv/read/raw-record.ts'
import { readRecord } from '#src/csv/read/read-record.ts'
import { splitRecords } from '#src/csv/read/split-records.ts'
import { caseCount } from '../../support/cases.ts'

const ends = { LF: '\n', CRLF: '\r\n', CR: '\r' } as const
const options = { isWhole: true, maxRecordBytes: 4_000_000, hasStrayQuote: () => false }

const dialects = fc.record({
  delimiter: fc.constantFrom(',', ';', ', ', '\t'),
  quote: fc.constantFrom('"', '"', "'", null),
  lineEnd: fc.constantFrom('LF', 'CRLF', 'CR'),
})

/** Valid cells, and some with errors. */
const cells = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('', 'Kia', 'A1', '20 500', 'é漢', ' x ') },
  { weight: 3, arbitrary: fc.constantFrom('Q""', 'Qa, bQ', 'Qtwo\nlinesQ', 'QsaysQQsoQQQ', 'QQ') },
  { weight: 1, arbitrary: fc.constantFrom('Qopen', '5Q10', 'Qa Q', 'QaQb', 'a\rb', 'aQ') },
)

async function recordsOf(
  records: AsyncIterable<readonly RawRecord[]>,
  dialect: Dialect,
): Promise<CsvRecord[]> {
  const columns = { dialect, width: 3, kindCounts: countKinds([], 3) }
  const found: CsvRecord[] = []
  for await (const batch of records)
    for (const record of batch) found.push(...readRecord(record, columns))
  return found
}

async function* byParserAlone(bytes: Buffer, dialect: Dialect) {
  const parser = new QuotedRecords(dialect, 1)
  yield await parser.add(bytes)
  yield await parser.end()
}

async function* inPieces(text: string, size: number) {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
}

test('lines split without a parser are the records that csv-parse reads', async () => {
  const tables = fc.array(fc.array(cells, { minLength: 2, maxLength: 4 }), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(
      dialects,
      tables,
      fc.integer({ min: 1, max: 90 }),
      async (own, table, size) => {
        const dialect = { ...own, escape: own.quote ?? '"', sepLine: false } as const
        const text = table
          .map((row) => row.join(own.delimiter).replaceAll('Q', own.quote ?? '"'))
          .join(ends[own.lineEnd])

        const parted = await recordsOf(
          splitRecords(inPieces(text, size), dialect, options),
          dialect,
        )

        expect(parted).toEqual(await recordsOf(byParserAlone(Buffer.from(text), dialect), dialect))
      },
    ),
    { numRuns: caseCount(1000) },
  )
})
