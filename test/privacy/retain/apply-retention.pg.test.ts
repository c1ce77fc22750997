import { expect, test } from 'vitest'
import { applyRetention, deletePayloads } from '#src/privacy/retain/apply-retention.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { readProvenance } from '#src/sync/explain/provenance.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { contentDifferences, readExactContent } from '../../support/warehouse-content.ts'

const now = new Date('2026-03-10T06:30:00Z')

/** Five versions of evaluation 1 and one of evaluation 2, each with a body. */
async function openEditedFixture(): Promise<Fixture> {
  const createdAt = '2026-03-02T01:00:00Z'
  const edits = [
    { finalPrice: 1 },
    { reconditioning: [{ type: 'tyres', source: null, cost: 9, value: '4' }] },
    { customer: { phone: '0498 765 432' } },
    { photos: [], finalPrice: 2 },
  ].map((patch, index) => ({ at: `2026-03-1${index}T09:00:00Z`, patch }))
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt, photos: [{ id: 7 }], edits }),
      anEvaluation({ evalId: 2, createdAt }),
    ],
  })
  const fixture = await openFixture({
    sandbox: { world, now },
    streams: [evaluations],
    sync: { start: '2026-03-01' },
  })
  for (let night = 0; night < 5; night++)
    await (night === 0 ? fixture.night() : fixture.nightAfter(1))
  return fixture
}

/** Moves all times back by a number of days. */
async function age({ database }: Fixture, days: number): Promise<void> {
  const columns = {
    'raw.payload': ['fetched_at'],
    // The time of a reading comes from its run.
    'ops.run': ['started_at'],
    'core.evaluation_version': ['observed_at'],
    'core.evaluation': ['first_loaded_at', 'last_changed_at'],
    'core.photo': ['first_seen_at', 'removed_at'],
  }
  for (const [table, names] of Object.entries(columns)) {
    const set = names.map((name) => `${name} = ${name} - make_interval(days => $1)`)
    await database.pool.query(`update ${table} set ${set.join(', ')}`, [days])
  }
}

async function bodies({ database }: Fixture): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    `select natural_key as id, count(*)::int as count from raw.payload group by 1 order by 1`,
  )
  return rows
}

test('superseded bodies are deleted after their days, the newest of each record stays', async () => {
  await using fixture = await openEditedFixture()
  const young = await applyRetention(fixture.context)
  await age(fixture, 91)

  const old = await applyRetention(fixture.context)
  const again = await applyRetention(fixture.context)

  expect([young.payloads, old.payloads, again.payloads]).toEqual([0, 4, 0])
  expect(await bodies(fixture)).toEqual([
    { id: '1', count: 1 },
    { id: '2', count: 1 },
  ])
})

test('batches of any size delete the same', { tags: 'ci' }, async () => {
  await using fixture = await openEditedFixture()

  const deleted = await deletePayloads(fixture.context, new Date(Date.now() + 60_000), 2)

  expect(deleted).toBe(4)
  expect(await bodies(fixture)).toHaveLength(2)
})

test('a replay of the remaining bodies gives the same facts and versions, and why still works', {
  tags: 'ci',
}, async () => {
  await using fixture = await openEditedFixture()
  await age(fixture, 91)
  const { pool } = fixture.database
  await applyRetention(fixture.context)
  const before = await readExactContent(pool)

  const report = await runStreams(fixture.context, {
    plan: { command: 'replay', mode: 'replay', from: 0, until: null },
    streams: [evaluations],
    rooftops: fixture.config.rooftops,
  })

  expect(report.status).toBe('ok')
  expect(before['core.evaluation_version']).toHaveLength(6)
  expect(contentDifferences(before, await readExactContent(pool))).toEqual([])
  const [found] = await readProvenance(fixture.context.db, 1, {
    ...{ config: fixture.config, streams: [], stream: evaluations.records!, rooftops: [] },
    now: new Date(),
  })
  expect([found!.versions.length, found!.payloads.length]).toEqual([5, 1])
})

test('resolved quarantine and links of vanished checks are deleted; open and listed ones stay', {
  tags: 'ci',
}, async () => {
  await using fixture = await openEditedFixture()
  const { pool } = fixture.database
  await pool.query(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id, resolved_at)
     select 'evaluations', rooftop_id, key, '[]', '', 1, at::timestamptz
     from core.rooftop, (values ('open', null), ('old', '2020-01-01'), ('new', now()::text)) as quarantined (key, at)`,
  )
  await pool.query(
    `insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at, gone_at)
     select rooftop_id, 1, 'ppsr', ref, group_id, 'V', now(), at::timestamptz
     from core.rooftop, (values ('listed', null), ('gone', '2020-01-01')) as made (ref, at)`,
  )
  await pool.query(
    `insert into pii.signed_link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
     select rooftop_id, 1, 'ppsr_pdf', ref, 'https://x/y', '2020-01-01', '2020-01-08'
     from core.rooftop, unnest(array['listed', 'gone']) as ref`,
  )

  const report = await applyRetention(fixture.context)

  expect(report).toMatchObject({ quarantine: 1, links: 1 })
  const { rows: quarantined } = await pool.query(
    'select natural_key as key from ops.quarantine order by 1',
  )
  expect(quarantined).toEqual([{ key: 'new' }, { key: 'open' }])
  const { rows: links } = await pool.query('select link_ref as ref from pii.signed_link')
  expect(links).toEqual([{ ref: 'listed' }])
})

test('a stopped retention deletes nothing more', { tags: 'ci' }, async () => {
  await using fixture = await openEditedFixture()
  await age(fixture, 91)
  const signal = AbortSignal.abort()

  await expect(applyRetention({ ...fixture.context, signal })).rejects.toThrow()

  expect(await bodies(fixture)).toMatchObject([{ count: 5 }, { count: 1 }])
})

test('a webhook keeps its body for the configured days, and its row always', async () => {
  await using fixture = await openEditedFixture()
  const { pool } = fixture.database
  const deliver = (hash: string, days: number) =>
    pool.query(
      `insert into ops.webhook_delivery (event, body_hash, body, state, source_received_at, received_at)
       values ('ON_DRIVE_COMPLETED', sha256($1), '{"drive": 1}', 'kept', now(), now() - make_interval(days => $2))`,
      [hash, days],
    )
  await deliver('old', 91)
  await deliver('young', 89)

  const report = await applyRetention(fixture.context)

  expect(report.deliveries).toBe(1)
  const { rows } = await pool.query(
    'select body is null as "isGone" from ops.webhook_delivery order by received_at',
  )
  expect(rows).toEqual([{ isGone: true }, { isGone: false }])
})
