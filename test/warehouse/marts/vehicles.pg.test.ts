import fc from 'fast-check'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { evaluationRow } from '../../support/aggregates.ts'
import { inSession, repeatDifferences, sampleEvaluation } from '../../support/aggregates-fixture.ts'
import { caseCount } from '../../support/cases.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const vins = ['JTMDFREV90D123456', 'WBA00000000000000', 'short', null]

/** Evaluations 1 to 4 and units A to C, of rooftops 1 to 3: the third is of another dealer group. Evaluations 1 to 3 have a check with a link. */
async function writeStart(pool: pg.Pool): Promise<void> {
  await pool.query(`
    truncate core.evaluation, core.stock_unit, core.vehicle_check, pii.signed_link, core.rooftop, core.rooftop_group restart identity cascade;
    insert into core.rooftop_group (group_code) values ('first'), ('other');
    insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
    select 'r' || n, (n + 1) / 2, 'Rooftop ' || n, 'AU', 'Australia/Sydney', 'AUD', 'km' from generate_series(1, 3) as n`)
  const rows = [1, 2, 3, 4].map((id) => ({
    ...evaluationRow({ ...sampleEvaluation, id, vin: vins[id % 4]! }),
    ...{ rooftop_id: 1 + (id % 3), group_id: id % 3 === 2 ? 2 : 1, make: `Make ${id}` },
    ...{ created_at: new Date(Date.UTC(2026, 0, id)) },
  }))
  await pool.query(
    'insert into core.evaluation select * from json_populate_recordset(null::core.evaluation, $1)'.replace(
      'core.evaluation select *',
      `core.evaluation (${Object.keys(rows[0]!).join(', ')}) select ${Object.keys(rows[0]!).join(', ')}`,
    ),
    [JSON.stringify(rows.map((row) => ({ ...row, content_hash: '\\x00' })))],
  )
  await pool.query(`
    insert into core.stock_unit (rooftop_id, stock_no, vin, make, currency_code, price_on_application, extras, content_hash, first_seen_at, last_seen_at, import_id)
    select n, chr(64 + n), '${vins[0]}', null, 'AUD', false, '{}', '', '2026-01-02', now(), 1 from generate_series(1, 3) as n`)
  await pool.query(`
    insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at)
    select rooftop_id, eval_id, 'ppsr', 'C' || eval_id, group_id, coalesce(upper(vin), '${vins[0]}'), now() from core.evaluation where eval_id < 4;
    ${newLinks}`)
}

const newLinks = `
  insert into pii.signed_link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
  select rooftop_id, eval_id, 'ppsr_pdf', check_ref, 'https://pdf.example.com/', now(), now() + interval '7 days' from core.vehicle_check
  on conflict (rooftop_id, eval_id, link_kind, link_ref) do update set expires_at = excluded.expires_at`

const vin = fc.constantFrom(...vins.map((one) => (one === null ? 'null' : `'${one}'`)))
const id = fc.integer({ min: 1, max: 4 })
const unit = fc.constantFrom('A', 'B', 'C')
const rooftop = fc.integer({ min: 1, max: 3 })
const make = fc.constantFrom('null', "'Toyota'", "'BMW'")

/** A statement of a load, of an import, or of a person at a prompt. */
const statement = fc.oneof(
  fc
    .tuple(vin, make, id)
    .map(
      ([to, of, one]) =>
        `update core.evaluation set vin = ${to}, make = ${of}, created_at = created_at + interval '1 day' where eval_id = ${one}`,
    ),
  fc
    .tuple(rooftop, id)
    .map(
      ([to, one]) =>
        `update core.evaluation set rooftop_id = ${to}, group_id = (select group_id from core.rooftop where rooftop_id = ${to}) where eval_id = ${one}`,
    ),
  id.map(
    (one) =>
      `update core.evaluation set completed_at = null, completed_date_local = null where eval_id = ${one}`,
  ),
  id.map((one) => `update core.evaluation set gone_at = now() where eval_id >= ${one}`),
  id.map((one) => `delete from core.evaluation where eval_id = ${one}`),
  fc
    .tuple(vin, make, unit)
    .map(
      ([to, of, one]) =>
        `update core.stock_unit set vin = ${to}, make = ${of} where stock_no = '${one}'`,
    ),
  unit.map((one) => `update core.stock_unit set off_stock_at = now() where stock_no = '${one}'`),
  unit.map((one) => `delete from core.stock_unit where stock_no >= '${one}'`),
  fc
    .tuple(rooftop, fc.integer({ min: 1, max: 2 }))
    .map(
      ([of, to]) =>
        `with moved as (update core.rooftop set group_id = ${to} where rooftop_id = ${of}) update core.evaluation set group_id = ${to} where rooftop_id = ${of}`,
    ),
  id.map((one) => `update core.evaluation set gone_at = null where eval_id = ${one}`),
  fc.constantFrom('truncate core.evaluation', 'truncate core.stock_unit'),
)

/** Of the loads of a dealer group one at a time writes checks and links, so only one of the two sessions does. */
const ofChecks = fc.oneof(
  fc
    .tuple(rooftop, fc.integer({ min: 1, max: 2 }))
    .map(([of, to]) => `update core.vehicle_check set group_id = ${to} where rooftop_id = ${of}`),
  fc
    .tuple(fc.constantFrom('null', 'now()'), id)
    .map(([at, one]) => `update core.vehicle_check set gone_at = ${at} where eval_id <= ${one}`),
  fc
    .tuple(fc.constantFrom(vins[0], vins[1]), id)
    .map(([to, one]) => `update core.vehicle_check set vin = '${to}' where eval_id = ${one}`),
  id.map((one) => `delete from core.vehicle_check where eval_id = ${one}`),
  id.map((one) => `delete from pii.signed_link where eval_id = ${one}`),
  fc.constant(newLinks),
)

interface Seen {
  readonly key: string
  readonly make: string | null
  readonly at: number
  readonly order: string
  readonly isUnit: boolean
  readonly isOnHand: boolean
}

/** What mart.dim_vehicle should show, counted here. */
async function counted(pool: pg.Pool): Promise<unknown[]> {
  const { rows } = await pool.query<Seen>(`
    select group_id || '-' || upper(vin) as key, make, extract(epoch from created_at)::float8 as at, '0' || rooftop_id || eval_id as order,
      false as "isUnit", false as "isOnHand"
    from core.evaluation where length(vin) = 17
    union all
    select group_id || '-' || vin, make, extract(epoch from s.first_seen_at)::float8, '1' || rooftop_id || stock_no, true, off_stock_at is null
    from core.stock_unit as s join core.rooftop using (rooftop_id) where length(vin) = 17`)
  return [...Map.groupBy(rows, ({ key }) => key)]
    .map(([key, seen]) => ({
      vehicle_key: key,
      make:
        seen
          .filter((one) => one.make !== null)
          .sort((a, b) => b.at - a.at || (a.order < b.order ? -1 : 1))[0]?.make ?? null,
      evaluations: seen.filter(({ isUnit }) => !isUnit).length,
      is_in_stock: seen.some(({ isOnHand }) => isOnHand),
      first: Math.min(...seen.map(({ at }) => at)),
      last: Math.max(...seen.map(({ at }) => at)),
    }))
    .sort((a, b) => (a.vehicle_key < b.vehicle_key ? -1 : 1))
}

/** The links in scope, each found by its check and an evaluation of the vehicle. */
async function countedLinks(pool: pg.Pool): Promise<unknown[]> {
  const { rows } = await pool.query(`
    select link_ref from pii.signed_link as link
    join core.vehicle_check as checked on checked.rooftop_id = link.rooftop_id and checked.eval_id = link.eval_id
      and link_kind = check_kind || '_pdf' and link_ref = check_ref and checked.gone_at is null
    where exists (select from core.evaluation as e where e.group_id = checked.group_id and length(e.vin) = 17 and upper(e.vin) = checked.vin and e.gone_at is null)
    order by 1`)
  return rows
}

async function shown(pool: pg.Pool): Promise<unknown[]> {
  const { rows } = await pool.query(`
    select vehicle_key, make, evaluations, is_in_stock, extract(epoch from first_seen_at)::float8 as first, extract(epoch from last_seen_at)::float8 as last
    from mart.dim_vehicle order by vehicle_key collate "C"`)
  return rows
}

test('vehicles and links follow any change of evaluations, checks and stock, whoever makes it, also two at once', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const transactions = (one: fc.Arbitrary<string>) =>
    fc.array(
      fc.record({
        statements: fc.array(one, { minLength: 1, maxLength: 4 }),
        ends: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
      }),
      { minLength: 1, maxLength: 4 },
    )
  let vehicles = 0
  const links = { inScope: 0, out: 0 }
  await fc.assert(
    fc.asyncProperty(
      transactions(fc.oneof(statement, ofChecks)),
      transactions(statement),
      async (ours, theirs) => {
        await writeStart(pool)
        await Promise.all([ours, theirs].map(async (chain) => await perform(pool, chain)))

        const expected = await counted(pool)
        vehicles += expected.length
        expect(await shown(pool)).toEqual(expected)
        expect(await repeatDifferences(pool)).toEqual([])
        const { rows } = await pool.query(
          'select link_ref, is_in_scope from pii.signed_link order by link_ref',
        )
        const inScope = rows.filter((link) => link.is_in_scope)
        expect(inScope.map(({ link_ref }) => ({ link_ref }))).toEqual(await countedLinks(pool))
        links.inScope += inScope.length
        links.out += rows.length - inScope.length
        expect((await pool.query('select from core.vehicle_touched')).rowCount).toBe(0)
      },
    ),
    { numRuns: caseCount(80, 30), endOnFailure: true },
  )
  expect(vehicles).toBeGreaterThan(30)
  expect(Math.min(links.inScope, links.out)).toBeGreaterThan(5)
})

test('an import that confirms every unit, or a link that is signed again, touches no vehicle, and a change of one touches its own', async () => {
  await using database = await createTestDatabase()
  await writeStart(database.pool)
  await inSession(database.pool, async (client) => {
    const touched = async (statement: string) => {
      await client.query('begin')
      await client.query(statement)
      const { rows } = await client.query('select groups, vins from core.vehicle_touched')
      await client.query('rollback')
      return rows
    }

    expect(
      await touched('update core.stock_unit set last_seen_at = now(), asking_price = 1'),
    ).toEqual([])
    expect(await touched('update core.evaluation set photo_count = 7')).toEqual([])
    expect(await touched(newLinks)).toEqual([])
    expect(await touched('update core.vehicle_check set watch_ends_at = now()')).toEqual([])
    expect(await touched("update core.stock_unit set make = 'BMW' where stock_no = 'C'")).toEqual([
      { groups: [2], vins: [vins[0]] },
    ])
  })
})

test('a change of a vehicle reads the checks of that vehicle, not those of its dealer group', async () => {
  await using database = await createTestDatabase()
  await writeStart(database.pool)
  await database.pool.query(`
    insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at)
    select 1, 100 + n, 'ppsr', 'D' || n, 1, 'WBA' || lpad(n::text, 14, '0'), now() from generate_series(1, 1000) as n;
    ${newLinks}`)
  await inSession(database.pool, async (client) => {
    // As Postgres before version 18 plans the statement of a function.
    await client.query('set plan_cache_mode = force_generic_plan')
    const checksRead = async () => {
      const { rows } = await client.query<{ checks: number }>(
        `select seq_tup_read + idx_tup_fetch as checks from pg_stat_xact_user_tables where relname = 'vehicle_check'`,
      )
      return rows[0]!.checks
    }
    await client.query('begin')
    const before = await checksRead()

    await client.query(`update core.evaluation set make = 'BMW' where eval_id = 1`)
    await client.query('set constraints all immediate')

    expect((await checksRead()) - before).toBeLessThan(10)
    await client.query('rollback')
  })
})

describe('a statement that touches the vehicles of many dealer groups', () => {
  const stockUnits = (numbers: string) => `
    insert into core.stock_unit (rooftop_id, stock_no, vin, currency_code, price_on_application, extras, content_hash, first_seen_at, last_seen_at, import_id)
    select 3 + n % 200, 'M' || n, 'WBA' || lpad(n::text, 14, '0'), 'AUD', false, '{}', '', now(), now(), 1 from generate_series(${numbers}) as n`

  async function writeGroups(pool: pg.Pool): Promise<void> {
    await writeStart(pool)
    await pool.query(`
      insert into core.rooftop_group (group_code) select 'many ' || n from generate_series(3, 202) as n;
      insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
      select 'm' || n, n, 'Rooftop ' || n, 'AU', 'Australia/Sydney', 'AUD', 'km' from generate_series(3, 202) as n`)
  }

  test('fits in the lock table of a server with default settings', async () => {
    await using database = await createTestDatabase()
    const { pool } = database
    await writeGroups(pool)

    await pool.query(stockUnits('1, 2000'))

    expect(await shown(pool)).toEqual(await counted(pool))
    expect((await pool.query('select from core.vehicle')).rowCount).toBeGreaterThan(2000)
  })

  test('and a load of one of them wait for each other', async () => {
    await using database = await createTestDatabase()
    const { pool } = database
    await writeGroups(pool)
    const ofOne = `update core.stock_unit set vin = 'WBA00000000000007' where stock_no = 'C'; set constraints all immediate`
    for (const [first, second] of [
      [`${stockUnits('1, 200')}; set constraints all immediate`, ofOne],
      [ofOne, `${stockUnits('201, 400')}; set constraints all immediate`],
    ])
      await inSession(pool, async (one) => {
        await one.query('begin')
        await one.query(first!)
        await inSession(pool, async (other) => {
          await other.query(`begin; set local lock_timeout = '100ms'`)
          await expect(other.query(second!)).rejects.toMatchObject({ code: '55P03' })
          await other.query('rollback')
        })
        await one.query('commit')
        expect(await shown(pool)).toEqual(await counted(pool))
      })
  })
})

async function perform(
  pool: pg.Pool,
  chain: readonly { readonly statements: readonly string[]; readonly ends: string }[],
): Promise<void> {
  await inSession(pool, async (client) => {
    await client.query("set deadlock_timeout = '20ms'")
    for (const { statements, ends } of chain)
      try {
        await client.query('begin')
        for (const one of statements) await client.query(one)
        await client.query(ends)
      } catch (error) {
        await client.query('rollback')
        // Two that change the same rows in another order.
        if ((error as { code?: string }).code !== '40P01') throw error
      }
  })
}

test.each([
  ['fact_photo', 'evaluation_key', 'photo_key'],
  ['fact_reconditioning', 'evaluation_key', 'reconditioning_item_key'],
  ['fact_price_observation', 'evaluation_key', 'price_observation_key'],
  ['fact_price_confirmation', 'evaluation_key', 'price_observation_key'],
  ['fact_evaluation_change', 'evaluation_key', 'evaluation_version_key'],
  ['fact_vehicle_check', 'evaluation_key', 'vehicle_check_key'],
  ['fact_watch_status_change', 'evaluation_key', 'watch_status_change_key'],
  ['evaluation_wide', 'evaluation_key', 'evaluation_key'],
  ['dim_customer_masked', 'evaluation_key', 'evaluation_key'],
  ['dim_vehicle', 'vehicle_key', 'vehicle_key'],
])('a join of fact_evaluation and %s on %s finds rows by an index', async (view, key, index) => {
  await using database = await createTestDatabase()
  await inSession(database.pool, async (client) => {
    // Tables are empty here: an index is the only way that is left where there is one.
    await client.query(
      'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off',
    )
    for (const [one, other] of [
      ['fact_evaluation', view],
      [view, 'fact_evaluation'],
    ]) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain select * from mart.${one} as one join mart.${other} as other using (${key}) where one.rooftop_id = 1`.replace(
          'one.rooftop_id = 1',
          one === 'dim_vehicle' ? "one.vin = 'JTMDFREV90D123456'" : 'one.rooftop_id = 1',
        ),
      )
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      const expected =
        other === view ? index : key === 'vehicle_key' ? 'evaluation_vehicle_key' : 'evaluation_key'
      expect(plan).toMatch(new RegExp(`(Index|Bitmap Index) Scan (using|on) ${expected}\\b`))
    }
  })
})

test.each([
  ['a unit', "rooftop_id = 1 and stock_no = 'S1'"],
  ['a rooftop', 'rooftop_id = 1'],
])('the asking prices of %s are found by an index of the changes', async (_, condition) => {
  await using database = await createTestDatabase()
  await inSession(database.pool, async (client) => {
    await client.query('set enable_seqscan = off')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain select * from core.stock_asking_price where ${condition}`,
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/Index Scan (using|on) stock_unit_change_pkey/)
    // A stored CTE would have the changes of all units, also by an index.
    expect(plan).not.toContain('CTE')
  })
})
