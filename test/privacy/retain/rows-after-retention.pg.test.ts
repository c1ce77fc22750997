import { expect, test } from 'vitest'
import { deletePayloads } from '#src/privacy/retain/apply-retention.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { pricing } from '#src/streams/pricing/pricing.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { type DifferingRow, verifyRows } from '#src/sync/verify/verify-rows.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { contentDifferences, readExactContent } from '../../support/warehouse-content.ts'

const now = new Date('2026-03-10T06:30:00Z')
const streams = [evaluations, pricing]
const createdAt = '2026-03-08T01:00:00Z'
const tyres = { type: 'tyres', source: 'Shop', cost: 90, value: '4' }

/** Each is seen by one more night. An empty one changes only UpdatedAt, so its body makes no version. */
const patches = [
  {},
  { finalPrice: 1, odometer: 90_000 },
  { photos: [8, 9] },
  {},
  { reconditioning: [tyres], odometer: 120_000 },
  { photos: [7, 9], customer: { phone: '0498 765 432' } },
  { finalPrice: 2, odometer: 150_000 },
]
const photo = (id: number) => ({ id, order: null, takenAt: null, pinned: false, angle: null })
const photosOf = (ids: readonly number[]) =>
  ids.map((id) => ({ ...photo(id), uploadedAt: new Date(createdAt) }))

function editsUntil(count: number) {
  return patches.slice(0, count).map((patch, index) => ({
    at: new Date(Date.UTC(2026, 2, 10 + index, 9)),
    patch: { ...patch, ...(patch.photos ? { photos: photosOf(patch.photos) } : {}) } as object,
  }))
}

interface Aged {
  readonly fixture: Fixture
  /** The ends of the nights. */
  readonly nights: readonly Date[]
}

/** Eight nights: evaluation 1 changes before each, 2 never, of 3 the first one changes only UpdatedAt. */
async function openAged(): Promise<Aged> {
  const photos = [7, 8].map(photo)
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt, photos, edits: editsUntil(patches.length) }),
      anEvaluation({ evalId: 2, createdAt, photos }),
      anEvaluation({ evalId: 3, createdAt, photos, edits: editsUntil(1) }),
    ],
  })
  const sync = { start: '2026-03-01' }
  const fixture = await openFixture({ sandbox: { world, now }, streams, sync })
  const nights: Date[] = []
  for (let night = 0; night <= patches.length; night++) {
    const report = await (night === 0 ? fixture.night() : fixture.nightAfter(1))
    expect(report.status).toBe('ok')
    nights.push(new Date())
  }
  return { fixture, nights }
}

async function differing({ context, config }: Fixture): Promise<readonly DifferingRow[]> {
  const rooftops = await findRooftops(context.db, config.rooftops)
  return (await verifyRows(context, streams, rooftops, null, context.signal)).rows
}

async function replay({ context, config: { rooftops } }: Fixture, only = streams): Promise<void> {
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  expect((await runStreams(context, { plan, streams: only, rooftops })).status).toBe('ok')
}

test('whatever retention has deleted, the remaining bodies prove the rows, and a replay changes none', {
  tags: 'ci',
}, async () => {
  const { fixture, nights } = await openAged()
  await using _ = fixture
  const { pool } = fixture.database
  const before = await readExactContent(pool)
  expect(before['core.evaluation_version']).toHaveLength(6 + 1 + 1)
  expect(before['core.price_observation']!.length).toBeGreaterThan(4)

  for (const [night, at] of nights.entries()) {
    const deleted = await deletePayloads(fixture.context, at, 100)

    const about = `after night ${night}`
    // The newest body of each record stays.
    if (night < patches.length) expect(deleted, about).toBeGreaterThan(0)
    expect(await differing(fixture), about).toEqual([])
    await replay(fixture)
    const { 'raw.payload': __, ...rows } = await readExactContent(pool)
    expect(contentDifferences({ ...before, 'raw.payload': [] }, rows), about).toEqual([])
  }
})

const changed = (column: string) => [{ kind: 'changed', columns: [{ column }] }]
const extra = [{ kind: 'extra' }]
const missing = [{ kind: 'missing' }]

/** Faults of evaluation 1, planted when only its newest body is left, and when its newest three are. */
const plants: Readonly<Record<string, readonly [sql: string, table: string, found: unknown]>> = {
  'a fact': [
    'update core.evaluation set colour = $$Red$$ where eval_id = 1',
    'core.evaluation',
    changed('colour'),
  ],
  'a price': [
    'update core.evaluation set final_price = 5 where eval_id = 1',
    'core.evaluation',
    changed('final_price'),
  ],
  'the number of versions': [
    'update core.evaluation set version_no = 9 where eval_id = 1',
    'core.evaluation',
    changed('version_no'),
  ],
  'the first load': [
    "update core.evaluation set first_loaded_at = first_loaded_at - interval '1 day' where eval_id = 1",
    'core.evaluation',
    changed('first_loaded_at'),
  ],
  'the last change': [
    "update core.evaluation set last_changed_at = last_changed_at + interval '1 day' where eval_id = 1",
    'core.evaluation',
    changed('last_changed_at'),
  ],
  'the run of the last change': [
    'update core.evaluation set run_id = run_id + 1 where eval_id = 1',
    'core.evaluation',
    changed('run_id'),
  ],
  'the newest version': [
    'update core.evaluation_version set final_price = 5 where valid_to is null and eval_id = 1',
    'core.evaluation_version',
    changed('final_price'),
  ],
  'the run of the newest version': [
    'update core.evaluation_version set run_id = 1 where valid_to is null and eval_id = 1',
    'core.evaluation_version',
    changed('run_id'),
  ],
  'the end of the version before': [
    "update core.evaluation_version set valid_to = valid_to - interval '1 hour' where version_no = 5 and eval_id = 1",
    'core.evaluation_version',
    changed('valid_to'),
  ],
  'the end of an old version': [
    "update core.evaluation_version set valid_to = valid_to - interval '1 hour' where version_no = 1 and eval_id = 1",
    'core.evaluation_version',
    changed('valid_to'),
  ],
  'a version deleted': [
    'delete from core.evaluation_version where version_no = 6 and eval_id = 1',
    'core.evaluation_version',
    missing,
  ],
  'a version too many': [
    `insert into core.evaluation_version select (jsonb_populate_record(v, '{"version_no": 7}')).*
     from core.evaluation_version as v where version_no = 6 and eval_id = 1`,
    'core.evaluation_version',
    extra,
  ],
  'a photo': [
    'update core.photo set display_position = 5 where photo_id = 9 and eval_id = 1',
    'core.photo',
    changed('display_position'),
  ],
  'a removed photo that is back': [
    'update core.photo set removed_at = null where photo_id = 8 and eval_id = 1',
    'core.photo',
    changed('removed_at'),
  ],
  'a photo deleted': [
    'delete from core.photo where photo_id = 9 and eval_id = 1',
    'core.photo',
    missing,
  ],
  'a photo too many': [
    `insert into core.photo select (jsonb_populate_record(p, '{"photo_id": 5}')).*
     from core.photo as p where photo_id = 7 and eval_id = 1`,
    'core.photo',
    changed('removed_at'),
  ],
  'a new photo too many': [
    `insert into core.photo select (jsonb_populate_record(p, jsonb_build_object('photo_id', 6, 'first_seen_at', now()))).*
     from core.photo as p where photo_id = 7 and eval_id = 1`,
    'core.photo',
    extra,
  ],
  'a line of reconditioning': [
    'update core.reconditioning_item set cost = 1 where last_version is null and eval_id = 1',
    'core.reconditioning_item',
    changed('cost'),
  ],
  'a line of reconditioning deleted': [
    'delete from core.reconditioning_item where last_version is null and eval_id = 1',
    'core.reconditioning_item',
    missing,
  ],
  'the customer': [
    'update pii.evaluation_customer set phone = null where eval_id = 1',
    'pii.evaluation_customer',
    changed('phone'),
  ],
  'the current price': [
    'update core.price_observation set retail = 1 where is_current and eval_id = 1',
    'core.price_observation',
    changed('retail'),
  ],
  'the current price deleted': [
    'delete from core.price_observation where is_current and eval_id = 1',
    'core.price_observation',
    missing,
  ],
  'a price from before, current again': [
    `with ended as (update core.price_observation set is_current = false where is_current and eval_id = 1 returning eval_id)
     update core.price_observation as price set is_current = true from ended
     where price.eval_id = ended.eval_id and observed_at = (select min(observed_at) from core.price_observation where eval_id = 1)`,
    'core.price_observation',
    [...changed('is_current'), ...changed('is_current')],
  ],
}

test.each(someOf([1, 3], 1))(
  'with %i bodies left, a planted row is named, and a replay sets it right',
  async (left) => {
    const { fixture, nights } = await openAged()
    await using _ = fixture
    const { pool } = fixture.database
    await deletePayloads(fixture.context, nights.at(-left - 1)!, 100)
    const { rows } = await pool.query(
      "select from raw.payload where endpoint = 'geteval' and natural_key = '1'",
    )
    expect(rows).toHaveLength(left)

    for (const [about, [plant, table, found]] of someOf(Object.entries(plants), 5)) {
      const { rowCount } = await pool.query(plant)
      expect(rowCount, about).toBeGreaterThan(0)

      const named = (await differing(fixture)).filter((row) => row.table === table)

      expect(named, about).toMatchObject(found as object)
      expect(new Set(named.map(({ key }) => key['eval_id'])), about).toEqual(new Set([1]))
      await replay(fixture, table.includes('price') ? [pricing] : [evaluations])
      expect(await differing(fixture), `${about}, replayed`).toEqual([])
    }
  },
)
