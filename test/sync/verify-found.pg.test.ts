import { expect, test } from 'vitest'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { type Difference, saveFound } from '#src/sync/verify/verify-round.ts'
import { openFixture } from '../support/fixture.ts'

test('what differs is stored again in the time that it took at first, and what is equal now is forgotten', async () => {
  const sandbox = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 1, evaluations: 5, days: 2 }
  await using fixture = await openFixture({ sandbox })
  await fixture.night()
  const { db, pool, config } = fixture.context
  const [rooftop] = await findRooftops(db, config.rooftops)
  const found = Array.from({ length: 20_000 }, (_, at): Difference => {
    return { kind: 'duplicates', record: String(1000 + at), difference: 'stored under two' }
  })
  const keys = found.map(({ record }) => record)
  const seconds = async (some: readonly Difference[]) => {
    const from = performance.now()
    const slice = { stream: 'evaluations', kind: 'records', rooftop: rooftop!, keys } as const
    await saveFound(db, { ...slice, found: some })
    return (performance.now() - from) / 1000
  }

  const first = await seconds(found)
  const again = await seconds(found.slice(1))
  const { rows } = await pool.query<{ n: number; least: string }>(
    'select count(*)::int as n, min(record_key) as least from ops.value_difference',
  )

  expect(rows).toEqual([{ n: 19_999, least: '10000' }])
  // Where each stored row was compared with each key, it took 28 times as long.
  expect(again).toBeLessThan(4 * first + 1)
})
