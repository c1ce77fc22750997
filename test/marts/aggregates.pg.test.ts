import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { migrate } from '#src/db/migrate.ts'
import { migrationsFolder } from '#src/db/migration-files.ts'
import { factChanges } from '../support/aggregates.ts'
import { storedRows } from '../support/aggregates-counted.ts'
import {
  advisoryLocks,
  allCounted,
  allStored,
  differences,
  inSession,
  sampleEvaluation,
  sampleLine,
  performAll,
  rowPositions,
  repeatDifferences,
  writeFacts,
} from '../support/aggregates-fixture.ts'
import { applyChange } from '../support/aggregates-apply.ts'
import { caseCount } from '../support/cases.ts'
import { openFixture } from '../support/fixture.ts'
import { createTestDatabase, emptyTestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const numRuns = Number(process.env['FORECOURT_WORLDS'] ?? caseCount(100))
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
      await database.pool.query(
        'truncate core.evaluation, core.reconditioning_item, core.price_observation, ops.enrichment_state',
      )

      await Promise.all([ours, theirs].map((chain) => performAll(database.pool, chain)))

      expect(await allStored(database.pool)).toEqual(await allCounted(database.pool))
      expect(await differences(database.pool)).toEqual([])
      expect(await repeatDifferences(database.pool)).toEqual([])
    }),
    { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  )
}, 240_000)

test('a writer of lines waits for the writer of their evaluation', async () => {
  await using database = await createTestDatabase()
  const first = await database.pool.connect()
  const second = await database.pool.connect()
  await first.query('begin')
  await second.query('begin')
  await applyChange(first, { does: 'insert', evaluation: sampleEvaluation, lines: [] })
  const lines = applyChange(second, { does: 'lines', lines: [sampleLine] })
  while ((await advisoryLocks(database.pool, 'not granted')) === 0) await sleep(5)

  await first.query('commit')
  await lines
  await second.query('commit')

  expect(await storedRows(database.pool, 'agg_recon_day')).toEqual([
    '1 2026-01-31 paint KWD 99.995 99.995 1',
  ])
  first.release()
  second.release()
})

test('a transaction that does not see what others commit is refused', async () => {
  await using database = await createTestDatabase()

  const refused = inSession(database.pool, async (client) => {
    await client.query('begin isolation level repeatable read')
    await applyChange(client, { does: 'insert', evaluation: sampleEvaluation, lines: [] })
  })

  await expect(refused).rejects.toThrow('must be written under read committed')
})

test('columns that are not counted change without a write or a lock', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation], [sampleLine])
  const before = await rowPositions(database.pool)
  let locks: number | undefined

  await inSession(database.pool, async (client) => {
    await client.query('begin')
    await client.query(
      "update core.evaluation set entry_at = now(), colour = 'red', source_updated_at = now()",
    )
    locks = await advisoryLocks(client, 'granted')
    await client.query('commit')
  })

  expect(locks).toBe(0)
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
  await database.pool.query('update core.agg_recon_evaluation set last_cost = 1')

  const day = { completed_date_local: '2026-01-31' }
  expect(await differences(database.pool)).toEqual([
    { aggregate: 'agg_appraisal', rooftop_id: 1, ...day },
    { aggregate: 'agg_appraisal', rooftop_id: 2, ...day },
    { aggregate: 'agg_evaluation_day', rooftop_id: 1, ...day },
    { aggregate: 'agg_evaluation_day', rooftop_id: 2, ...day },
    { aggregate: 'agg_recon_day', rooftop_id: 1, ...day },
    { aggregate: 'agg_recon_evaluation', rooftop_id: 1, ...day },
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

test('a truncate empties all of them', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation, { ...sampleEvaluation, id: 2 }], [sampleLine])

  await database.pool.query('truncate core.evaluation')

  for (const rows of Object.values(await allStored(database.pool))) expect(rows).toEqual([])
})

test.each(['0081', '0140', '0190'])(
  'a warehouse that was loaded before migration %s has its sums after it',
  async (first) => {
    await using database = await emptyTestDatabase()
    await using older = await temporaryFolder()
    await cp(migrationsFolder(), older.path, { recursive: true })
    for (const name of await readdir(older.path))
      if (name >= first) await rm(join(older.path, name))
    await migrate(database.pool, older.path)
    await writeFacts(
      database,
      [sampleEvaluation, { ...sampleEvaluation, id: 2, user: null }],
      [sampleLine],
    )

    await migrate(database.pool)

    const stored = await allStored(database.pool)
    expect(stored).toEqual(await allCounted(database.pool))
    expect(stored['agg_evaluation_day']).toHaveLength(2)
    expect(stored['agg_repeat_vehicle']).toHaveLength(1)
    expect(await differences(database.pool)).toEqual([])
  },
)

test('nights with late edits, moves and vanished evaluations leave the days exact', async () => {
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
