import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { type RowsVerification, verifyRows } from '#src/sync/verify/verify-rows.ts'
import { impatient } from '../streams/stock-prices/stocked.ts'
import { someOf } from '../support/cases.ts'
import type { Fixture } from '../support/fixture.ts'
import { hourMs, loaded, now, uids } from './rows-fixture.ts'

/** A fault planted at rooftops, and how a row of it is named. `$1` are the ids of the rooftops. */
interface Plant {
  readonly sql: string
  readonly table: string
  readonly says: Readonly<Record<string, unknown>>
  /** The row belongs to the dealer group: it is named once for a group. */
  readonly isOfGroup?: boolean
}

const ofFirst = (table: string) =>
  `(${table}.rooftop_id, eval_id) in (select rooftop_id, min(eval_id) from core.evaluation where rooftop_id = any($1) group by 1)`
const column = (name: string, stored: unknown, derived: unknown) => ({
  kind: 'changed',
  columns: [{ column: name, stored, derived }],
})
const hidden = (name: string) => column(name, '(hidden)', '(hidden)')
const missing = { kind: 'missing', columns: [] }
const extra = { kind: 'extra', columns: [] }

const evaluationPlants: Readonly<Record<string, Plant>> = {
  'a price changed by hand': {
    sql: `update core.evaluation set final_price = 1 where ${ofFirst('evaluation')}`,
    table: 'core.evaluation',
    says: column('final_price', '1.000', '23500.000'),
  },
  'a column that an older version left empty': {
    sql: `update core.evaluation set variant = null where ${ofFirst('evaluation')}`,
    table: 'core.evaluation',
    says: column('variant', null, 'GX'),
  },
  'a photo deleted': {
    sql: `delete from core.photo where ${ofFirst('photo')} and display_position = 2`,
    table: 'core.photo',
    says: missing,
  },
  'an extra photo': {
    sql: `insert into core.photo (rooftop_id, eval_id, photo_id, display_position, is_hero, first_seen_at)
      select rooftop_id, eval_id, 7, 3, false, now() from core.evaluation where ${ofFirst('evaluation')}`,
    table: 'core.photo',
    says: extra,
  },
  'a cost of reconditioning changed': {
    sql: `update core.reconditioning_item set cost = 91 where ${ofFirst('reconditioning_item')}`,
    table: 'core.reconditioning_item',
    says: column('cost', '91.000', '90.000'),
  },
  'a custom field changed': {
    sql: `update core.custom_field_value set value_text = 'B2' where ${ofFirst('custom_field_value')}`,
    table: 'core.custom_field_value',
    says: hidden('value_text'),
  },
  'a user price changed': {
    sql: `update core.user_price set amount = 5 where ${ofFirst('user_price')}`,
    table: 'core.user_price',
    says: column('amount', '5.000', '21000.000'),
  },
  'a user price with another body': {
    sql: `update core.user_price set body = '{}' where ${ofFirst('user_price')}`,
    table: 'core.user_price',
    says: hidden('body'),
  },
  'the phone of a customer changed': {
    sql: `update pii.evaluation_customer set phone = '0491 570 999' where ${ofFirst('evaluation_customer')}`,
    table: 'pii.evaluation_customer',
    says: hidden('phone'),
  },
  'a customer deleted': {
    sql: `delete from pii.evaluation_customer where ${ofFirst('evaluation_customer')}`,
    table: 'pii.evaluation_customer',
    says: missing,
  },
  'the price of a version changed': {
    sql: `update core.evaluation_version set final_price = 1 where ${ofFirst('evaluation_version')}`,
    table: 'core.evaluation_version',
    says: column('final_price', '1.000', '23500.000'),
  },
  'an evaluation deleted, its children left': {
    sql: `delete from core.evaluation where ${ofFirst('evaluation')}`,
    table: 'core.evaluation',
    says: missing,
  },
}

const pricePlants: Readonly<Record<string, Plant>> = {
  'an AI price changed': {
    sql: `update core.price_observation set retail = 1 where ${ofFirst('price_observation')}`,
    table: 'core.price_observation',
    says: column('retail', '1.000', expect.stringMatching(/^\d{4,}/)),
  },
  'an AI price deleted': {
    sql: `delete from core.price_observation where ${ofFirst('price_observation')}`,
    table: 'core.price_observation',
    says: missing,
  },
  'an extra AI price': {
    sql: `insert into core.price_observation (rooftop_id, eval_id, price_source, observed_at, last_confirmed_at, is_current,
        as_of_date, retail, currency_code, confidence, value_hash, run_id)
      select rooftop_id, eval_id, price_source, observed_at + interval '1 hour', observed_at + interval '1 hour', false,
        as_of_date, 1, currency_code, confidence, value_hash, run_id + 1
      from core.price_observation where ${ofFirst('price_observation')}`,
    table: 'core.price_observation',
    says: extra,
  },
  'an AI price no longer current': {
    sql: `update core.price_observation set is_current = false where ${ofFirst('price_observation')}`,
    table: 'core.price_observation',
    says: column('is_current', 'false', 'true'),
  },
  'an extra insight': {
    sql: `insert into core.price_insight (rooftop_id, eval_id, price_source, observed_at, audience, position, insight)
      select rooftop_id, eval_id, price_source, observed_at, 'dealer', 1, 'x'
      from core.price_observation where ${ofFirst('price_observation')}`,
    table: 'core.price_insight',
    says: extra,
  },
}

const checkPlants: Readonly<Record<string, Plant>> = {
  'the time of a check changed': {
    sql: `update core.vehicle_check set searched_at = searched_at - interval '1 day' where ${ofFirst('vehicle_check')}`,
    table: 'core.vehicle_check',
    says: column('searched_at', expect.any(String), new Date(now.getTime() - hourMs).toISOString()),
  },
  'the status of a watch changed': {
    sql: `update core.vehicle_check set watch_status = 'disabled' where ${ofFirst('vehicle_check')}`,
    table: 'core.vehicle_check',
    says: column('watch_status', 'disabled', expect.stringMatching(/watching|unchanged/)),
  },
  'the vehicle of a check changed': {
    sql: `update core.vehicle_check set vin = 'JTMDFREV999999999' where ${ofFirst('vehicle_check')}`,
    table: 'core.vehicle_check',
    says: column('vin', 'JTMDFREV999999999', expect.stringMatching(/^JTMDFREV9/)),
  },
  'a listed check marked as gone': {
    sql: `update core.vehicle_check set gone_at = first_seen_at where ${ofFirst('vehicle_check')}`,
    table: 'core.vehicle_check',
    says: column('gone_at', expect.any(String), null),
  },
  'a check deleted': {
    sql: `delete from core.vehicle_check where ${ofFirst('vehicle_check')}`,
    table: 'core.vehicle_check',
    says: missing,
  },
  'an extra check': {
    sql: `insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at)
      select rooftop_id, eval_id, check_kind, 'extra-' || rooftop_id || '-' || (select count(*) from core.vehicle_check), group_id, vin, first_seen_at - interval '1 day'
      from core.vehicle_check where gone_at is null and ${ofFirst('vehicle_check')}`,
    table: 'core.vehicle_check',
    says: column('gone_at', null, expect.any(String)),
  },
  'a link changed': {
    sql: `update pii.signed_link set url = 'http://127.0.0.1/other' where ${ofFirst('signed_link')}`,
    table: 'pii.signed_link',
    says: hidden('url'),
  },
  'a link deleted': {
    sql: `delete from pii.signed_link where ${ofFirst('signed_link')}`,
    table: 'pii.signed_link',
    says: missing,
  },
}

const ownUsers = `user_id in (select user_id from core.app_user join core.rooftop using (group_id)
  where rooftop_id = any($1) and display_name = rooftop_uid)`
const userPlants: Readonly<Record<string, Plant>> = {
  'the name of a user changed': {
    sql: `update core.app_user set display_name = 'Someone' where ${ownUsers}`,
    table: 'core.app_user',
    says: hidden('display_name'),
    isOfGroup: true,
  },
  'a user no longer active': {
    sql: `update core.app_user set is_active = false where ${ownUsers}`,
    table: 'core.app_user',
    says: column('is_active', 'false', 'true'),
    isOfGroup: true,
  },
  'a user no longer in the list': {
    sql: `update core.app_user set in_user_list = false where ${ownUsers}`,
    table: 'core.app_user',
    says: column('in_user_list', 'false', 'true'),
    isOfGroup: true,
  },
  'a membership deleted': {
    sql: `delete from core.app_user_rooftop as member using core.app_user as own, core.rooftop
      where member.rooftop_id = any($1) and rooftop.rooftop_id = member.rooftop_id and own.user_id = member.user_id
        and display_name = rooftop_uid`,
    table: 'core.app_user_rooftop',
    says: missing,
  },
  'an extra membership': {
    sql: `with person as (
        insert into core.app_user (group_id, is_generated_link_account, is_active, in_user_list)
        select group_id, false, true, true from core.rooftop where rooftop_id = any($1) returning user_id, group_id)
      insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
      select rooftop_id, max(user_id), true from person join core.rooftop using (group_id) where rooftop_id = any($1) group by 1`,
    table: 'core.app_user_rooftop',
    says: extra,
  },
}

const ofFirstUnit = `(rooftop_id, stock_no) in (
  select rooftop_id, min(stock_no) from core.stock_unit where rooftop_id = any($1) group by 1)`
const stockPlants: Readonly<Record<string, Plant>> = {
  'a price of a unit changed': {
    sql: `update core.stock_price_observation set wholesale = 1 where ${ofFirstUnit}`,
    table: 'core.stock_price_observation',
    says: column('wholesale', '1.000', expect.stringMatching(/^\d{4,}/)),
  },
  'a price of a unit deleted': {
    sql: `delete from core.stock_price_observation where ${ofFirstUnit}`,
    table: 'core.stock_price_observation',
    says: missing,
  },
  'an extra price of a unit': {
    sql: `insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at, last_confirmed_at, is_current,
        currency_code, value_hash, run_id)
      select rooftop_id, stock_no, price_source, observed_at + interval '1 hour', observed_at + interval '1 hour', false,
        currency_code, value_hash, run_id + 1 from core.stock_price_observation where ${ofFirstUnit}`,
    table: 'core.stock_price_observation',
    says: extra,
  },
}

const plants: Readonly<Record<string, Readonly<Record<string, Plant>>>> = {
  // First, because its links expire after some nights.
  'vehicle-checks': checkPlants,
  evaluations: evaluationPlants,
  pricing: pricePlants,
  users: userPlants,
  'stock-prices': stockPlants,
}

/** Compares the rows of all streams, or of one. */
async function compare(
  { context, config }: Fixture,
  { stream, ...sample }: { stream?: string; size?: number; seed?: string } = {},
): Promise<RowsVerification> {
  const rooftops = await findRooftops(context.db, config.rooftops)
  const streams = allStreams.filter(({ name }) => stream === undefined || name === stream)
  const { size, seed = '' } = sample
  const taken = size === undefined ? null : { sample: { size, seed }, days: null }
  return await verifyRows(context, streams, rooftops, taken, context.signal)
}

async function replay({ context, config }: Fixture, stream: string): Promise<void> {
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  const streams = allStreams.filter(({ name }) => name === stream)
  const report = await runStreams(context, { plan, streams, rooftops: config.rooftops })
  expect(JSON.stringify(report.rooftops)).not.toContain('error')
  expect(report.status).toBe('ok')
}

/** Each test leaves the rows as the payloads have them. */
let fixture: Fixture

beforeAll(async () => {
  fixture = await loaded()
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

test.each(Object.keys(plants))(
  'every planted row of %s is named, at one rooftop or at all, and a replay sets it right',
  async (stream) => {
    const { pool } = fixture.database
    const { rows: known } = await pool.query<{ uid: string; id: number }>(
      'select rooftop_uid as uid, rooftop_id as id from core.rooftop',
    )
    const idOf = new Map(known.map(({ uid, id }) => [uid, id]))
    expect(await compare(fixture)).toMatchObject({ records: 3 + 9 + 9 + 9 + 6, differing: 0 })

    for (const [index, [name, plant]] of someOf(Object.entries(plants[stream]!), 1).entries()) {
      const one = [uids[index % uids.length]!]
      // The first plant at one rooftop and at all, the others at these in turn.
      const places = index === 0 ? [one, uids] : [index % 2 === 0 ? one : uids]
      for (const at of places) {
        const about = `${name} at ${at.join(', ')}`
        const { rowCount } = await pool.query(plant.sql, [at.map((uid) => idOf.get(uid)!)])
        expect(rowCount, about).toBeGreaterThan(0)

        const { rows } = await compare(fixture, { stream })

        const named = rows.filter(({ table }) => table === plant.table)
        expect(
          named.map(({ kind, columns }) => ({ kind, columns })),
          about,
        ).toEqual(at.map(() => plant.says))
        if (!plant.isOfGroup) expect(named.map(({ rooftop }) => rooftop)).toEqual(at)
        await replay(fixture, stream)
        expect((await compare(fixture, { stream })).rows, `${about}, replayed`).toEqual([])
      }
    }
    const { streams } = await fixture.nightAfter(1, impatient(fixture))
    expect(streams[stream]).toMatchObject({ inserted: 0, quarantined: 0 })
  },
  120_000,
)

test('a sample takes the same records for the same seed, and names a planted row among them', async () => {
  await using fixture = await loaded()
  const { pool } = fixture.database
  await pool.query('update core.evaluation set final_price = 1')

  const some = await compare(fixture, { size: 9, seed: 'a' })

  expect(some.records).toBe(9)
  expect(some.differing).toBe(some.rows.length)
  expect(await compare(fixture, { size: 9, seed: 'a' })).toEqual(some)
  expect((await compare(fixture, { size: 9, seed: 'b' })).rows).not.toEqual(some.rows)
  expect(await compare(fixture, { size: 1000, seed: 'a' })).toMatchObject({
    records: 36,
    differing: 9,
  })
})

test('a payload that no longer fits is named until a replay has put it into quarantine', async () => {
  await using fixture = await loaded()
  await fixture.database.pool.query(
    "update raw.payload set body = '[{}]' where endpoint = 'geteval' and natural_key = '1001'",
  )

  const { rows, ...counts } = await compare(fixture)

  expect(counts).toMatchObject({ differing: 1, streams: ['evaluations'], unfit: 1 })
  const key = { natural_key: '1001' }
  expect(rows).toMatchObject([{ table: 'raw.payload', key, kind: 'unfit', rooftop: 'one-north' }])
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  const { rooftops } = fixture.config
  const streams = allStreams.filter(({ name }) => name === 'evaluations')
  expect((await runStreams(fixture.context, { plan, streams, rooftops })).status).toBe('partial')
  expect((await compare(fixture)).rows).toEqual([])
})

test('replay writes the JSON of a payload, whatever JSON is stored in its place', async () => {
  const { pool } = fixture.database
  const bodies = async () =>
    (await pool.query('select eval_id, body from core.user_price order by 1')).rows
  const before = await bodies()

  for (const wrong of someOf(['null', '"text"', '{}', '5', 'true', '[]'], 3)) {
    await pool.query('update core.user_price set body = $1::jsonb', [wrong])
    await replay(fixture, 'evaluations')
    expect({ wrong, bodies: await bodies() }).toEqual({ wrong, bodies: before })
  }
})
