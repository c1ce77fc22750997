import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { inboxSettings } from '#src/app/config/inbox.ts'
import { applyRetention } from '#src/privacy/retain/apply-retention.ts'
import { type InboxServices, listInboxes } from '#src/stock/folders/inbox.ts'
import { inboxProblems, readInboxStatuses } from '#src/stock/folders/inbox-status.ts'
import { runPass } from '#src/stock/folders/pass.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { age, silent } from '../../stock/folders/inbox-fixture.ts'
import { aVehicle, listOf, vehicles } from '../../stock/import-fixture.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { openUploads, pathOf, type UploadFixture } from './upload-fixture.ts'

let console: UploadFixture
let home: TemporaryFolder

beforeAll(async () => {
  console = await openUploads({ uploadMegabytes: 1 })
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => {
  home = await temporaryFolder()
  await mkdir(join(home.path, 'in'))
  await console.rows(
    `truncate core.stock_import, core.stock_import_row, core.stock_unit, core.stock_unit_change, ops.stock_upload, ops.stock_mapping,
       ops.stock_inbox, ops.stock_inbox_file, ops.stock_inbox_part`,
  )
  return async () => await home[Symbol.asyncDispose]()
})

const asStock = { role: 'stock' } as const

/** Two passes over the drop folder, the second when its files have not changed for long enough; gives what the alerts say then. */
async function pass(settings: readonly object[], crashPoint?: InboxServices['crashPoint']) {
  const inbox = inboxSettings.parse(settings.map((one) => ({ folder: 'in', ...one })))
  const config = {
    ...console.config,
    homeDir: home.path,
    stock: { ...console.config.stock, inbox },
  }
  const { pool } = console.fixture.database
  const never = new AbortController().signal
  const services = {
    ...{
      warehouse: { pool, db: openDb(pool), config },
      signal: never,
      stopping: never,
      log: silent,
    },
    now: () => new Date(),
    ...(crashPoint === undefined ? {} : { crashPoint }),
  }
  await runPass(services, listInboxes(config))
  await age(pool)
  await runPass(services, listInboxes(config))
  const problems = async () =>
    inboxProblems(await readInboxStatuses(openDb(pool), config), config).map(({ what }) => what)
  return { problems, what: (await problems()).join() }
}

/** Drops a file into a folder of sam's rooftop, and imports it. */
async function drop(content: string, name = 'list.csv', mode = 'snapshot') {
  await writeFile(join(home.path, 'in', name), content)
  return await pass([{ rooftop: console.own, mode }])
}

const offered = async () =>
  await console.rows<{ name: string }>(
    'select file_name as name from ops.stock_upload order by inbox_file_id',
  )

const page = /\/console(\/stock\/upload\/[0-9a-f-]{36}\/mapping)/

/** Columns whose meaning is not certain. */
const unsure = [
  'Code,VIN,Make,Model,Year,Odometer (km),Amount',
  ...[1, 2, 3, 4, 5, 6].map(
    (at) => `C${at}45,${aVehicle(at).vin},Toyota,Corolla,2019,45000,2100${at}.50`,
  ),
  '',
].join('\r\n')

test('the alert of a file whose columns are in doubt opens its mapping, where it is imported', async () => {
  const { what, problems } = await drop(unsure)
  const mapping = page.exec(what)![1]!

  const open = await console.get(mapping, asStock)
  const foreign = await console.get(mapping, { role: 'group' })
  const list = await console.get('/stock/upload', asStock)
  const check = pathOf(
    await console.post(
      mapping,
      { action: 'map', 'column-0': 'stock_number', 'column-6': 'price_asking' },
      asStock,
    ),
  )
  const result = pathOf(await console.post(check, { action: 'import' }, asStock))

  expect(what).toContain('Or open it within 7 days at ')
  expect(open.title).toBe('Columns of list.csv')
  expect(foreign.status).toBe(404)
  expect(list.text).toContain('drop folder')
  expect(result).toMatch(/^\/stock\/imports\/\d+$/)
  expect(await problems()).toEqual([])
  expect(await console.rows('select count(*)::int as n from core.stock_unit')).toEqual([{ n: 6 }])
})

test('a file that a guard refused opens too, and is not asked twice', async () => {
  await drop(listOf(vehicles(20)), 'first.csv')
  const { what } = await drop(listOf(vehicles(2)), 'second.csv')
  const check = pathOf(await console.post(page.exec(what)![1]!, { action: 'map' }, asStock))

  const { text } = await console.get(check, asStock)

  expect(text).toContain('type 18')
  expect(await console.rows('select count(*)::int as n from ops.stock_upload')).toEqual([{ n: 1 }])
})

test('what is not a list or too large is not stored, and the alert names the page of uploads', async () => {
  const { what } = await drop('[{"a":1}]')
  const large = await drop(`${unsure}${'C9,,,,,,\r\n'.repeat(120_000)}`, 'large.csv')

  for (const text of [what, large.what]) {
    expect(text).toContain('console/stock/upload')
    expect(text).not.toMatch(page)
  }
  expect(await console.rows('select from ops.stock_upload')).toEqual([])
})

test('the newest five of a rooftop wait for a week, then their bytes are gone', {
  tags: 'ci',
}, async () => {
  for (let at = 0; at < 7; at += 1)
    await drop(unsure.replace('Amount', `Amount ${at}`), `${at}.csv`)
  const stored = await offered()
  await console.rows(`update ops.stock_upload set ends_at = now() - interval '1 second'`)

  const { uploads } = await applyRetention(console.fixture.context)

  expect(stored.map(({ name }) => name)).toEqual(['2.csv', '3.csv', '4.csv', '5.csv', '6.csv'])
  expect(uploads).toBe(5)
})

test.for([
  ['pattern left', 'south-*.csv', 1],
  ['rooftop was changed in', 'south*.csv', 0],
] as const)(
  'a refused file whose %s the config is offered to no other rooftop',
  async ([, pattern, at]) => {
    const { rooftops } = console.config
    const north = { pattern: 'north*.csv', rooftop: console.own }
    await writeFile(join(home.path, 'in', 'south.csv'), unsure)
    await pass([north, { pattern: 'south*.csv', rooftop: rooftops[1]!.uid }], (point) => {
      if (point === 'inbox-decided') throw new Error('killed')
    })
    const decided = await console.rows('select state from ops.stock_inbox_file')

    await pass([north, { pattern, rooftop: rooftops[at]!.uid }])

    const failed = await readdir(join(home.path, 'in', 'failed'))
    expect(decided).toEqual([{ state: 'decided' }])
    expect(failed.filter((name) => name.endsWith('south.csv'))).toHaveLength(1)
    expect(await offered()).toEqual([])
  },
)

test('a newer list of the whole stock ends what waits, rows alone do not', {
  tags: 'ci',
}, async () => {
  await drop(unsure, 'monday.csv')
  await drop(listOf(vehicles(2)), 'rows.csv', 'delta')
  const before = await offered()
  await console.upload(unsure.replace('Amount', 'Sum'), { name: 'mine.csv' })

  await drop(listOf(vehicles(20)), 'tuesday.csv')

  expect(before).toEqual([{ name: 'monday.csv' }])
  expect(await offered()).toEqual([{ name: 'mine.csv' }])
})

test('a file that is removed from failed/ no longer waits', { tags: 'ci' }, async () => {
  await drop(unsure, 'a.csv')
  await drop(unsure.replace('Amount', 'Sum'), 'b.csv')
  const failed = join(home.path, 'in', 'failed')
  for (const name of await readdir(failed)) if (name.includes('a.csv')) await rm(join(failed, name))

  await pass([{ rooftop: console.own }])

  expect(await offered()).toEqual([{ name: 'b.csv' }])
})
