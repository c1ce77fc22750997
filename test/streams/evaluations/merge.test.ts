import { expect, test } from 'vitest'
import { mergeEvaluation } from '#src/streams/evaluations/merge.ts'
import type { MergeResult } from '#src/sync/windows/windowed-records.ts'
import type { Row, RowSet } from '#src/values/record.ts'
import { goldenRecord, sydneyRooftop } from '../../support/golden-evaluation.ts'

const fetchedAt = new Date('2026-03-06T02:00:00Z')
const origin = { fetchedAt, runId: 1, listedIn: null }
const links = { user_id: 5 }

/** Merges the golden record with these changes into what is stored. */
function merge(
  stored: RowSet | null,
  changes: Readonly<Record<string, unknown>> = {},
  at = fetchedAt,
): MergeResult {
  return mergeEvaluation(stored, goldenRecord(changes), links, sydneyRooftop, {
    ...origin,
    fetchedAt: at,
  })
}

/** The rows after a chain of states of the record, one after the other. */
function after(...states: Readonly<Record<string, unknown>>[]): RowSet {
  let stored: RowSet = {}
  for (const [index, changes] of states.entries()) {
    const at = new Date(fetchedAt.getTime() + index * 86_400_000)
    const merged = merge(index === 0 ? null : stored, changes, at)
    stored = { ...stored, ...merged.rows }
  }
  return stored
}

const evaluation = (rows: RowSet | undefined): Row => rows!['core.evaluation']![0]!
const versions = (rows: RowSet) => rows['core.evaluation_version']!
const later = (day: number) => ({ UpdatedAt: `2026-04-0${day}T00:00:00Z` })

test('the first record is version 1, with all its children', () => {
  const { outcome, rows } = merge(null)

  expect(outcome).toBe('inserted')
  expect(evaluation(rows)).toMatchObject({ version_no: 1, gone_at: null, user_id: 5, group_id: 3 })
  const sizes = Object.entries(rows!).map(([table, entries]) => [table, entries.length])
  expect(Object.fromEntries(sizes)).toEqual({
    'core.evaluation': 1,
    'core.evaluation_version': 1,
    'core.reconditioning_item': 3,
    'core.photo': 2,
    'core.custom_field_value': 4,
    'core.user_price': 3,
    'pii.evaluation_customer': 1,
  })
})

test('the same record again writes nothing', () => {
  expect(merge(after({}))).toEqual({ outcome: 'unchanged' })
})

test('an older record never wins', () => {
  const stored = after({}, { ...later(2), FinalPrice: 2 })

  expect(merge(stored, { ...later(1), FinalPrice: 1 })).toEqual({ outcome: 'stale' })
})

test('of two records with the same UpdatedAt the one that is read later wins', () => {
  const { outcome, rows } = merge(after({}), { FinalPrice: 1 })

  expect(outcome).toBe('updated')
  expect(evaluation(rows)).toMatchObject({ final_price: '1.000', version_no: 2 })
})

test('a new UpdatedAt without new content is stored and makes no version', () => {
  const { outcome, rows } = merge(after({}), later(1))

  expect(outcome).toBe('updated')
  expect(Object.keys(rows!)).toEqual(['core.evaluation'])
  expect(evaluation(rows)).toMatchObject({
    version_no: 1,
    source_updated_at: new Date(later(1).UpdatedAt),
    last_changed_at: fetchedAt,
  })
})

test('a record that was gone comes back without a new version, even if it is older than the stored one', () => {
  const stored = after({}, { ...later(2), FinalPrice: 2 })
  const gone = { ...stored, 'core.evaluation': [{ ...evaluation(stored), gone_at: fetchedAt }] }

  const same = merge(gone, { ...later(2), FinalPrice: 2 })
  const older = merge(gone, { ...later(1), FinalPrice: 1 })

  const back = {
    gone_at: null,
    version_no: 2,
    final_price: '2.000',
    source_updated_at: new Date(later(2).UpdatedAt),
  }
  expect(evaluation(same.rows)).toMatchObject(back)
  expect(evaluation(older.rows)).toMatchObject(back)
})

test('versions follow each other without a gap, and name what changed', () => {
  const rows = after(
    {},
    { ...later(1), FinalPrice: 1 },
    { ...later(2), FinalPrice: 1, Notes: 'new', Photos: [] },
  )

  const updated = ['2026-03-05T01:02:03.456Z', later(1).UpdatedAt, later(2).UpdatedAt].map(
    (at) => new Date(at),
  )
  const seen = versions(rows).map((v) => [
    v['version_no'],
    v['valid_from'],
    v['valid_to'],
    v['changed_fields'],
  ])
  expect(seen).toEqual([
    [1, updated[0], updated[1], []],
    [2, updated[1], updated[2], ['final_price']],
    [3, updated[2], null, ['photo_count', 'hero_source', 'photos', 'customer']],
  ])
})

test('an edit without a new UpdatedAt ends no version before it began', () => {
  const rows = after({}, { FinalPrice: 1 })

  for (const { valid_from, valid_to } of versions(rows) as {
    valid_from: Date
    valid_to: Date | null
  }[])
    expect((valid_to ?? valid_from) >= valid_from).toBe(true)
})

test('reconditioning lines are valid for a range of versions', () => {
  const lines = [{ type: 'glass', source: null, cost: 90, value: null }]

  const rows = after(
    {},
    { ...later(1), FinalPrice: 1 },
    { ...later(2), FinalPrice: 1, reconditioning_list: lines },
  )

  const ranges = rows['core.reconditioning_item']!.map((line) => [
    line['recon_type'],
    line['first_version'],
    line['last_version'],
  ])
  expect(ranges).toEqual([
    ['tyres', 1, 2],
    ['detail', 1, 2],
    ['info', 1, 2],
    ['glass', 3, null],
  ])
})

test('a removed photo keeps its row with the time, and one that comes back has no such time', () => {
  const hero = [{ id: 91, order: 1, hero: true, heroSource: 'manual', angle: null }]

  const without = after({}, { ...later(1), Photos: hero })
  const again = after({}, { ...later(1), Photos: hero }, later(2))

  const removedAt = (rows: RowSet) =>
    Object.fromEntries(rows['core.photo']!.map((photo) => [photo['photo_id'], photo['removed_at']]))
  expect(removedAt(without)).toEqual({ 91: null, 92: new Date('2026-03-07T02:00:00Z') })
  expect(removedAt(again)).toEqual({ 91: null, 92: null })
  expect(again['core.photo']!.map(({ first_seen_at }) => first_seen_at)).toEqual([
    fetchedAt,
    fetchedAt,
  ])
})

test('where EntryDate and the list disagree, the record belongs to the window that listed it', () => {
  const from = Date.parse('2026-03-02T00:00:00Z') / 1000
  const listedIn = (start: number) => ({
    ...origin,
    listedIn: { from: start, until: start + 86_400, open: false },
  })

  const fits = mergeEvaluation(null, goldenRecord(), links, sydneyRooftop, listedIn(from))
  const differs = mergeEvaluation(
    null,
    goldenRecord(),
    links,
    sydneyRooftop,
    listedIn(from + 86_400),
  )

  expect(evaluation(fits.rows)['entry_at']).toEqual(new Date('2026-03-02T13:59:58Z'))
  expect(evaluation(differs.rows)['entry_at']).toEqual(new Date('2026-03-03T00:00:00Z'))
})
