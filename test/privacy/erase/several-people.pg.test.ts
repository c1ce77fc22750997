import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { anEvaluation } from '../../support/build-world.ts'
import { dumpOf, linesWith } from './dump.ts'
import { byPhone, eraseIn, jane, janesTexts, openJanesFixture } from './erase-fixture.ts'

const createdAt = '2026-03-02T01:00:00Z'
const bob = { ...jane, name: 'Bob Citizen', email: 'bob@example.org' }

async function openFamilysFixture() {
  const fixture = await openJanesFixture(
    [
      anEvaluation({ evalId: 1, createdAt, customer: jane }),
      anEvaluation({ evalId: 2, createdAt, customer: { ...jane, name: 'Citizen, Jane Ann' } }),
      anEvaluation({ evalId: 3, createdAt, customer: bob }),
      anEvaluation({ evalId: 4, createdAt, customer: { ...jane, name: 'J. C.', email: null } }),
    ],
    [evaluations],
  )
  await fixture.night()
  return fixture
}

test('a phone of several people is refused: a dry run shows each person', async () => {
  await using fixture = await openFamilysFixture()
  const { pool } = fixture.database
  const ofWarehouse = async () =>
    (await dumpOf(pool)).filter((line) => !/^(pgboss|ops\.rate_member)\b/.test(line))
  const before = await ofWarehouse()

  await expect(eraseIn(fixture, byPhone)).rejects.toThrow(
    /^The phone \*\*\*78 belongs to 2 people with different names, e\.g\. in 1 \([^)]+\), 3 \([^)]+\): nothing was erased\. .*--eval <id>, or all with --all-people\.$/,
  )
  const dry = await eraseIn(fixture, byPhone, true)

  expect(dry.people.map((one) => one.map(({ evalId }) => evalId))).toEqual([[1, 2, 4], [3]])
  expect(dry.matched).toBe(4)
  expect(await ofWarehouse()).toEqual(before)
})

test('with --all-people, all of them are erased', async () => {
  await using fixture = await openFamilysFixture()

  const receipt = await eraseIn(fixture, byPhone, false, true)

  expect(receipt.evaluations.map(({ evalId }) => evalId)).toEqual([1, 2, 3, 4])
  expect(
    linesWith(await dumpOf(fixture.database.pool), [...janesTexts, 'bob@example.org']),
  ).toEqual([])
})
