import type pg from 'pg'
import { expect, test } from 'vitest'
import { getPricing } from '#src/api/contract/appraisal/pricing.ts'
import { type SeededRandom, seededRandom } from '#src/sandbox/seeded-random.ts'
import { duePrices } from '#src/streams/pricing/pricing.ts'
import { dueChecks } from '#src/streams/vehicle-checks/due.ts'
import type { DueQuery, EnrichmentSettings } from '#src/sync/enrich/enrichment.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { caseCount } from '../support/cases.ts'
import { allDueChecks, allDuePrices } from '../support/due-reference.ts'
import { createTestDatabase } from '../support/postgres.ts'

// Random histories of three rooftops, two of them in a group. After each change the tasks that are found by index must be those that
// are found among everything.

const pricing = { stream: 'pricing', ask: getPricing.name }
const checkAsks = ['getpastppsrsearch', 'getpastcarhistory', 'ppsrwatch']
const runStart = new Date(Math.floor(Date.now() / 1000) * 1000)
const dayMs = 86_400_000
const evaluationIds = Array.from({ length: 40 }, (_, at) => at + 1)
const groupOf = (rooftop: number) => (rooftop === 3 ? 2 : 1)

/** Days from the start of the run, often on a limit of a schedule or close to it. */
const edges = [0, 3, 7, 14, 30, 60, 90, 365, 400, 900]
function daysFrom(random: SeededRandom, sign: 1 | -1): Date {
  const days = random.pick(edges) + random.pick([-0.01, 0, 0.01, 0.5, 1])
  return new Date(runStart.getTime() + sign * days * dayMs)
}
const before = (random: SeededRandom) => daysFrom(random, -1)
const around = (random: SeededRandom) => daysFrom(random, random.pick([1, -1, -1]))
const maybe = <T>(random: SeededRandom, chance: number, value: () => T): T | null =>
  random.chance(chance) ? value() : null

function drawVin(random: SeededRandom): string | null {
  const vin = `JTMDFREV90D1234${random.int(10, 24)}`
  return random.pick([vin, vin, vin, vin, vin, vin.toLowerCase(), 'short', null])
}

function drawEvaluation(random: SeededRandom, id: number) {
  const rooftop = random.int(1, 3)
  const created = before(random)
  const completed = random.pick([created, created, created, created, created, null])
  return {
    ...{ rooftop_id: rooftop, eval_id: id, group_id: groupOf(rooftop), vin: drawVin(random) },
    ...{ entry_at: created, created_at: created, created_at_source: 'CreatedAt' },
    ...{ completed_at: completed, source_updated_at: random.pick([created, before(random)]) },
    ...{ created_date_local: '2026-01-01', completed_date_local: null, odometer_unit: 'km' },
    ...{ odometer: maybe(random, 0.9, () => 10), currency_code: 'AUD', photo_count: 0 },
    ...{ user_price_count: 0, version_no: 1, content_hash: '\\x00', first_loaded_at: created },
    ...{ last_changed_at: created, gone_at: maybe(random, 0.1, () => runStart), run_id: 1 },
  }
}

/** The state of a question, of any time: also one that this run has asked, that is made due, or that moved here. */
function drawState(
  random: SeededRandom,
  owner: { rooftop_id: number; eval_id: number },
  ask: string,
) {
  const times = [before(random), before(random), runStart, new Date(runStart.getTime() + 1000)]
  return {
    ...owner,
    ...{ stream: ask === pricing.ask ? 'pricing' : 'vehicle-checks', ask },
    next_due_at: random.pick([null, '-infinity', around(random), ...times.slice(2)]),
    last_asked_at: random.pick([...times, '-infinity']),
    polling_since: maybe(random, 0.15, () => before(random)),
    failures: random.pick([0, 0, 0, 0, 1, 3]),
    outcome: random.pick(['answered', 'answered', 'processing', 'skipped', 'rejected', 'failed']),
  }
}

type Evaluation = ReturnType<typeof drawEvaluation>

function drawCheck(random: SeededRandom, evaluations: readonly Evaluation[], at: number) {
  const { rooftop_id, eval_id, group_id, vin } = random.pick(evaluations)
  const kind = random.pick(['ppsr', 'ppsr', 'car_history'])
  const statuses = ['changed', 'expired', 'watching', 'unchanged', 'disabled', 'not_watched', null]
  const check = {
    ...{ rooftop_id, eval_id, group_id, check_kind: kind, check_ref: `ref-${at}` },
    vin: vin?.toUpperCase() ?? 'JTMDFREV90D123410',
    watch_status: random.pick(statuses),
    watch_ends_at: maybe(random, 0.8, () => around(random)),
    ...{ first_seen_at: before(random), gone_at: maybe(random, 0.1, () => runStart), run_id: 1 },
  }
  const link = {
    ...{ rooftop_id, eval_id, link_kind: `${kind}_pdf`, link_ref: check.check_ref, url: 'x' },
    ...{ signed_at: new Date(0), expires_at: random.pick([around(random), daysFrom(random, 1)]) },
  }
  return { check, link }
}

function drawPaidCall(random: SeededRandom) {
  const days = random.pick([1, 29, 31])
  return {
    ...{ operation: 'x', budget: random.pick(['ppsrSearch', 'carHistory']), requested_by: 'x' },
    ...{ rooftop_id: random.int(1, 3), natural_key: String(random.pick(evaluationIds)) },
    ...{ day: runStart, state: random.pick(['committed', 'reserved']) },
    at: new Date(Date.now() - days * dayMs),
    check_ref: maybe(random, 0.5, () => `ref-${random.int(0, 30)}`),
    source_at: maybe(random, 0.7, () => before(random)),
  }
}

async function insert(
  pool: pg.Pool | pg.ClientBase,
  table: string,
  rows: readonly object[],
  end = '',
) {
  if (rows.length === 0) return
  const columns = Object.keys(rows[0]!).join(', ')
  await pool.query(
    `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1) ${end}`,
    [JSON.stringify(rows)],
  )
}

async function plant(pool: pg.Pool, random: SeededRandom): Promise<void> {
  await pool.query(
    `truncate core.evaluation, core.vehicle_check, pii.signed_link, ops.enrichment_state, ops.billable_call cascade`,
  )
  const evaluations = evaluationIds.map((id) => drawEvaluation(random, id))
  await insert(pool, 'core.evaluation', evaluations)
  const states = evaluations.flatMap(({ rooftop_id, eval_id }) =>
    [pricing.ask, ...checkAsks].flatMap((ask) =>
      random.chance(0.6) ? [drawState(random, { rooftop_id, eval_id }, ask)] : [],
    ),
  )
  await insert(pool, 'ops.enrichment_state', states)
  const checks = Array.from({ length: random.int(0, 30) }, (_, at) =>
    drawCheck(random, evaluations, at),
  )
  await insert(
    pool,
    'core.vehicle_check',
    checks.map(({ check }) => check),
  )
  const linked = checks.filter(() => random.chance(0.7))
  await insert(
    pool,
    'pii.signed_link',
    linked.map(({ link }) => link),
  )
  const calls = Array.from({ length: random.int(0, 6) }, () => drawPaidCall(random))
  await insert(pool, 'ops.billable_call', calls)
}

/** Changes some rows as a load, an answer, or a person with SQL does. */
async function change(pool: pg.Pool, random: SeededRandom): Promise<void> {
  const ids = evaluationIds.filter(() => random.chance(0.1))
  const some = `eval_id = any('{${ids.join(',')}}')`
  const time = `'${around(random).toISOString()}'`
  const rooftop = random.int(1, 3)
  const group = groupOf(rooftop)
  const { rows: owners } = await pool.query(
    `select rooftop_id, eval_id from core.evaluation where ${some}`,
  )
  const statements = [
    `update core.evaluation set source_updated_at = ${time} where ${some}`,
    `update core.evaluation set source_updated_at = source_updated_at where ${some}`,
    `update core.evaluation set gone_at = case when gone_at is null then ${time}::timestamptz end where ${some}`,
    `update core.evaluation set completed_at = case when completed_at is null then created_at end where ${some}`,
    `update core.evaluation set odometer = case when odometer is null then 5 end where ${some}`,
    `update core.evaluation set rooftop_id = ${rooftop}, group_id = ${group} where ${some};
     update ops.enrichment_state set rooftop_id = ${rooftop} where ${some}`,
    `update core.evaluation set rooftop_id = ${rooftop}, group_id = ${group} where ${some}`,
    `delete from core.evaluation where ${some}`,
    `create temp table again as select * from ops.enrichment_state where ${some};
     delete from ops.enrichment_state where ${some}; insert into ops.enrichment_state select * from again; drop table again`,
    `delete from ops.enrichment_state where ${some}`,
    `update ops.enrichment_state set last_asked_at = ${time} where ${some}`,
    `update ops.enrichment_state set next_due_at = '-infinity', stream = 'pricing', ask = 'pricingAi' where ${some} and ask = 'ppsrwatch'
     and not exists (select from ops.enrichment_state as other where other.eval_id = enrichment_state.eval_id and other.stream = 'pricing')`,
    `update core.vehicle_check set watch_status = 'unchanged', watch_ends_at = ${time} where ${some}`,
    `update pii.signed_link set expires_at = greatest(signed_at + interval '1 day', ${time}) where ${some}`,
    ...(random.chance(0.3) ? ['truncate ops.enrichment_state'] : []),
  ]
  if (random.chance(0.2)) {
    const states = owners.map((owner) => drawState(random, owner, pricing.ask))
    const known = `on conflict (rooftop_id, stream, eval_id, ask) do update set last_asked_at = excluded.last_asked_at, next_due_at = excluded.next_due_at`
    await insert(pool, 'ops.enrichment_state', states, known)
  } else await pool.query(random.pick(statements))
}

function drawQuery(random: SeededRandom, rooftop: number): DueQuery {
  const now = new Date(runStart.getTime() + random.pick([0, 5000]))
  const keys = evaluationIds.filter(() => random.chance(0.2)).map(String)
  return {
    ...{ now, runStart, history: null, scope: random.pick(['all', 'all', 'all', 'links']) },
    limit: random.pick([2, 200, Number.MAX_SAFE_INTEGER]),
    budget: random.pick([0, 3, 1000]),
    only: maybe(random, 0.2, () => [
      ...keys,
      ...keys.map((key) => `${key}/${random.pick(checkAsks)}`),
    ]),
    evalId: maybe(random, 0.2, () => random.pick(evaluationIds)),
    siblings: [rooftop, ...[1, 2].filter((id) => id !== rooftop && random.chance(0.5))],
  }
}

function drawSettings(random: SeededRandom): EnrichmentSettings {
  return {
    pricing: { reasoning: false, budget: 1000 },
    checks: {
      lookForNewDays: random.pick([0, 7, 90]),
      lookEveryDays: 7,
      dailyForDays: 3,
      backfillBudget: 1,
    },
    links: { refreshBeforeHours: 48, keepAliveDays: random.pick([null, null, 0, 30, 400]) },
  } as EnrichmentSettings
}

test('the tasks that are found by index are those that are found among everything, whatever happened before', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const db = openDb(pool)
  await pool.query(`
    insert into core.rooftop_group (group_code) values ('first'), ('other');
    insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
    select 'r' || n, case when n = 3 then 2 else 1 end, 'Rooftop ' || n, 'AU', 'Australia/Sydney', 'AUD', 'km' from generate_series(1, 3) as n`)
  const found = { prices: 0, checks: 0 }
  const first = Number(process.env['FORECOURT_SEED'] ?? 1)
  for (let seed = first; seed < first + caseCount(100, 12); seed++) {
    const random = seededRandom(seed, 'due')
    await plant(pool, random)
    for (let step = 0; step < 8; step++) {
      if (step > 0) await change(pool, random)
      const rooftop = random.int(1, 3)
      const scope = { id: rooftop, groupId: groupOf(rooftop) }
      const query = drawQuery(random, rooftop)
      const settings = drawSettings(random)
      const prices = await duePrices(db, scope, query)
      const checks = await dueChecks(db, scope, query, settings)

      const stored = await pool.query('select * from ops.new_to_pricing order by 1, 2')
      const facts = await pool.query('select * from ops.new_to_pricing_facts order by 1, 2')
      const about = `FORECOURT_SEED=${seed}, step ${step}`
      expect(prices, about).toEqual(await allDuePrices(db, scope, pricing, query))
      expect(checks, about).toEqual(await allDueChecks(db, scope, query, settings))
      expect(stored.rows, about).toEqual(facts.rows)
      found.prices += prices.length
      found.checks += checks.length
    }
  }
  expect(found.prices).toBeGreaterThan(100)
  expect(found.checks).toBeGreaterThan(100)
})

test('evaluations that arrive in one COPY while their table is new are not looked up one by one', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const evaluations = 3000
  await pool.query(`
    insert into core.rooftop_group (group_code) values ('first');
    insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
    values ('r1', 1, 'Rooftop 1', 'AU', 'Australia/Sydney', 'AUD', 'km')`)
  const random = seededRandom(1, 'one copy')
  const rows = Array.from({ length: evaluations }, (_, at) => ({
    ...drawEvaluation(random, at + 1),
    ...{ rooftop_id: 1, group_id: 1 },
  }))
  const client = await pool.connect()
  try {
    await client.query('begin')

    await insert(client, 'core.evaluation', rows)

    const { rows: read } = await client.query(
      `select seq_tup_read + idx_tup_fetch as evaluations from pg_stat_xact_user_tables where relname = 'evaluation'`,
    )
    expect(read).toEqual([{ evaluations: 0 }])
    const { rows: wrong } = await client.query('select * from ops.new_to_pricing_differences()')
    expect(wrong).toEqual([])
    const { rows: due } = await client.query('select from ops.new_to_pricing')
    expect(due.length).toBeGreaterThan(evaluations / 4)
  } finally {
    await client.query('rollback')
    client.release()
  }
})
