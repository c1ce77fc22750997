import type pg from 'pg'
import { expect, test } from 'vitest'
import { runJobWork } from '#src/app/scheduler/job-work.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import type { Context } from '#src/context.ts'
import type { World } from '#src/sandbox/world.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { isProved, type Verification } from '#src/sync/verify/verify.ts'
import {
  recordVerification,
  uncoverFaults,
  verifyWarehouse,
} from '#src/sync/verify/verify-warehouse.ts'
import { readWrittenColumns } from '#src/warehouse/db/copy.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { openFixture, runNight } from '../support/fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')
const dayMs = 86_400_000

/** Rooftops by dealer group: a pair with filtered lists, a pair whose lists show the whole group, and single rooftops. */
const groups = {
  'au-filtered': { region: 'AU', uids: ['au-north', 'au-south'], isFiltered: true },
  'au-whole': { region: 'AU', uids: ['au-east', 'au-west'], isFiltered: false },
  'au-alone': { region: 'AU', uids: ['au-alone'], isFiltered: true },
  'us-filtered': { region: 'US', uids: ['us-north', 'us-south'], isFiltered: true },
  'gcc-alone': { region: 'GCC', uids: ['gcc-alone'], isFiltered: false },
} as const
const groupOf = (uid: string) =>
  Object.entries(groups).find(([, { uids }]) => (uids as readonly string[]).includes(uid))!
const allUids: readonly string[] = Object.values(groups).flatMap(({ uids }) => [...uids])

/** Six evaluations per rooftop on two days of one week. The last one cannot be read at first. */
function plantedWorld(): World {
  const rooftops = Object.entries(groups).flatMap(([groupId, { region, uids }]) =>
    uids.map((uid) => aRooftop({ uid, groupId, region, dealerId: 101 + allUids.indexOf(uid) })),
  )
  const all = allUids.flatMap((uid, place) =>
    Array.from({ length: 6 }, (_, index) =>
      anEvaluation({
        evalId: 1000 * (place + 1) + index,
        rooftopUid: uid,
        createdAt: new Date(Date.parse('2026-03-02T00:00:00Z') + index * 7 * 3_600_000),
        photos: [{ id: 100_000 * (place + 1) + index }],
      }),
    ),
  )
  const keys = Object.entries(groups).map(([name, { region, uids }]) =>
    aKey({ name, value: name, region, rooftopUids: [...uids] }),
  )
  return worldOf({ rooftops, evaluations: all, keys })
}

const quarantinedOf = (uid: string) => 1000 * (allUids.indexOf(uid) + 1) + 5

const children =
  'core.evaluation_version core.reconditioning_item core.photo core.custom_field_value core.user_price pii.evaluation_customer'.split(
    ' ',
  )

type Plant = (own: {
  run(sql: string): Promise<unknown>
  pool: pg.Pool
  uid: string
  ids: readonly number[]
}) => Promise<unknown>

const deleteRow: Plant = async ({ run, ids }) => {
  for (const table of ['core.evaluation', ...children])
    await run(`delete from ${table} where eval_id = ${ids[0]}`)
}
/** Leaves its children, but where lists show the whole group: there the other rooftop may load the record again, and the old
 *  children stay until a `replay`. */
const deleteAlone: Plant = async (own) => {
  const [, { uids, isFiltered }] = groupOf(own.uid)
  if (uids.length > 1 && !isFiltered) await deleteRow(own)
  else await own.run(`delete from core.evaluation where eval_id = ${own.ids[0]}`)
}
let offset = 0
const addRow: Plant = async ({ run, pool, ids }) => {
  const columns = await readWrittenColumns(pool, 'core.evaluation')
  offset += 100_000
  await run(`insert into core.evaluation (${columns})
    select ${columns.map((name) => (name === 'eval_id' ? `eval_id + ${offset}` : name))} from core.evaluation where eval_id = ${ids[1]}`)
}

/** Edits the certificate of the week with the records. */
function edited(set: string) {
  return {
    plant: ({ run, uid }: Parameters<Plant>[0]) =>
      run(`update ops.window_certificate set ${set}
        where listed > 1 and rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = '${uid}')`),
    says: ({ brokenSums }: Verification) => brokenSums.length === 1,
  }
}

/** A fault planted in the warehouse, and what verify must report for the rooftop. */
const faults: Readonly<
  Record<string, { readonly plant: Plant; readonly says: (found: Verification) => boolean }>
> = {
  'a row deleted': {
    plant: deleteRow,
    says: ({ notStored }) => notStored.some(({ missing }) => missing.length === 1),
  },
  'a row added': {
    plant: addRow,
    says: ({ notStored }) => notStored.some(({ unexpected }) => unexpected.length === 1),
  },
  'one row deleted, its children left, and one added': {
    plant: async (own) => {
      await deleteAlone(own)
      await addRow(own)
    },
    says: ({ notStored: [only] }) => only?.missing.length === 1 && only.unexpected.length === 1,
  },
  'a certificate edited: listed plus one': edited('listed = listed + 1'),
  'a certificate edited: one that was loaded counts as vanished': edited(
    'loaded = loaded - 1, vanished = vanished + 1',
  ),
  'a certificate edited: listed and loaded plus one': edited(
    'listed = listed + 1, loaded = loaded + 1',
  ),
  'a certificate edited: listed and quarantined plus one': edited(
    'listed = listed + 1, quarantined = quarantined + 1',
  ),
  'a certificate edited: listed and vanished plus one': edited(
    'listed = listed + 1, vanished = vanished + 1',
  ),
  'a listed id of a certificate replaced by another': {
    plant: ({ run, uid, ids }) =>
      run(`update ops.certified_ids set ids = array_replace(ids, ${ids[0]}, ${ids[0]! + 500})
        where ${ids[0]} = any(ids) and rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = '${uid}')`),
    says: ({ brokenSums, notStored: [only] }) =>
      brokenSums.length === 1 && only?.missing.length === 1,
  },
  'a row moved by 30 days': {
    plant: ({ run, ids }) =>
      run(
        `update core.evaluation set entry_at = entry_at - interval '30 days' where eval_id = ${ids[0]}`,
      ),
    says: ({ notStored }) =>
      notStored.some(({ missing }) => missing.length === 1) &&
      notStored.some(({ unexpected }) => unexpected.length === 1),
  },
  'a row deleted beside one that was quarantined and retried': {
    plant: (own) => deleteAlone({ ...own, ids: own.ids.slice(4) }),
    says: ({ notStored }) => notStored.some(({ missing }) => missing.length === 1),
  },
  'a certificate deleted': {
    plant: ({ run, uid }) =>
      run(`delete from ops.window_certificate
        where listed > 1 and rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = '${uid}')`),
    says: ({ uncertified }) => uncertified.length === 1,
  },
}

test('verify finds every planted fault at every kind of rooftop, and the next sync repairs it', {
  tags: 'ci',
  timeout: 240_000,
}, async () => {
  const world = plantedWorld()
  for (const uid of allUids) world.poison(quarantinedOf(uid), { FinalPrice: 'a lot' })
  const start = new Date(now.getTime() - 45 * dayMs).toISOString()
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start, windowHours: 168, recheckDays: 0 },
    streams: [evaluations],
  })
  const { pool } = fixture.database
  const rooftops = fixture.config.rooftops.map((rooftop) => {
    const [group, { isFiltered }] = groupOf(rooftop.uid)
    return { ...rooftop, group, dealerId: isFiltered ? rooftop.dealerId : null }
  })
  const context: Context = { ...fixture.context, config: { ...fixture.config, rooftops } }
  const verified = async () => {
    const rows = await findRooftops(context.db, rooftops)
    const found = await verifyWarehouse(context, [evaluations], rows, context.config.sync)
    await uncoverFaults(context.db, [evaluations], rows, found)
    await recordVerification(context.db, rows, found)
    return new Map(found.checked.map((one) => [one.rooftop, one]))
  }
  /** Rooftops whose rows differ, by what was stored of the last verification. Sums do not follow rows that are planted. */
  const recorded = async () => {
    const { rows } = await pool.query<{ uid: string }>(
      `select rooftop_uid as uid from ops.verification join core.rooftop using (rooftop_id)
       where fault ~ 'differ from what was listed|cannot be right|without' and fault_since <= verified_at order by 1`,
    )
    return rows.map(({ uid }) => uid)
  }
  /** Two nights of the job `verify`, whose rounds compare all windows: none counts as listed since. The next night is a day later. */
  const nightlyFaults = async () => {
    const config = { ...context.config, verify: { withinNights: 2, minutes: 10 } }
    const job = (await loadJobs(config)).find(({ name }) => name === 'verify')!
    for (let night = 0; night < 2; night++) {
      await pool.query("update ops.value_check set listed_through = 'infinity' where kind = 'ids'")
      await runJobWork({ ...context, config }, job)
      await pool.query(
        "update ops.value_check set round_started_at = round_started_at - interval '1 day'",
      )
    }
    return await recorded()
  }
  const complaints = async () =>
    [...(await verified()).values()]
      .filter((found) => !isProved(found))
      .map((found) => JSON.stringify(found))
  const held = async () =>
    (
      await pool.query(
        `select group_id, eval_id, entry_at, content_hash, photos.ids from core.evaluation as e
         cross join lateral (select array_agg(photo_id) as ids from core.photo as p
           where (p.rooftop_id, p.eval_id) = (e.rooftop_id, e.eval_id)) as photos
         where gone_at is null order by 1, 2`,
      )
    ).rows

  expect((await runNight(context, [evaluations])).status).toBe('partial')
  expect(await complaints(), 'in quarantine').toEqual([])
  // One record of the same window deleted: what is in quarantine must not hide it.
  // With its children: where lists show the whole group, the other rooftop may load it again.
  const { rows: newest } = await pool.query<{ id: number }>(
    'select max(eval_id) as id from core.evaluation group by group_id',
  )
  for (const { id } of newest)
    await deleteRow({ run: (sql) => pool.query(sql), pool, uid: '', ids: [id] })
  const beside = [...(await verified()).values()].flatMap(({ notStored }) => notStored)
  const found = new Set(beside.flatMap(({ missing }) => missing))
  expect(found.size, 'deleted beside a quarantined one').toBe(Object.keys(groups).length)
  expect((await runNight(context, [evaluations])).status).toBe('partial')
  expect(await complaints(), 'in quarantine, after a row was deleted').toEqual([])
  for (const uid of allUids) world.removePoison(quarantinedOf(uid))
  await runStreams(context, {
    plan: { command: 'quarantine retry', mode: 'retry', from: 0, until: 0 },
    streams: [evaluations],
    rooftops,
  })
  expect(await complaints(), 'retried').toEqual([])
  await pool.query('delete from ops.certified_ids')
  expect(await complaints(), 'certificates without ids').toHaveLength(allUids.length)
  const reads = fixture.sandbox.requests.count('/geteval')
  await runNight(context, [evaluations])
  expect(await complaints(), 'listed again').toEqual([])
  expect(fixture.sandbox.requests.count('/geteval')).toBe(reads)
  await runStreams(context, {
    plan: { command: 'replay', mode: 'replay', from: 0, until: null },
    streams: [evaluations],
    rooftops,
  })
  expect(await complaints(), 'replayed').toEqual([])
  const truth = await held()
  expect(truth).toHaveLength(6 * allUids.length)

  for (const [fault, { plant, says }] of Object.entries(faults)) {
    // One rooftop per group: where lists show the whole group, which of them owns the rows is random.
    const { rows: planted } = await pool.query<{ uid: string; ids: number[] }>(
      `select distinct on (group_id) rooftop_uid as uid, array_agg(eval_id::int order by eval_id) as ids
       from core.evaluation join core.rooftop using (rooftop_id, group_id)
       where gone_at is null group by group_id, rooftop_uid order by group_id, count(*) desc, rooftop_uid`,
    )
    expect(planted).toHaveLength(5)
    for (const own of planted) await plant({ run: (sql) => pool.query(sql), pool, ...own })
    const nightly = await nightlyFaults()
    const found = await verified()
    const wrong = [...found.values()].filter(
      (one) => !isProved({ ...one, gaps: [], unprovable: [] }),
    )
    expect(await recorded(), fault).toEqual(wrong.map(({ rooftop }) => rooftop).sort())
    for (const { uid } of planted) {
      expect(nightly, `${fault}, by the nightly job`).toContain(uid)
      expect(await recorded(), fault).toContain(uid)
      expect(isProved(found.get(uid)!), `${fault} at ${uid}`).toBe(false)
      expect(says(found.get(uid)!), `${fault} at ${uid}: ${JSON.stringify(found.get(uid))}`).toBe(
        true,
      )
    }
    expect((await runNight(context, [evaluations])).status, fault).toBe('ok')
    expect(await complaints(), `after ${fault}`).toEqual([])
    expect(await recorded(), `after ${fault}`).toEqual([])
    expect(await held(), `after ${fault}`).toEqual(truth)
  }

  // The next sync repairs what a backfill read before sync.start; only a backfill repairs records outside all windows.
  const old = { command: 'backfill', mode: 'backfill' } as const
  const [from, until] = ['2025-01-01', '2025-02-01'].map((day) => Date.parse(day) / 1000)
  const plan = { ...old, from: from!, until: until! }
  await runStreams(context, { plan, streams: [evaluations], rooftops })
  await pool.query('delete from ops.certified_ids')
  await pool.query("delete from ops.window_certificate where window_from < '2025-01-10'")
  expect(await complaints(), 'a certificate of a backfill deleted').toHaveLength(allUids.length)
  await runNight(context, [evaluations])
  expect(await complaints(), 'after a certificate of a backfill was deleted').toEqual([])

  await pool.query(`update core.evaluation as row set rooftop_id = other.rooftop_id
    from core.rooftop as own join core.rooftop as other on other.group_id = own.group_id and other.rooftop_id <> own.rooftop_id
    where row.rooftop_id = own.rooftop_id and row.eval_id in (select min(eval_id) from core.evaluation group by group_id)`)
  const moved = [...(await verified()).values()].flatMap(({ notStored }) => notStored)
  const ids = moved.flatMap(({ unexpected }) => unexpected)
  expect(ids, 'a row given to the other rooftop of its group').toHaveLength(3)
})
