import { expect, test } from 'vitest'
import { findMoved } from '#src/streams/evaluations/moved-names.ts'
import type { Reading } from '#src/sync/records/named-fields.ts'
import { defaultWire } from '#src/values/wire.ts'

const setting = 'appraisal.evaluation.odometer'
const [path] = [defaultWire.appraisal.evaluation.odometer].flat()
const km = (id: number) => 40_000 + (id % 1000) * 37
type Fields = (id: number) => Readonly<Record<string, unknown>>

/** Thirty evaluations, read once by `before`, and then those from `from` on and as many new ones by `after`. */
function readings(before: Fields, after: Fields, from = 20): Reading[] {
  const at = (id: number, fields: Fields): Reading => ({
    id,
    record: { EvalID: id, UpdatedAt: '2026-03-01T10:00:00Z', VIN: `V${id}`, ...fields(id) },
  })
  const numbers = (least: number, count: number) =>
    Array.from({ length: count }, (_, index) => 1_000_000 + least + index)
  return [
    ...numbers(0, 30).map((id) => at(id, before)),
    ...numbers(from, 50 - from).map((id) => at(id, after)),
  ]
}

function found(all: readonly Reading[]) {
  const settings = { [setting]: defaultWire.appraisal.evaluation.odometer }
  return findMoved(all, settings, defaultWire.appraisal).map(({ paths, evidence, records }) => ({
    paths: [...paths],
    evidence,
    records: records.length,
  }))
}

const asSet: Fields = (id) => ({ [path!]: km(id) })
const gone = 'in none of the newest 30 answers, in 30 of 30 before'

test('a field that moved is found by evaluations that were read before and after', () => {
  expect(found(readings(asSet, (id) => ({ Usage: { Distance: km(id) } })))).toEqual([
    {
      paths: ['Usage.Distance'],
      evidence: `${gone}; 10 of 10 equal to what the same evaluation had there before`,
      records: 10,
    },
  ])
})

test.for<[string, Fields, Fields, readonly string[]]>([
  ['only vanished', asSet, () => ({ Other: 1 }), []],
  [
    'vanished, and a field had the same value before',
    (id) => ({ [path!]: km(id), Copy: km(id) }),
    (id) => ({ Copy: km(id) }),
    [],
  ],
  [
    'at two paths now',
    asSet,
    (id) => ({ Distance: km(id), Metres: km(id) }),
    ['Distance', 'Metres'],
  ],
  [
    'another value now, of an update meanwhile',
    asSet,
    (id) => ({ Distance: km(id) + 5, UpdatedAt: '2026-03-02T10:00:00Z' }),
    [],
  ],
  [
    'the same value in an evaluation that was updated meanwhile',
    asSet,
    (id) => ({ Distance: km(id), UpdatedAt: '2026-03-02T10:00:00Z' }),
    [],
  ],
  ['another value in the same evaluation', asSet, (id) => ({ Distance: km(id) + 5 }), []],
])('a field that is %s is not reported at one path', ([, before, after, paths]) => {
  expect(found(readings(before, after))).toEqual([{ paths, evidence: gone, records: 10 }])
})

test('a field that some answers have still, that was rare, or that few answers are without has not moved', () => {
  const moved: Fields = (id) => ({ Distance: km(id) })
  const rare: Fields = (id) => (id % 4 === 0 ? {} : asSet(id))

  expect(found(readings(asSet, (id) => (id % 9 === 0 ? asSet(id) : moved(id))))).toEqual([])
  expect(found(readings(rare, moved))).toEqual([])
  expect(found(readings(asSet, moved, 31))).toEqual([])
  expect(found(readings(asSet, asSet))).toEqual([])
  expect(found(readings(asSet, moved).slice(11))).toEqual([])
})
