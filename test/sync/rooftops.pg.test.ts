import type { KyselyPlugin } from 'kysely'
import { expect, test } from 'vitest'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { openFixture } from '../support/fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')

/** Counts the statements of a connection. */
class Counter implements KyselyPlugin {
  count = 0

  transformQuery({ node }: Parameters<KyselyPlugin['transformQuery']>[0]) {
    this.count++
    return node
  }

  async transformResult({ result }: Parameters<KyselyPlugin['transformResult']>[0]) {
    return result
  }
}

test('any number of unchanged rooftops costs one statement', async () => {
  await using fixture = await openFixture({ sandbox: { now, rooftops: 6, evaluations: 1 } })
  const { db } = fixture.context
  const { rooftops } = fixture.config
  const first = await registerRooftops(db, rooftops)
  const counter = new Counter()

  const again = await registerRooftops(db.withPlugin(counter), rooftops)

  expect(counter.count).toBe(1)
  expect(again).toEqual(first)
  expect(new Set(again.map(({ id }) => id)).size).toBe(6)
})

test('a rooftop that differs is written, and the others are not', async () => {
  await using fixture = await openFixture({ sandbox: { now, rooftops: 3, evaluations: 1 } })
  const { db, pool } = fixture.context
  const { rooftops } = fixture.config
  const first = await registerRooftops(db, rooftops)
  const storedRows = async () =>
    (
      await pool.query<{ name: string; code: string; version: string }>(
        `select rooftop_name as name, group_code as code, core.rooftop.xmin::text as version
         from core.rooftop join core.rooftop_group using (group_id) order by rooftop_id`,
      )
    ).rows
  const before = await storedRows()
  const changed = rooftops.map((rooftop, index) =>
    index === 1 ? { ...rooftop, name: 'Renamed', group: 'another-group' } : rooftop,
  )

  const moved = await registerRooftops(db, changed)

  const after = await storedRows()
  expect(after[1]).toMatchObject({ name: 'Renamed', code: 'another-group' })
  expect([after[0], after[2]]).toEqual([before[0], before[2]])
  expect(moved.map(({ id }) => id)).toEqual(first.map(({ id }) => id))
  expect(moved[1]!.groupId).not.toBe(first[1]!.groupId)
})
