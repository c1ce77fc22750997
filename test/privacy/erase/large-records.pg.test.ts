import { expect, test } from 'vitest'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import type { EvaluationRecord } from '#src/streams/evaluations/normalise.ts'
import { users } from '#src/streams/users/users.ts'
import { bindSlice, type Stream } from '#src/sync/run/stream.ts'
import { readWindows } from '#src/sync/windows/windowed-slice.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { caseCount, someOf } from '../../support/cases.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'
import { byEval, eraseIn, jane, now } from './erase-fixture.ts'

// The texts of a write are compared with the erased contacts by digests, a few microseconds each. A text of numbers has several for
// each of them, and Postgres ends a session that is silent within its transaction.

const idleLimitMs = 3000

/** Numbers of no one, with ten candidates for each. */
const numbers = (length: number) => '0498 700 001 '.repeat(Math.ceil(length / 13)).slice(0, length)
const later = { createdAt: '2026-03-09T09:00:00Z', completedAt: '2026-03-09T09:10:00Z' }
const other = (evalId: number, draft: Partial<Parameters<typeof anEvaluation>[0]> = {}) =>
  anEvaluation({ evalId, ...later, ...draft })
const healthy = [other(2), other(3)]

/** A warehouse that erased the customer of evaluation 1, and then reads `more` with sessions that may be silent for `limitMs`. */
async function readAfterErasure(
  more: readonly Evaluation[],
  { poison = [] as readonly number[], streams = undefined as readonly Stream[] | undefined } = {},
  limitMs = idleLimitMs,
) {
  const first = anEvaluation({ evalId: 1, createdAt: '2026-03-02T01:00:00Z', customer: jane })
  const fixture = await openFixture({
    sandbox: { world: worldOf({ evaluations: [first, ...more] }), now },
    sync: { start: '2026-03-01' },
    ...(streams && { streams }),
  })
  const { pool } = fixture.context
  for (const id of poison) fixture.sandbox.world.poison(id, { UpdatedAt: 'never' })
  const pause = new Date('2026-03-05T00:00:00Z').getTime() - now.getTime()
  fixture.sandbox.clock.advance(pause)
  await fixture.night()
  await eraseIn(fixture, byEval(1))
  fixture.sandbox.clock.advance(-pause)
  pool.on('acquire', (client) => {
    void client.query(`set idle_in_transaction_session_timeout = ${limitMs}`)
  })
  return fixture
}

const stored = async (fixture: Fixture) =>
  (
    await rowsOf<{ id: number }>(
      fixture,
      'select eval_id::int as id from core.evaluation order by 1',
    )
  ).map(({ id }) => id)
const quarantined = async (fixture: Fixture) =>
  await rowsOf<{ key: string; message: string; payload: string }>(
    fixture,
    `select natural_key as key, issues -> 0 ->> 'message' as message, payload from ops.quarantine
     where resolved_at is null order by natural_key::bigint`,
  )

const tooMany = { message: expect.stringMatching(/^has .* too many to /), payload: '[erased]' }

test('a record with megabytes of numbers is quarantined alone, and the others are loaded', {
  tags: 'ci',
  timeout: 90_000,
}, async () => {
  const large = other(4, { extra: { Spare: numbers(4_000_000) } })
  await using fixture = await readAfterErasure([...healthy, large])

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(await stored(fixture)).toEqual([1, 2, 3])
  expect(await quarantined(fixture)).toEqual([{ key: '4', ...tooMany }])
})

test('megabytes of numbers in many records are loaded', {
  tags: 'ci',
  timeout: 90_000,
}, async () => {
  const many = Array.from({ length: caseCount(16, 4) }, (_, at) =>
    other(100 + at, { extra: { Spare: numbers(60_000) } }),
  )
  await using fixture = await readAfterErasure([...healthy, ...many])

  const report = await fixture.night()

  expect(report.status).toBe('ok')
  expect(await stored(fixture)).toHaveLength(3 + many.length)
})

test.each(
  someOf(
    [
      ['of the erased customer', { customer: jane }, []],
      ['that names the erased customer', { notes: `Ask ${jane.phone}` }, []],
      ['of the erased customer, with invalid fields', { customer: jane }, [4, 5]],
    ] as const,
    1,
  ),
)(
  'large records %s are quarantined without their payload',
  { timeout: 90_000 },
  async (_, draft, poison) => {
    const words = 'Jane rang about the car '.repeat(100_000)
    await using fixture = await readAfterErasure(
      [
        ...healthy,
        other(4, { ...draft, extra: { Spare: numbers(4_000_000) } }),
        other(5, { ...draft, extra: { Spare: words } }),
      ],
      { poison },
    )

    const report = await fixture.night()

    expect(report.status).toBe('partial')
    expect(await stored(fixture)).toEqual([1, 2, 3])
    expect(await quarantined(fixture)).toMatchObject([
      { key: '4', ...tooMany },
      { key: '5', ...tooMany },
    ])
  },
)

test('a record that keeps the process busy for longer than a session may be silent is quarantined alone', {
  tags: 'ci',
  timeout: 90_000,
}, async () => {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const records: typeof evaluationRecords = {
    ...evaluationRecords,
    warnings: (record) => {
      if ((record as EvaluationRecord).evalId === 4) Atomics.wait(cell, 0, 0, 1500)
      return evaluationRecords.warnings(record)
    },
  }
  const slices = { ...evaluations.slices, sync: bindSlice(records, readWindows) }
  const slow: Stream = { ...evaluations, records, slices }
  await using fixture = await readAfterErasure(
    [...healthy, other(4)],
    { streams: [users, slow] },
    700,
  )

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(await stored(fixture)).toEqual([1, 2, 3])
  expect(await quarantined(fixture)).toMatchObject([
    { key: '4', message: expect.stringContaining('takes too long to process') },
  ])
})
