import { expect, test } from 'vitest'
import {
  columnProblems,
  missingVersions,
  parseSnapshot,
  type Snapshot,
  snapshotText,
} from '../../support/marts-columns.ts'

const committed: Snapshot = {
  version: '1.4.2',
  lines: ['fact_photo angle character varying(120)', 'fact_photo photo_id bigint'],
}
const none = () => null

function changed(version: string, lines: readonly string[]): Snapshot {
  return { version, lines }
}

test('the same columns are no problem, whatever the patch number', () => {
  expect(columnProblems(committed, changed('1.4.3', committed.lines), none)).toEqual([])
})

test.each([
  ['a removed column', [committed.lines[0]!]],
  ['a renamed column', [committed.lines[0]!, 'fact_photo photo_no bigint']],
  ['another type', [committed.lines[0]!, 'fact_photo photo_id integer']],
])('%s is a problem under the same major version', (_, lines) => {
  for (const version of ['1.4.2', '1.5.0']) {
    const [problem] = columnProblems(committed, changed(version, lines), none)

    expect(problem).toContain('fact_photo photo_id bigint')
    expect(problem).toContain('sql/marts_v1')
  }
})

test('a removed column under another major version needs the old schema beside', () => {
  const today = changed('2.0.0', [committed.lines[0]!])

  expect(columnProblems(committed, today, none).join()).toContain('mart_v1 lacks fact_photo angle')
  expect(columnProblems(committed, today, () => [committed.lines[0]!]).join()).toContain(
    'mart_v1 lacks fact_photo photo_id bigint',
  )
  expect(
    columnProblems(committed, today, (major) => (major === 1 ? committed.lines : null)),
  ).toEqual([])
})

test('an earlier version that was promised to stay has to be there with all its columns', () => {
  const promised = new Map([[1, committed]])

  expect(missingVersions(promised, none).join()).toContain('mart_v1 lacks fact_photo angle')
  expect(missingVersions(promised, () => [committed.lines[1]!]).join()).toContain(
    'fact_photo angle',
  )
  expect(missingVersions(promised, (major) => (major === 1 ? committed.lines : null))).toEqual([])
})

test('an added column needs another minor version', () => {
  const lines = [...committed.lines, 'fact_photo is_hero boolean']

  expect(columnProblems(committed, changed('1.4.9', lines), none).join()).toContain(
    'is_hero boolean',
  )
  expect(columnProblems(committed, changed('1.5.0', lines), none)).toEqual([])
})

test('a version that goes back is a problem', () => {
  expect(columnProblems(committed, changed('1.3.0', committed.lines), none)).toHaveLength(1)
  expect(columnProblems(committed, changed('0.9.0', committed.lines), none)).toHaveLength(1)
})

test('a snapshot is read as it was written', () => {
  expect(parseSnapshot(snapshotText(committed))).toEqual(committed)
})
