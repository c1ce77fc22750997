import { expect, test } from 'vitest'
import { aKey, anEvaluation, aRooftop, aUser, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { unicodeTestDatabase } from '../../support/postgres.ts'

const now = new Date('2026-03-10T02:00:00Z')

// JavaScript and Postgres disagree on the lower case of a sigma at the end of a word.
const spellings = {
  sigma: ['ΑΣ@example.com', 'ασ@example.com'],
  plain: ['Kim@Example.com', 'kim@example.com'],
} as const

for (const [name, [first, second]] of Object.entries(spellings))
  for (const [stored, named] of someOf(
    [
      [first, second],
      [second, first],
    ],
    1,
  ))
    test(`a salesperson with ${name} is found again, in lists and evaluations, spelled ${named} after ${stored}`, async () => {
      const rooftops = ['one', 'two', 'three'].map((uid, index) =>
        aRooftop({ uid, dealerId: 101 + index, groupId: uid === 'three' ? 'other' : 'group-1' }),
      )
      const world = worldOf({
        rooftops,
        evaluations: rooftops.flatMap(({ uid }, index) =>
          [0, 1].map((offset) =>
            anEvaluation({
              ...{ evalId: 1001 + 10 * index + offset, rooftopUid: uid },
              createdAt: new Date(now.getTime() - 86_400_000 * (1 + offset)),
              userId: 10 * (index + 1) + offset,
            }),
          ),
        ),
        users: rooftops.flatMap(({ uid, groupId }, index) =>
          [stored, named].map((email, offset) =>
            aUser({
              ...{ groupId, rooftopUid: uid, email: email! },
              userId: 10 * (index + 1) + offset,
            }),
          ),
        ),
        keys: [
          aKey({ name: 'first', value: 'first', rooftopUids: ['one', 'two'] }),
          aKey({ name: 'second', value: 'second', rooftopUids: ['three'] }),
        ],
      })
      await using fixture = await openChildFixture({
        sandbox: { world, now },
        sync: { start: '2026-03-01' },
      })
      await using database = await unicodeTestDatabase()
      await using warehouse = await fixture.warehouse(database)
      const { pool } = database

      const statuses = [(await warehouse.night()).status]
      fixture.sandbox.clock.advance(86_400_000)
      statuses.push((await warehouse.night()).status)

      expect(statuses).toEqual(['ok', 'ok'])
      const { rows } = await pool.query('select natural_key, issues from ops.quarantine')
      expect(rows).toEqual([])
      const people = await pool.query(
        `select count(distinct user_id)::int as people, count(*)::int as evaluations from core.evaluation group by group_id order by group_id`,
      )
      expect(people.rows).toEqual([
        { people: 1, evaluations: 4 },
        { people: 1, evaluations: 2 },
      ])
      expect(await warehouse.json(['verify', '--rows'])).toMatchObject({
        code: 0,
        document: { rows: { differing: 0 } },
      })
    })
