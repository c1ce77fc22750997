import { stringify } from 'csv-stringify/sync'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordWriter, defaultStyle } from '#src/csv/write/csv-text.ts'
import { caseCount } from '../../support/cases.ts'

const cell = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom('', ',', '"', '\n', '\r\n', ' a ', "'", 'ا', '1,5', '""', ';'),
)

const read = (text: string) => parse(text, { record_delimiter: '\r\n' })

test("the writer's output equals that of csv-stringify", () => {
  const write = recordWriter(defaultStyle)
  const table = fc.integer({ min: 2, max: 6 }).chain((width) =>
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), {
      minLength: 1,
      maxLength: 8,
    }),
  )

  fc.assert(
    fc.property(table, (rows) => {
      const theirs = stringify(rows, { record_delimiter: '\r\n', quoted: true, quoted_empty: true })
      const ours = rows.map(write).join('')

      expect(read(ours)).toEqual(rows)
      expect(read(ours)).toEqual(read(theirs))
    }),
    { numRuns: caseCount(2000) },
  )
})
