import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { factChanges, type SmallEvaluation } from '../../support/aggregates.ts'
import { applyChange } from '../../support/aggregates-apply.ts'
import { storedRows } from '../../support/aggregates-counted.ts'
import {
  allCounted,
  allStored,
  changeAll,
  differences,
  inSession,
  isWaiting,
  performAll,
  repeatDifferences,
  rowPositions,
  sampleEvaluation,
  sampleLine,
  writeFacts,
} from '../../support/aggregates-fixture.ts'
import { caseCount } from '../../support/cases.ts'
import { isClockShifted } from '../../support/clock-shift.ts'
import { openFixture } from '../../support/fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const numRuns = Number(process.env['FORECOURT_WORLDS'] ?? caseCount(40, 10))
const seed = process.env['FORECOURT_SEED']

test('all sums follow any change of the facts, also by two processes at once', async () => {
  const transactions = fc.array(
    fc.record({
      changes: fc.array(factChanges, { minLength: 1, maxLength: 5 }),
      ends: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
    }),
    { maxLength: 4 },
  )
  await using database = await createTestDatabase()

  await fc.assert(
    fc.asyncProperty(transactions, transactions, async (ours, theirs) => {
      await changeAll(database.pool, (client) =>
        client.query(
          'truncate core.evaluation, core.reconditioning_item, core.price_observation, ops.enrichment_state',
        ),
      )

      await Promise.all([ours, theirs].map((chain) => performAll(database.pool, chain)))

      expect(await allStored(database.pool)).toEqual(await allCounted(database.pool))
      expect(await differences(database.pool)).toEqual([])
      expect(await repeatDifferences(database.pool)).toEqual([])
    }),
    { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  )
}, 240_000)

test.skipIf(isClockShifted)(
  'two loads of a dealer group wait for each other only where they touch the same day',
  async () => {
    await using database = await createTestDatabase()
    const { pool } = database
    const load = (evaluation: SmallEvaluation) =>
      inSession(pool, async (client) => {
        await client.query("begin; set local lock_timeout = '100ms'")
        await applyChange(client, { does: 'insert', evaluation, lines: [sampleLine] })
        await client.query('commit')
      })
    const open = await pool.connect()
    await open.query('begin')
    await applyChange(open, { does: 'insert', evaluation: sampleEvaluation, lines: [] })

    const other = { ...sampleEvaluation, id: 2, vin: 'WBA00000000000000' }
    await load({ ...other, day: '2026-02-01' })
    await load({ ...other, id: 3, rooftop: 2 })
    await expect(load({ ...other, id: 4 })).rejects.toThrow('lock timeout')
    await load({ ...sampleEvaluation, id: 5, rooftop: 2 })

    await open.query('commit')
    open.release()
    await load({ ...other, id: 4 })
    expect(await allStored(pool)).toEqual(await allCounted(pool))
    expect((await storedRows(pool, 'agg_evaluation_day')).map((row) => row.split(' ')[4])).toEqual([
      ...['2', '1', '2'],
    ])
  },
)

test('a price that is written while its evaluation changes is counted where the evaluation is then', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await writeFacts(database, [sampleEvaluation], [sampleLine])
  const first = await pool.connect()
  await first.query('begin')
  await applyChange(first, {
    does: 'ask',
    asking: { rooftop: 1, id: 1, outcome: 'price', day: 1 },
  })
  const moved = changeAll(pool, (client) =>
    client.query("update core.evaluation set completed_date_local = '2026-02-01'"),
  )
  while (!(await isWaiting(pool))) await sleep(5)

  await first.query('commit')
  first.release()
  await moved

  expect(await allStored(pool)).toEqual(await allCounted(pool))
  expect(await differences(pool)).toEqual([])
  expect((await storedRows(pool, 'agg_pricing_day'))[0]).toMatch(/^1 2026-02-01 1 1 /)
})

test('columns that are not counted change without a write', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation], [sampleLine])
  const before = await rowPositions(database.pool)

  await changeAll(database.pool, (client) =>
    client.query(
      "update core.evaluation set entry_at = now(), colour = 'red', source_updated_at = now()",
    ),
  )

  expect(await rowPositions(database.pool)).toEqual(before)
})

test('replacing an evaluation by itself does not change the other days', async () => {
  await using database = await createTestDatabase()
  const other = { ...sampleEvaluation, id: 2, day: '2026-02-01' }
  await writeFacts(database, [sampleEvaluation, other], [sampleLine, { ...sampleLine, id: 2 }])
  const before = await rowPositions(database.pool, "where completed_date_local = '2026-02-01'")

  await inSession(database.pool, (client) =>
    applyChange(client, { does: 'reload', evaluation: sampleEvaluation, lines: [sampleLine] }),
  )

  expect(await rowPositions(database.pool, "where completed_date_local = '2026-02-01'")).toEqual(
    before,
  )
  expect(await differences(database.pool)).toEqual([])
})

test('the differences name the falsified days of the given rooftop', async () => {
  await using database = await createTestDatabase()
  await writeFacts(
    database,
    [sampleEvaluation, { ...sampleEvaluation, id: 2, rooftop: 2 }],
    [sampleLine],
  )

  await database.pool.query('update core.agg_evaluation_day set value_sum = value_sum + 0.001')
  await database.pool.query('delete from core.agg_recon_day')
  await database.pool.query('update core.agg_appraisal set gap_share = 0')
  await database.pool.query('update core.agg_appraisal set photo_count = -1 where rooftop_id = 1')

  const day = { completed_date_local: '2026-01-31' }
  expect(await differences(database.pool)).toEqual([
    { aggregate: 'agg_appraisal', rooftop_id: 1, ...day },
    { aggregate: 'agg_appraisal', rooftop_id: 2, ...day },
    { aggregate: 'agg_evaluation_day', rooftop_id: 1, ...day },
    { aggregate: 'agg_evaluation_day', rooftop_id: 2, ...day },
    { aggregate: 'agg_recon_day', rooftop_id: 1, ...day },
  ])
  expect(await differences(database.pool, 2)).toEqual([
    { aggregate: 'agg_appraisal', rooftop_id: 2, ...day },
    { aggregate: 'agg_evaluation_day', rooftop_id: 2, ...day },
  ])

  await database.pool.query(
    'select core.agg_rebuild(rooftop) from generate_series(1, 2) as rooftop',
  )

  expect(await differences(database.pool)).toEqual([])
  expect(await allStored(database.pool)).toEqual(await allCounted(database.pool))
})

/** What changes facts or sums, while triggers are off. */
const falsifications = [
  'update core.evaluation set final_price = 77',
  "update core.evaluation set completed_date_local = completed_date_local + interval '1 month'",
  'update core.evaluation set rooftop_id = 3 - rooftop_id',
  'update core.evaluation set gone_at = now()',
  ...[
    'core.evaluation',
    'core.reconditioning_item',
    'core.price_observation',
    'ops.enrichment_state',
  ].map((table) => `delete from ${table}`),
  'update core.reconditioning_item set cost = 77',
  'update core.price_observation set wholesale = 77',
  "update ops.enrichment_state set outcome = 'failed'",
  "update core.agg_appraisal set month_start = month_start + interval '1 month'",
  'update core.agg_appraisal set rooftop_id = 3 - rooftop_id',
  'update core.agg_appraisal set recon_total = 77',
  'delete from core.agg_appraisal',
]
const falsifiedDays = [
  "update core.agg_evaluation_day set completed_date_local = completed_date_local + interval '1 month'",
  ...['evaluation', 'recon', 'pricing'].map((name) => `delete from core.agg_${name}_day`),
  'update core.agg_recon_day set first_cost = 77',
  'update core.agg_pricing_day set failed = 77',
]

test('the months that are found in one pass are those that differ, whatever was falsified', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const changes = fc.array(factChanges, { minLength: 32, maxLength: 40 })
  const some = fc.integer({ min: 1, max: 3 })
  const falsified = fc.array(
    fc.oneof(
      fc
        .tuple(fc.constantFrom(...falsifications), some)
        .map(([does, n]) => `${does} where eval_id % ${n} = 0`),
      fc
        .tuple(fc.constantFrom(...falsifiedDays), some)
        .map(([does, n]) => `${does} where extract(day from completed_date_local) % ${n} = 0`),
    ),
    { minLength: 2, maxLength: 5 },
  )
  let found = 0

  await fc.assert(
    fc.asyncProperty(changes, falsified, async (facts, statements) => {
      await changeAll(pool, (client) =>
        client.query(
          'truncate core.evaluation, core.reconditioning_item, core.price_observation, ops.enrichment_state',
        ),
      )
      await performAll(pool, [{ changes: facts, ends: 'commit' }])
      await inSession(pool, async (client) => {
        await client.query('set session_replication_role = replica')
        // Some write a row that is there already.
        for (const statement of statements) await client.query(statement).catch(() => {})
        await client.query('set session_replication_role = origin')
      })
      const all = await pool.query(
        'select at, d::text from generate_series(1, 2) as at cross join lateral core.agg_differences(at) as d order by 1, 2',
      )
      const inOnePass = await pool.query(
        `select s.rooftop_id as at, d::text
         from core.agg_suspects(array[1, 2]) as s cross join lateral core.agg_differences(s.rooftop_id, array[s.month_start]) as d
         order by 1, 2`,
      )
      expect(inOnePass.rows).toEqual(all.rows)
      found += all.rows.length
      await pool.query('select core.agg_rebuild(at) from generate_series(1, 2) as at')
    }),
    { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  )
  expect(found).toBeGreaterThan(numRuns / 4)
}, 240_000)

test('proving and repairing sums holds the facts of one month at a time, and finds a row in another month or rooftop', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const months = ['2025-09', '2025-10', '2025-11', '2025-12', '2026-01', '2026-02']
  const made = months.flatMap((month, at) =>
    ['01', '15', '28'].map((day, index) => ({
      ...sampleEvaluation,
      ...{ id: at * 3 + index + 1, day: `${month}-${day}`, vin: null },
    })),
  )
  await writeFacts(database, [...made, { ...sampleEvaluation, id: 99, rooftop: 2 }], [sampleLine])
  await pool.query(
    `alter function core.evaluation_days(core.agg_appraisal[]) rename to counted_days;
     create function core.evaluation_days(counted core.agg_appraisal[]) returns setof core.agg_evaluation_day
     language plpgsql as $$ begin
       raise notice '%', cardinality(counted);
       return query select * from core.counted_days(counted);
     end $$`,
  )
  const falsify = [
    "update core.agg_appraisal set completed_date_local = '2024-05-02', month_start = '2024-05-01' where eval_id = 1",
    'update core.agg_appraisal set rooftop_id = 2 where eval_id = 4',
    'insert into core.agg_appraisal select (jsonb_populate_record(a, \'{"eval_id": 77}\')).* from core.agg_appraisal as a where eval_id = 8',
    'delete from core.agg_appraisal where eval_id = 12',
    "update core.agg_evaluation_day set completed_date_local = '2024-06-30' where completed_date_local = '2026-02-28'",
  ]
  for (const statement of falsify) await pool.query(statement)
  const held: number[] = []
  const client = await pool.connect()
  client.on('notice', ({ message }) => held.push(Number(message)))
  try {
    const { rows } = await client.query<{ found: string }>(
      `select concat_ws(' ', aggregate, rooftop_id, completed_date_local) as found from core.agg_differences(1) order by 1`,
    )
    await client.query('select core.agg_rebuild(1)')

    expect(rows.map(({ found }) => found)).toEqual([
      ...['agg_appraisal 1 2025-09-01', 'agg_appraisal 1 2025-10-01'],
      ...['agg_appraisal 1 2025-11-15', 'agg_appraisal 1 2025-12-28'],
      ...['agg_evaluation_day 1 2024-06-30', 'agg_evaluation_day 1 2026-02-28'],
    ])
    expect(await differences(pool)).toEqual([])
    expect(await allStored(pool)).toEqual(await allCounted(pool))
    expect(held.reduce((sum, facts) => sum + facts, 0)).toBe(2 * made.length)
    expect(Math.max(...held)).toBe(3)
  } finally {
    client.release()
  }
})

test('nothing is left of evaluations that were deleted', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation, { ...sampleEvaluation, id: 2 }], [sampleLine])

  await changeAll(database.pool, (client) => client.query('truncate core.evaluation'))

  for (const rows of Object.values(await allStored(database.pool))) expect(rows).toEqual([])
})

test('nights with late edits, moves and vanished evaluations leave the days exact', {
  tags: 'ci',
}, async () => {
  const world = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 6, evaluations: 400, days: 9 }
  await using fixture = await openFixture({ sandbox: world, dealerIds: false })
  await fixture.night()
  await fixture.nightAfter(2)
  await fixture.nightAfter(5)

  const stored = await allStored(fixture.database.pool)
  expect(stored['agg_evaluation_day']!.length).toBeGreaterThan(20)
  expect(stored['agg_appraisal']!.length).toBeGreaterThan(20)
  expect(stored).toEqual(await allCounted(fixture.database.pool))
})
