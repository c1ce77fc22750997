import type pg from 'pg'
import { rebuildSums } from './aggregates-fixture.ts'
import { createTestDatabase } from './postgres.ts'

type Row = Readonly<Record<string, unknown>>

/**
 * A warehouse with a few rows written by hand: rooftops 1 (north) and 2 (south) of one dealer group, 3 of another, all in
 * Sydney; 4 in Kuwait, of the first group. Everything happens in one transaction, so that now() stays the same.
 */
export interface SmallWorld extends AsyncDisposable {
  /** Adds rows; columns left out have the defaults below. */
  add(table: keyof typeof defaults, ...rows: Row[]): Promise<void>
  rows(query: string): Promise<Record<string, unknown>[]>
  /** The day `daysAgo` days before today in Sydney. */
  day(daysAgo: number): string
  /** The instant `hours` hours before now(). */
  ago(hours: number): Date
}

const hash = Buffer.alloc(32)
const vin = 'KNADB1234567890AB'

/** What a row has where the test says nothing. */
const defaults = {
  'core.app_user': { group_id: 1, is_generated_link_account: false, in_user_list: true },
  'core.evaluation': {
    ...{ rooftop_id: 1, group_id: 1, vin, make: 'Kia', model: 'Rio', model_year: 2020 },
    ...{ entry_at: '2026-01-10T00:00:00Z', created_at: '2026-01-10T00:00:00Z' },
    ...{ completed_at: '2026-01-10T01:00:00Z', source_updated_at: '2026-01-10T01:00:00Z' },
    ...{ created_at_source: 'CreatedAt', created_date_local: '2026-01-10' },
    ...{ completed_date_local: '2026-01-10', odometer: 50_000, odometer_unit: 'km' },
    ...{ currency_code: 'AUD', photo_count: 0, user_price_count: 0, version_no: 1, run_id: 1 },
    ...{ content_hash: hash, first_loaded_at: '2026-01-11', last_changed_at: '2026-01-11' },
  },
  'core.price_observation': {
    ...{ rooftop_id: 1, price_source: 'pricing_ai', is_current: true, currency_code: 'AUD' },
    ...{ observed_at: '2026-01-11T00:00:00Z', last_confirmed_at: '2026-01-11T00:00:00Z' },
    ...{ as_of_date: '2026-01-11', confidence: 'High', value_hash: hash, run_id: 1 },
  },
  'core.reconditioning_item': { rooftop_id: 1, first_version: 1, line_no: 1 },
  'core.stock_unit': {
    ...{ rooftop_id: 1, stock_no: 'S1', vin, make: 'Kia', model: 'Rio', model_year: 2020 },
    ...{ currency_code: 'AUD', price_on_application: false, extras: '{}', content_hash: hash },
    ...{ first_seen_at: '2026-01-20T00:00:00Z', last_seen_at: '2026-01-20T00:00:00Z' },
    ...{ acquired_on: '2026-01-15', import_id: 1 },
  },
  'core.stock_import': {
    ...{ rooftop_id: 1, file_name: 'list.csv', sha256: hash, byte_count: 1, mode: 'snapshot' },
    ...{ encoding: 'utf-8', delimiter: ',', dialect: '{}', preamble: '[]', mapping: '[]' },
    ...{ warnings: '[]', records: 0, accepted: 0, rejected: 0, collapsed: 0, skipped: 0 },
    ...{ added: 0, updated: 0, unchanged: 0, removed: 0, reappeared: 0, imported_by: 'test' },
  },
  'core.stock_unit_change': { rooftop_id: 1, stock_no: 'S1', change: 'updated' },
  'core.stock_price_observation': {
    ...{ rooftop_id: 1, stock_no: 'S1', price_source: 'price_batch', is_current: true, vin },
    ...{ observed_at: '2026-01-21T00:00:00Z', last_confirmed_at: '2026-01-21T00:00:00Z' },
    ...{ currency_code: 'AUD', value_hash: hash, run_id: 1 },
  },
  'core.vehicle_check': {
    ...{ rooftop_id: 1, eval_id: 1, check_kind: 'ppsr', group_id: 1, vin },
    first_seen_at: '2026-01-12T00:00:00Z',
  },
  'core.ref_watch_status': { noteworthiness: 0, is_terminal: false, is_known: false },
  'ops.enrichment_state': {
    ...{ rooftop_id: 1, stream: 'vehicle-checks', ask: 'getpastppsrsearch', outcome: 'answered' },
    last_asked_at: '2026-01-12T00:00:00Z',
  },
  'ops.run': {
    ...{ command: 'sync', arguments: { mode: 'sync', from: 0 }, status: 'ok' },
    source_started_at: '2026-01-12T00:00:00Z',
  },
  'ops.run_stream': { run_id: 1, rooftop_id: 1, stream: 'evaluations', status: 'ok' },
  'ops.coverage': { rooftop_id: 1, stream: 'evaluations' },
  'ops.window_certificate': {
    ...{ rooftop_id: 1, stream: 'evaluations', listed: 0, loaded: 0, quarantined: 0, vanished: 0 },
    ...{ listed_at: '2026-01-12', reread_at: '2026-01-12', ids_digest: hash, proof: 'plain' },
    ...{ settled: true, run_id: 1 },
  },
  'ops.quarantine': { stream: 'evaluations', rooftop_id: 1, issues: '[]', run_id: 1 },
  'ops.vanished': {
    ...{ rooftop_id: 1, stream: 'evaluations', reason: 'not found', run_id: 1 },
    vanished_at: '2026-01-12',
  },
} satisfies Record<string, Row>

export { vin as aVin }

export async function openSmallWorld(): Promise<SmallWorld> {
  const database = await createTestDatabase()
  const client = await database.pool.connect()
  await client.query('begin')
  await client.query(rooftops)
  const { rows: clock } = await client.query<{ now: Date; today: Date }>(
    "select now(), (now() at time zone 'Australia/Sydney')::date::timestamp at time zone 'UTC' as today",
  )
  const { now, today } = clock[0]!
  return {
    add: async (table, ...rows) => {
      for (const row of rows) await insert(client, table, { ...defaults[table], ...row })
    },
    rows: async (query) => {
      await rebuildSums(client)
      return (await client.query(query)).rows as Record<string, unknown>[]
    },
    day: (daysAgo) => new Date(today.getTime() - daysAgo * 86_400_000).toISOString().slice(0, 10),
    ago: (hours) => new Date(now.getTime() - hours * 3_600_000),
    [Symbol.asyncDispose]: async () => {
      client.release(true)
      await database[Symbol.asyncDispose]()
    },
  }
}

const rooftops = `
  insert into core.rooftop_group (group_code) values ('first'), ('other');
  insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit) values
    ('north', 1, 'North', 'AU', 'Australia/Sydney', 'AUD', 'km'),
    ('south', 1, 'South', 'AU', 'Australia/Sydney', 'AUD', 'km'),
    ('rival', 2, 'Rival', 'AU', 'Australia/Sydney', 'AUD', 'km'),
    ('gulf', 1, 'Gulf', 'GCC', 'Asia/Kuwait', 'KWD', 'km')`

async function insert(client: pg.ClientBase, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row)
  const places = columns.map((_, index) => `$${index + 1}`)
  await client.query(
    `insert into ${table} (${columns.join(', ')}) overriding system value values (${places.join(', ')})`,
    Object.values(row),
  )
}
