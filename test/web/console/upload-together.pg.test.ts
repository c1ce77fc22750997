import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { StockUploads } from '#src/stock/upload/stock-uploads.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { aVehicle, listOf, vehicles } from '../../stock/import-fixture.ts'
import { someOf } from '../../support/cases.ts'
import { databaseLocks } from '../../support/postgres.ts'
import { serveConsole } from './console-fixture.ts'
import { openUploads, pathOf, type UploadFixture, uploadForm } from './upload-fixture.ts'

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads({ uploadMegabytes: 1 })
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())

const asStock = { role: 'stock' } as const

/** A row when an import holds its lock. */
const importing = `select from ${databaseLocks} where classid = 7306 and granted`

test('ten lists of a person wait at most, also when many arrive at once', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  // Each is counted long before it is stored.
  await console.rows(
    `create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.1); return new; end'`,
  )
  await console.rows(
    'create trigger slow before insert on ops.stock_upload for each row execute function slow()',
  )

  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, at) => console.upload(listOf(vehicles(at + 1)))),
  )
  await console.rows('drop function slow() cascade')

  const stored = answers.filter(({ status }) => status === 303)
  expect(stored).toHaveLength(10)
  expect(await console.count('ops.stock_upload')).toBe(10)
})

test('a list whose check fails does not wait, wherever it comes from', { tags: 'ci' }, async () => {
  const path = await console.import(listOf([...vehicles(3), aVehicle(4, { price: '1x2' })]))
  await console.rows(
    `create function fail() returns trigger language plpgsql as $$begin raise exception 'disk full'; end$$`,
  )
  await console.rows(
    'create trigger fail before update of result on ops.stock_upload for each row execute function fail()',
  )

  const form = uploadForm(listOf(vehicles(5)), 'a.csv', { rooftop: console.own, mode: 'delta' })
  const answers = [
    await console.post('/stock/upload', form, asStock),
    await console.post(path, { action: 'bring-back' }, asStock),
    await console.post(path, { action: 'correct', 'cell-5-6': '20004' }, asStock),
  ]
  await console.rows('drop function fail() cascade')

  expect(answers.map(({ status }) => status)).toEqual([500, 500, 500])
  expect(await console.count('ops.stock_upload where import_id is null')).toBe(0)
})

test('several processes take the steps by turns', { tags: 'ci' }, async () => {
  await using other = await serveConsole(console.fixture, {})
  const check = pathOf(await console.upload(listOf(vehicles(3)), { role: 'engineer' }))

  const page = await other.get(check)
  const imported = pathOf(await other.post(check, { action: 'import' }))
  const result = await console.get(imported)

  expect(page.text).toContain('Import: 3 new')
  expect(result.title).toBe('list.csv')
})

test('while another person imports, the page names them, and the list waits', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const first = pathOf(await console.upload(listOf(vehicles(3)), { role: 'engineer' }))
  const second = pathOf(await console.upload(listOf(vehicles(4))))
  const lock = await console.fixture.database.pool.connect()
  await lock.query('begin')
  // The import waits for this table after it has taken its own lock.
  await lock.query('lock table core.stock_import in exclusive mode')
  const slow = console.importAs(first, 'engineer')
  while ((await console.rows(importing)).length === 0) await sleep(20)
  // The other person confirmed a moment later, before the lock was taken.
  await console.rows(`update ops.stock_upload set import_began_at =
    (select max(import_began_at) + interval '1 millisecond' from ops.stock_upload) where import_began_at is null`)

  const busy = await console.importAs(second)
  await lock.query('commit')
  lock.release()
  const done = await slow
  const stale = await console.importAs(second)
  pathOf(await console.post(second, { action: 'check' }, asStock))
  const right = await console.importAs(second)

  expect(busy.status).toBe(409)
  expect(busy.text).toMatch(/kim@example\.com is importing a list of .* since \d\d:\d\d [A-Z]/)
  expect(pathOf(done)).toMatch(/imports/)
  expect(stale.text).toContain('The stock has changed since this list was checked')
  expect(pathOf(right)).toMatch(/imports/)
  expect(await console.count('core.stock_import')).toBe(2)
})

test('a list that another process imports between the check and the lock makes this one stale', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const first = pathOf(await console.upload(listOf(vehicles(3)), { role: 'engineer' }))
  const second = pathOf(await console.upload(listOf(vehicles(4))))
  const lock = await console.fixture.database.pool.connect()
  await lock.query('begin')
  // After the import has compared the newest list, it notes here that it begins.
  const own = 'select from ops.stock_upload where upload_id = $1 for update'
  await lock.query(own, [first.split('/')[3]])
  const slow = console.importAs(first, 'engineer')
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%import_began_at = now()%'`
  while ((await console.rows(waits)).length === 0) await sleep(20)

  pathOf(await console.importAs(second))
  await lock.query('commit')
  lock.release()
  const stale = await slow

  expect(stale.status).toBe(409)
  expect(stale.text).toContain('The stock has changed since this list was checked')
  expect(await console.count('core.stock_import')).toBe(1)
  expect(await console.count('core.stock_unit')).toBe(4)
})

test('a list that is dropped while it is imported is not imported', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const check = pathOf(await console.upload(listOf(vehicles(3))))
  const lock = await console.fixture.database.pool.connect()
  await lock.query('begin')
  await lock.query('lock table core.stock_import in exclusive mode')
  const slow = console.importAs(check)
  while ((await console.rows(importing)).length === 0) await sleep(20)

  pathOf(await console.post(check, { action: 'drop' }, asStock))
  await lock.query('commit')
  lock.release()

  expect((await slow).status).toBe(409)
  expect(await console.count('core.stock_import')).toBe(0)
})

test('a second click imports nothing twice', async () => {
  const check = pathOf(await console.upload(listOf(vehicles(3))))

  const answers = await Promise.all([
    console.importAs(check),
    console.importAs(check),
    console.importAs(check),
  ])
  const later = await console.importAs(check)

  expect(await console.count('core.stock_import')).toBe(1)
  expect(answers.some(({ status }) => status === 303)).toBe(true)
  expect(answers.every(({ status }) => status === 303 || status === 409)).toBe(true)
  expect(pathOf(later)).toMatch(/imports/)
})

test.each(someOf(['rows-written', 'before-commit'], 1))(
  'a process that ends at %s leaves a list that waits, and nothing is doubled',
  async (point) => {
    const check = pathOf(await console.upload(listOf(vehicles(3))))
    const uploads = new StockUploads({
      ...{
        warehouse: {
          pool: console.fixture.database.pool,
          db: openDb(console.fixture.database.pool),
          config: console.config,
        },
      },
      signal: new AbortController().signal,
      crashPoint: (name) => {
        if (name === point) throw new Error('killed')
      },
    })
    const by = { email: 'sam@example.com', typed: {} }

    await expect(uploads.import(check.split('/')[3]!, by)).rejects.toThrow('killed')
    const left = await console.rows(
      'select content is not null as waits, (select count(*)::int from core.stock_import) as imports from ops.stock_upload',
    )
    const done = pathOf(await console.importAs(check))
    const page = await console.get(check, asStock)

    expect(left).toEqual([{ waits: true, imports: 0 }])
    expect(pathOf(page)).toBe(done)
    expect(pathOf(await console.importAs(check))).toBe(done)
    expect(await console.count('core.stock_import')).toBe(1)
  },
)
