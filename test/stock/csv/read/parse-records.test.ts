import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countKinds } from '#src/stock/csv/read/cell-kind.ts'
import type { CsvRecord, Dialect } from '#src/stock/csv/read/csv-file.ts'
import { parseRecords } from '#src/stock/csv/read/parse-records.ts'
import { readCells } from '#src/stock/csv/read/read-cells.ts'
import { readRecord, repairSteps } from '#src/stock/csv/read/repair.ts'
import { caseCount } from '../../../support/cases.ts'

const ends = { LF: '\n', CRLF: '\r\n', CR: '\r' } as const
const options = { firstLine: 1, maxRecordBytes: 4_000_000, hasStrayQuote: () => false }

type Form = Pick<Dialect, 'delimiter' | 'quote' | 'lineEnd'>

const dialects: fc.Arbitrary<Form> = fc.record({
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
const tables = fc.array(fc.array(cells, { minLength: 2, maxLength: 4 }), { minLength: 1 })

function fileOf(table: readonly (readonly string[])[], own: Form) {
  const dialect: Dialect = { ...own, escape: own.quote ?? '"', sepLine: false }
  const text = table
    .map((row) => row.join(own.delimiter).replaceAll('Q', own.quote ?? '"'))
    .join(ends[own.lineEnd])
  return { dialect, text }
}

async function* inPieces(text: string, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function parsed(text: string, dialect: Dialect, size: number) {
  const found = []
  for await (const batch of parseRecords(inPieces(text, size), dialect, options))
    found.push(...batch)
  return found
}

test('chunks of any size give the same records, with all of the text and the same lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      dialects,
      tables,
      fc.integer({ min: 1, max: 90 }),
      async (own, table, size) => {
        const { dialect, text } = fileOf(table, own)

        const inParts = await parsed(text, dialect, size)

        const whole = await parsed(text, dialect, 1_000_000)
        expect(inParts).toEqual(whole)
        const lines = text.split(own.lineEnd === 'CR' ? '\r' : '\n')
        for (const { line, raw } of whole)
          expect(raw.startsWith(lines[line - 1]!.replace(/\r{0,2}$/, ''))).toBe(true)
      },
    ),
    { numRuns: caseCount(1000) },
  )
})

test('a record whose quotes are not in doubt has the cells that reading it again would give', async () => {
  await fc.assert(
    fc.asyncProperty(dialects, tables, async (own, table) => {
      const { dialect, text } = fileOf(table, own)
      const kindCounts = countKinds([], 3)
      const columns = { dialect, width: 3, kindCounts, repair: { left: repairSteps } }

      for (const record of await parsed(text, dialect, 1_000_000)) {
        const read: CsvRecord[] = readRecord(record, columns)
        if (read.some(({ problem }) => problem)) continue
        expect(read.map((one) => one.cells)).toEqual([readCells(record.raw, dialect).cells])
      }
    }),
    { numRuns: caseCount(1000) },
  )
})
