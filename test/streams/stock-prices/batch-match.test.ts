import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BatchResult, matchResults } from '#src/streams/stock-prices/batch.ts'

const unit = (stockNo: string) => ({ stockNo, vin: null, adcode: null, odometerKm: null })
/** Matching reads the reference alone. */
const result = (reference: string | null, record: unknown = reference) =>
  ({ reference, record }) as BatchResult

test('every result is matched to its unit, in any order', () => {
  const matched = matchResults([unit('A'), unit('B')], [result('B', 2), result('A', 1)])

  expect(matched).toEqual({
    answers: [
      { unit: unit('A'), record: 1 },
      { unit: unit('B'), record: 2 },
    ],
    missing: [],
    duplicate: [],
    unknown: [],
  })
})

test('missing, duplicate and unknown results are distinguished, and none is loaded', () => {
  const results = [result('A'), result('B'), result('A'), result('X'), result(null), result('X')]

  const { answers, missing, duplicate, unknown } = matchResults(['A', 'B', 'C'].map(unit), results)

  expect(answers.map(({ record }) => record)).toEqual(['B'])
  expect(missing).toEqual([unit('C')])
  expect(duplicate).toEqual([unit('A')])
  expect(unknown).toEqual(['X', ''])
})

test('references that differ in a leading zero, case or a blank do not match', () => {
  const { answers, unknown } = matchResults(
    [unit('017A')],
    [result('17A'), result('017a'), result(' 017A')],
  )

  expect(answers).toEqual([])
  expect(unknown).toEqual(['17A', '017a', ' 017A'])
})

test('every unit is in the outcome once, whatever the results are', () => {
  const reference = fc.constantFrom('A', 'B', 'C', 'D', 'X', '__proto__', null)
  const asked = fc.uniqueArray(fc.constantFrom('A', 'B', 'C', 'D', '__proto__'))
  fc.assert(
    fc.property(asked, fc.array(reference), (numbers, references) => {
      const units = numbers.map(unit)

      const matched = matchResults(
        units,
        references.map((one) => result(one)),
      )

      const { answers, missing, duplicate } = matched
      const out = [...answers.map((answer) => answer.unit), ...missing, ...duplicate]
      expect(out.map(({ stockNo }) => stockNo).sort()).toEqual([...numbers].sort())
    }),
  )
})
