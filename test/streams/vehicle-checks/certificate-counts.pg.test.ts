import { expect, test } from 'vitest'
import { readCounts } from '#src/streams/vehicle-checks/certificate-counts.ts'
import type { JsonPath } from '#src/values/json-path.ts'
import { defaultWire } from '#src/values/wire.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'

const wire = defaultWire.appraisal
const ref = '70001'

/** Rooftops 1 and 2 of one dealer group, 3 of another. */
async function openGroups(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  await database.pool.query(`
    insert into core.rooftop_group (group_id, group_code) overriding system value values (1, 'north'), (2, 'south');
    insert into core.rooftop
      (rooftop_id, rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
      overriding system value
      select id, 'rooftop-' || id, 1 + id / 3, 'Rooftop', 'AU', 'Australia/Sydney', 'AUD', 'km' from generate_series(1, 3) as id`)
  return database
}

/** A search that was paid for, with its answer. */
async function pay(
  { pool }: TestDatabase,
  rooftopId: number,
  evalId: string,
  { checkRef = ref, ...body }: Record<string, unknown>,
): Promise<void> {
  await pool.query(
    `insert into ops.billable_call (operation, budget, rooftop_id, natural_key, day, state, requested_by, check_ref)
     values ('ppsrsearch', 'ppsrSearch', $1, $2, '2026-03-10', 'committed', 'tester@here', $3)`,
    [rooftopId, evalId, checkRef],
  )
  await pool.query(
    `insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
     values ($1, 'ppsrsearch', $2, clock_timestamp(), '\\x00', $3, 1)`,
    [rooftopId, evalId, JSON.stringify(body)],
  )
}

/** The counts of the search in each of the two groups. */
async function counts({ pool }: TestDatabase): Promise<unknown[]> {
  const read = async (groupId: number) =>
    (await readCounts(openDb(pool), groupId, [ref], wire)).get(ref)
  return [await read(1), await read(2)]
}

const firstOf = (path: JsonPath) => [path].flat()[0]!
const { ppsrCertificate } = wire
const names = {
  id: firstOf(ppsrCertificate.id),
  interests: firstOf(ppsrCertificate.securityInterests),
  certificate: firstOf(ppsrCertificate.certificateNumber),
}

test('a search that was paid for under another evaluation and rooftop of the group gets its counts', async () => {
  await using database = await openGroups()
  await pay(database, 2, '1002', {
    [names.id]: 70001,
    [names.interests]: 2,
    [names.certificate]: 'C-1',
  })
  await pay(database, 2, '1002', { checkRef: '70002', [names.id]: 70002, [names.interests]: 5 })

  expect(await counts(database)).toEqual([
    { security_interest_count: 2, certificate_number: 'C-1' },
    undefined,
  ])
})

test('the same ref of another dealer group is another search', async () => {
  await using database = await openGroups()
  await pay(database, 3, '1001', { [names.id]: 70001, [names.interests]: 2 })

  expect(await counts(database)).toEqual([undefined, { security_interest_count: 2 }])
})

test.each([
  ['the only one', [{ [names.interests]: 2 }], { security_interest_count: 2 }],
  [
    'one of two',
    [{ [names.interests]: 2 }, { checkRef: '70002', [names.interests]: 5 }],
    undefined,
  ],
])('an answer without an id is that of the search where it is %s', async (_, answers, count) => {
  await using database = await openGroups()
  for (const answer of answers) await pay(database, 1, '1001', answer)

  expect((await counts(database))[0]).toEqual(count)
})
