import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../../support/child.ts'
import { listOf, vehicles } from '../import-fixture.ts'
import { openWatchFixture, type WatchFixture } from './watch-fixture.ts'

const units = async ({ pool }: WatchFixture) =>
  (await pool.query<{ n: number }>('select count(*)::int as n from core.stock_unit')).rows[0]!.n

const drop = async ({ folder }: WatchFixture, name: string, content: string) =>
  await writeFile(join(folder, name), content)

/** The words of a printed command. */
const wordsOf = (command: string) =>
  command.match(/'[^']*'|\S+/g)!.map((word) => word.replace(/^'(.*)'$/, '$1'))

test('--once imports what is complete: exit 0, and 1 when a file needs a person, whose command then works', async () => {
  await using fixture = await openWatchFixture([
    { folder: 'inbox', rooftop: 'north', settleSeconds: 1 },
  ])
  await drop(fixture, 'a.csv', listOf(vehicles(20)))

  const good = await fixture.run(['stock', 'watch', '--once'])
  const none = await fixture.run(['stock', 'watch', '--once', '--json'])
  await drop(fixture, 'b.csv', listOf(vehicles(2)))
  const refused = await fixture.run(['stock', 'watch', '--once', '--json'])
  const status = await fixture.run(['status', '--json'])
  const [{ commands }] = JSON.parse(refused.stdout).files
  const byHand = await fixture.run(wordsOf(commands[0]).slice(1))
  const after = await fixture.run(['status', '--json'])

  expect([good.code, none.code, refused.code, byHand.code]).toEqual([0, 0, 1, 0])
  expect(good.stdout).toContain('a.csv: done, now ')
  expect(good.stdout).toContain('north: import 1, 20 accepted, 0 rejected')
  expect(JSON.parse(none.stdout)).toMatchObject({ files: [], waiting: [] })
  const inboxOf = (result: { stdout: string }) => Object.values(JSON.parse(result.stdout).inboxes)
  expect(inboxOf(status)).toMatchObject([
    { status: 'failed', failed: [{ file: 'b.csv', commands }] },
  ])
  expect(inboxOf(after)).toMatchObject([{ status: 'ok', failed: [] }])
})

test('status names a late list and the files that wait, and misses its objective', async () => {
  await using fixture = await openWatchFixture([
    {
      folder: 'inbox',
      rooftop: 'north',
      expectDaily: '00:00',
      timezone: 'UTC',
      settleSeconds: 3600,
    },
  ])
  await drop(fixture, 'half.csv', listOf(vehicles(2)))
  await fixture.run(['stock', 'watch', '--interval', '1'], AbortSignal.timeout(3_000))
  await fixture.pool.query("update ops.stock_inbox set known_since = now() - interval '3 days'")

  const { code, stdout } = await fixture.run(['status'])

  expect(code).toBe(1)
  const text = stdout.replaceAll(/\s+/g, ' ')
  expect(text).toContain('was expected by 00:00 (UTC) and has not come; none has come yet.')
  expect(text).toContain('late, no list yet; waiting: half.csv')
})

test('the watcher imports what comes, and SIGTERM ends it with 143 after the file at work', {
  tags: 'ci',
}, async () => {
  await using fixture = await openWatchFixture()
  const child = fixture.start(['stock', 'watch', '--interval', '1'])
  await until(() => child.stderr().includes('watching '))
  await drop(fixture, 'a.csv', listOf(vehicles(3)))
  await until(async () => (await units(fixture)) === 3)
  await drop(fixture, 'b.csv', listOf(vehicles(4000, 4)))
  await until(() => child.stderr().includes('took b.csv'))

  child.kill('SIGTERM')

  const ended = await child.ended
  expect([ended.code, ended.signal]).toEqual([143, null])
  expect(await units(fixture)).toBe(4003)
  expect(await readdir(join(fixture.folder, 'working'))).toEqual([])
})

test('a folder that is not in the config needs to know whose lists it gets', {
  tags: 'ci',
}, async () => {
  await using fixture = await openWatchFixture([])
  await drop(fixture, 'a.csv', listOf(vehicles(3)))
  const watch = ['stock', 'watch', 'inbox', '--once']

  const unknown = await fixture.run(watch)
  const nothing = await fixture.run(['stock', 'watch', '--once'])
  const known = await fixture.run([...watch, '--rooftop', 'Northside', '--settle', '1'])

  expect([unknown.code, nothing.code, known.code]).toEqual([2, 2, 0])
  expect(unknown.stderr).toContain('name whose lists it gets with --rooftop <uid>')
  expect(nothing.stderr).toContain('No drop folder is in')
  expect(await units(fixture)).toBe(3)
})

test('the job stock-inbox does the same, and is off without a drop folder', async () => {
  await using fixture = await openWatchFixture()
  await using without = await openWatchFixture([])
  await drop(fixture, 'a.csv', listOf(vehicles(3)))

  const { code, stdout } = await fixture.run(['run', 'stock-inbox', '--json'])
  const off = await without.run(['run', 'stock-inbox'])

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ status: 'ok', counts: { done: 1, failed: 0 } })
  expect(await units(fixture)).toBe(3)
  expect([off.code, off.stderr]).toEqual([
    2,
    expect.stringContaining('stock.inbox names no folder'),
  ])
})

test('stock import --only takes the rows of one value, and again does nothing', async () => {
  await using fixture = await openWatchFixture([])
  const list = listOf(vehicles(4)).replaceAll('Red', 'Blue').replace('Blue', 'Red')
  await writeFile(join(fixture.home, 'list.csv'), list)
  const only = ['stock', 'import', 'list.csv', '--rooftop', 'north', '--only']

  const red = await fixture.run([...only, 'colour=RED', '--json'])
  const again = await fixture.run([...only, 'Colour=Red', '--json'])
  const blue = await fixture.run([...only, 'Colour=Blue', '--mode', 'delta', '--json'])
  const none = await fixture.run([...only, 'Paint=Red'])

  const statusOf = (result: { stdout: string }) => JSON.parse(result.stdout).status
  expect([red, again, blue].map(statusOf)).toEqual(['imported', 'already-imported', 'imported'])
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining('no column is called "Paint"'),
  ])
  expect(await units(fixture)).toBe(4)
})
