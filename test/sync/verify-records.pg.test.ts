import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runJobWork } from '#src/app/scheduler/job-work.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { allStreams } from '#src/streams/all.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { sumComparisons, vehicleComparisons } from '#src/sync/verify/verify-aggregates.ts'
import { recordComparisons } from '#src/sync/verify/verify-records.ts'
import { type Comparison, compareShare } from '#src/sync/verify/verify-round.ts'
import { valueComparisons } from '#src/sync/verify/verify-values.ts'
import { recordVerification, verifyWarehouse } from '#src/sync/verify/verify-warehouse.ts'
import { windowComparisons } from '#src/sync/verify/verify-windows.ts'
import { runsEveryCase, someOf } from '../support/cases.ts'
import type { Fixture } from '../support/fixture.ts'
import { loaded, uids } from './rows-fixture.ts'

vi.setConfig({ testTimeout: 240_000 })

const withinNights = 3
const configOf = ({ context }: Fixture) => ({
  ...context.config,
  verify: { withinNights, minutes: 10 },
})

/** The job `verify` with a short cycle; the next night is a day later. */
async function verifyNight(fixture: Fixture) {
  const { context } = fixture
  const config = configOf(fixture)
  const job = (await loadJobs(config)).find(({ name }) => name === 'verify')!
  const result = await runJobWork({ ...context, config }, job)
  await context.pool.query(
    "update ops.value_check set round_started_at = round_started_at - interval '1 day'",
  )
  return result
}

/** Rooftops whose stored fault of evaluations says so. */
async function faulty({ context }: Fixture, says: string): Promise<string[]> {
  const { rows } = await context.pool.query<{ uid: string }>(
    `select rooftop_uid as uid from ops.verification join core.rooftop using (rooftop_id)
     where stream = 'evaluations' and fault like '%' || $1 || '%' order by 1`,
    [says],
  )
  return rows.map(({ uid }) => uid)
}

const shapes = {
  'one rooftop': [uids[1]!],
  'the rooftops of a group': uids.slice(0, 2),
  'the rooftops of two groups': uids,
}
const sums = 'sums of the reports differ from their facts'
const ofGroups = `group_id in (select group_id from core.rooftop where rooftop_uid = any($1))`
const ofRooftops = `rooftop_id in (select rooftop_id from core.rooftop where rooftop_uid = any($1))`
const added = 'ZZZ00000000000000'
const someVehicles = `(group_id, vin) in (select group_id, min(vin) from core.vehicle where ${ofGroups} group by 1)`
const lost = 'rows of 1 record without the record itself'
const due = 'what is due for Pricing AI differs from the facts of 1 evaluation'
const rebuildDue = 'select ops.new_to_pricing_rebuild(rooftop_id) from core.rooftop'

/** What is planted at the rooftops of `$1`, and how their stored faults name it. */
const faults: Readonly<Record<string, { plant: string; says: string; cure?: string }>> = {
  'a vehicle edited': {
    plant: `update core.vehicle set make = 'changed' where ${someVehicles}`,
    says: sums,
  },
  'a vehicle deleted': { plant: `delete from core.vehicle where ${someVehicles}`, says: sums },
  'a vehicle added': {
    plant: `insert into core.vehicle (group_id, vin, vehicle_key, evaluations, is_in_stock)
      select distinct group_id, '${added}', group_id || '-${added}', 1, false from core.rooftop where ${ofGroups}`,
    says: sums,
  },
  'a repeated vehicle edited': {
    plant: `update core.agg_repeat_vehicle set lowest_price = 1 where ${ofGroups}`,
    says: sums,
  },
  'a repeated vehicle deleted': {
    plant: `delete from core.agg_repeat_vehicle where ${ofGroups}`,
    says: sums,
  },
  'a repeated vehicle added': {
    plant: `insert into core.agg_repeat_vehicle select distinct group_id, '${added}', 'AUD', 2, 1, '2026-03-01'::date, '2026-03-02'::date
      from core.rooftop where ${ofGroups}`,
    says: sums,
  },
  'a link that is in scope left out': {
    plant: `update pii.signed_link set is_in_scope = false where ${ofRooftops}`,
    says: sums,
  },
  'a link of a check that is gone counted': {
    plant: `
      with trigger_off as (select set_config('session_replication_role', 'replica', true))
      update core.vehicle_check set gone_at = now() from trigger_off where ${ofRooftops}`,
    says: sums,
    cure: 'update core.vehicle_check set gone_at = null where gone_at is not null',
  },
  'a photo without its record': {
    plant: `insert into core.photo (rooftop_id, eval_id, photo_id, display_position, is_hero, first_seen_at)
      select rooftop_id, 5, 1, 1, true, now() from core.rooftop where ${ofRooftops}`,
    says: lost,
    cure: 'delete from core.photo where eval_id = 5',
  },
  'the state of an enrichment without its record': {
    plant: `insert into ops.enrichment_state (rooftop_id, stream, eval_id, ask, outcome, last_asked_at)
      select rooftop_id, stream, 5000, ask, outcome, last_asked_at from ops.enrichment_state
      where ${ofRooftops} and eval_id in (1001, 2001, 3001) and stream = 'pricing'`,
    says: lost,
    cure: 'delete from ops.enrichment_state where eval_id = 5000',
  },
  'an evaluation that is new to Pricing AI left out': {
    plant: `delete from ops.new_to_pricing where ${ofRooftops}`,
    says: due,
    cure: rebuildDue,
  },
  'an evaluation that was priced added as new': {
    plant: `insert into ops.new_to_pricing select rooftop_id, min(eval_id) from core.evaluation where ${ofRooftops} group by 1`,
    says: due,
    cure: rebuildDue,
  },
  'an evaluation that is not stored added as new': {
    plant: `insert into ops.new_to_pricing select rooftop_id, 5 from core.rooftop where ${ofRooftops}`,
    says: due,
    cure: 'delete from ops.new_to_pricing where eval_id = 5',
  },
}

/** Each test leaves the rows as they were. Each rooftop has two evaluations of one vehicle, and one that is new to Pricing AI. */
let fixture: Fixture

beforeAll(async () => {
  fixture = await loaded()
  await fixture.database.pool.query(
    `update core.evaluation as e set vin = first.vin from core.evaluation as first
     where first.eval_id in (1001, 2001, 3001) and e.eval_id = first.eval_id + 1`,
  )
  await fixture.database.pool.query(
    `delete from ops.enrichment_state where stream = 'pricing' and eval_id in (1003, 2003, 3003)`,
  )
  await fixture.database.pool.query('select core.agg_rebuild(rooftop_id) from core.rooftop')
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** Planted together: each is named by another text. In `npm test` two of them are, at one shape of rooftops. */
const kinds = [sums, lost, due].map((text) =>
  Object.keys(faults).filter((name) => faults[name]!.says === text),
)
const together = runsEveryCase
  ? kinds[0]!.map((_, at) => kinds.flatMap((names) => names.slice(at, at + 1)))
  : [
      [
        'a vehicle deleted',
        'a photo without its record',
        'an evaluation that was priced added as new',
      ],
      ['a repeated vehicle added', 'an evaluation that is new to Pricing AI left out'],
    ]

test.each(together.map((names, at) => ({ names, at, title: names.join(', ') })))(
  'the job verify finds in every shape within its nights, as verify does, until it is repaired: $title',
  async ({ names, at: first }) => {
    const { pool, db } = fixture.context
    const config = configOf(fixture)
    const all = Object.entries(shapes)
    const planted = names.map((name) => faults[name]!)
    const findings = async () =>
      await Promise.all(planted.map(async ({ says }) => await faulty(fixture, says)))
    const none = planted.map(() => [])
    await verifyNight(fixture)
    // They begin with different shapes.
    const turn = first % all.length
    for (const [shape, at] of someOf([...all.slice(turn), ...all.slice(0, turn)], 1)) {
      expect(await findings(), shape).toEqual(none)
      await pool.query("update ops.value_check set last_key = ''")
      for (const { plant } of planted)
        expect((await pool.query(plant, [at])).rowCount, shape).toBeGreaterThan(0)

      for (let night = 0; night < withinNights; night++) await verifyNight(fixture)
      const nightly = await findings()
      const rooftops = await findRooftops(db, config.rooftops)
      const whole = await verifyWarehouse(fixture.context, allStreams, rooftops, config.sync)
      await recordVerification(db, rooftops, whole)
      const found = await findings()
      await verifyNight(fixture)
      const still = await findings()
      for (const { cure } of planted)
        await pool.query(cure ?? 'select core.vehicle_rebuild(group_id) from core.rooftop')
      await verifyNight(fixture)

      // A vehicle is of all rooftops of its group.
      const expected = planted.map(({ says }) =>
        says === sums && at.length === 1 ? uids.slice(0, 2) : at,
      )
      expect([nightly, found, still], shape).toEqual([expected, expected, expected])
      expect(await findings(), shape).toEqual(none)
    }
  },
)

/** Stores evaluation 2003 again, at a rooftop under other ids. */
async function plantCopies(uid: string, from: number, count: number): Promise<void> {
  const { pool } = fixture.context
  const { rows } = await pool.query<{ names: string[] }>(
    `select array_agg(attname::text) as names from pg_attribute
     where attrelid = 'core.evaluation'::regclass and attnum > 0 and attgenerated = '' and attname not in ('rooftop_id', 'group_id', 'eval_id')`,
  )
  const names = rows[0]!.names.join(', ')
  await pool.query(
    `insert into core.evaluation (rooftop_id, group_id, eval_id, ${names})
     select r.rooftop_id, r.group_id, copy, ${names.replace(/\b(currency_code|odometer_unit)\b/g, 'e.$1')}
     from core.evaluation as e join core.rooftop as r on rooftop_uid = $1, generate_series($2::bigint, $3::bigint) as copy where eval_id = 2003`,
    [uid, from, from + count - 1],
  )
}

test('the job verify finds an evaluation that two groups have', async () => {
  const { pool } = fixture.context
  const says = '1 evaluation of another rooftop too'
  await verifyNight(fixture)
  await pool.query("update ops.value_check set last_key = ''")
  await plantCopies('two', 2003, 1)

  for (let night = 0; night < withinNights; night++) await verifyNight(fixture)
  const found = await faulty(fixture, says)
  await pool.query(
    "delete from core.evaluation using core.rooftop as r where r.rooftop_id = core.evaluation.rooftop_id and eval_id = 2003 and rooftop_uid = 'two'",
  )
  await verifyNight(fixture)

  expect(found).toEqual(['one-south', 'two'])
  expect(await faulty(fixture, says)).toEqual([])
})

test('more than a hundred evaluations that two groups have are counted at each of their rooftops', async () => {
  const { context } = fixture
  const { pool, db } = context
  const config = configOf(fixture)
  const says = /(\d+) evaluations? of another rooftop too/
  const counts = async () => {
    const { rows } = await pool.query<{ uid: string; fault: string | null }>(
      `select rooftop_uid as uid, fault from ops.verification join core.rooftop using (rooftop_id) where stream = 'evaluations'`,
    )
    return Object.fromEntries(rows.map(({ uid, fault }) => [uid, says.exec(fault ?? '')?.[1]]))
  }
  await verifyNight(fixture)
  await pool.query("update ops.value_check set last_key = ''")
  for (const uid of ['one-south', 'two']) await plantCopies(uid, 5001, 110)
  for (const uid of ['one-north', 'two']) await plantCopies(uid, 6001, 1)

  for (let night = 0; night < withinNights; night++) await verifyNight(fixture)
  const nightly = await counts()
  const rooftops = await findRooftops(db, config.rooftops)
  const whole = await verifyWarehouse(context, allStreams, rooftops, config.sync)
  await recordVerification(db, rooftops, whole)
  const found = await counts()
  await pool.query('delete from core.evaluation where eval_id between 5001 and 6001')
  await verifyNight(fixture)

  const expected = { 'one-north': '1', 'one-south': '110', two: '111' }
  expect(nightly).toEqual(expected)
  expect(found).toEqual(expected)
  expect(Object.values(await counts())).toEqual([undefined, undefined, undefined])
})

test.each([
  ['records', recordComparisons],
  ['vehicles', vehicleComparisons],
] as const)(
  'a round of %s that is stopped in the middle goes on where it was',
  async (kind, comparisons) => {
    const { context } = fixture
    const { pool } = context
    await pool.query('delete from ops.value_check where kind = $1', [kind])
    const rooftops = await findRooftops(context.db, context.config.rooftops)
    const compared: string[] = []
    /** One night after which all must have been compared, in slices of one key; it is stopped after a number of them. */
    const share = async (slices: number) => {
      const controller = new AbortController()
      let left = slices
      const watched = comparisons(allStreams).map((one) => ({
        ...one,
        keysAtOnce: 1,
        async compare(...args: Parameters<typeof one.compare>) {
          compared.push(...args[2].map((key) => `${args[1].groupId} ${key}`))
          if (--left === 0) controller.abort()
          return await one.compare(...args)
        },
      }))
      const config = { ...context.config, verify: { withinNights: 1, minutes: 10 } }
      return await compareShare({ ...context, config }, watched, rooftops, controller.signal)
    }

    const stopped = await share(2)
    const rest = await share(1000)

    expect([stopped.isDone, rest.isDone]).toEqual([false, true])
    expect(compared).toHaveLength(9)
    expect(new Set(compared).size).toBe(9)
  },
)

test('all that the job verify compares shares its time, and with too little of it comes in turn', {
  tags: 'ci',
}, async () => {
  const { context } = fixture
  const { pool } = context
  const rooftops = await findRooftops(context.db, context.config.rooftops)
  const all = [
    windowComparisons,
    sumComparisons,
    recordComparisons,
    vehicleComparisons,
    valueComparisons,
  ]
  const night = async (minutes: number) => {
    const compared: { scope: string; key: string }[] = []
    const watched = all
      .flatMap((comparisons): Comparison[] => comparisons(allStreams))
      .map((one) => ({
        ...{ ...one, keysAtOnce: 1 },
        async compare(...args: Parameters<typeof one.compare>) {
          const scope = `${one.kind} ${one.stream} ${args[1].id}`
          compared.push(...args[2].map((key) => ({ scope, key })))
          return await one.compare(...args)
        },
      }))
    const config = { ...context.config, verify: { withinNights: 1, minutes } }
    const { signal } = new AbortController()
    const { isDone } = await compareShare({ ...context, config }, watched, rooftops, signal)
    return { compared, isDone }
  }
  const job = async () => {
    const config = { ...context.config, verify: { withinNights, minutes: 0 } }
    const verify = (await loadJobs(config)).find(({ name }) => name === 'verify')!
    const { rooftops: _, ...counts } = (await runJobWork({ ...context, config }, verify)).counts!
    return Object.values(counts).filter((count) => count > 0).length
  }
  await pool.query('delete from ops.value_check')
  const whole = await night(10)
  await pool.query('delete from ops.value_check')

  const nights: { scope: string; key: string }[][] = []
  const left = new Set(whole.compared.map(({ scope, key }) => `${scope} ${key}`))
  while (left.size > 0 && nights.length < 1000) {
    const { compared, isDone } = await night(0)
    expect(isDone).toBe(false)
    for (const { scope, key } of compared) left.delete(`${scope} ${key}`)
    nights.push(compared)
  }

  expect(whole.isDone).toBe(true)
  expect([...left]).toEqual([])
  // The last of what has changed, and the first of the share.
  expect(Math.max(...nights.map(({ length }) => length))).toBe(2)
  // A slice may be without keys, at the end of a round.
  const scopes = new Set(whole.compared.map(({ scope }) => scope))
  const early = nights.slice(0, 2 * scopes.size).flat()
  expect(new Set(early.map(({ scope }) => scope))).toEqual(scopes)
  expect(await job()).toBe(1)
})
