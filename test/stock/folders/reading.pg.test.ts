import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { listInboxes } from '#src/stock/folders/inbox.ts'
import { runPass } from '#src/stock/folders/pass.ts'
import { someOf } from '../../support/cases.ts'
import { until } from '../../support/child.ts'
import { age, openInboxFixture } from './inbox-fixture.ts'
import { consoleSettings, longList, startServing } from './serving.ts'
import { openWatchFixture, type WatchFixture } from './watch-fixture.ts'

// Every test starts a process, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

test('pages and /health are answered while a list is read', async () => {
  await using fixture = await openWatchFixture(undefined, { console: consoleSettings })
  const { get, upload } = await startServing(fixture)
  const order: string[] = []

  const uploaded = upload(longList(), 'long.xlsx').then(({ status }) =>
    order.push(`list ${status}`),
  )
  await until(async () => (await waiting(fixture)).length === 1)
  order.push(`health ${(await get('/health')).status}`)
  order.push(`page ${(await get('/console/stock/upload')).status}`)
  await uploaded

  expect(order).toEqual(['health 200', 'page 200', 'list 303'])
})

const waiting = async ({ pool }: WatchFixture) =>
  (await pool.query('select result from ops.stock_upload')).rows

test('a signal ends a process that serves while it reads an upload, which then does not wait', {
  tags: 'ci',
}, async () => {
  await using fixture = await openWatchFixture(undefined, { console: consoleSettings })
  const { child, upload } = await startServing(fixture)

  const uploaded = upload(longList(), 'long.xlsx')
  await until(async () => (await waiting(fixture)).length === 1)
  child.kill('SIGTERM')
  const answer = await uploaded
  const { signal } = await child.ended

  expect({ status: answer.status, signal }).toEqual({ status: 503, signal: null })
  expect(answer.headers.get('connection')).toBe('close')
  expect(await answer.text()).toContain('A list that was being read is not stored')
  expect(await waiting(fixture)).toEqual([])
})

/** The states of the dropped files. */
const states = async (pool: WatchFixture['pool']) =>
  (await pool.query('select state, attempts from ops.stock_inbox_file')).rows

test.for(someOf([[['stock', 'watch', '--once']], [['stock', 'watch']]] as const, 0))(
  'a signal ends "%s" while it reads a list, which is imported by then or by a later process',
  async ([args]) => {
    await using fixture = await openWatchFixture()
    await writeFile(join(fixture.folder, 'long.xlsx'), longList())

    const child = fixture.start([...args])
    await until(async () => (await states(fixture.pool).catch(() => []))[0]?.attempts === 1)
    child.kill('SIGTERM')
    const { signal } = await child.ended
    const { code } = await fixture.run(['stock', 'watch', '--once'])

    expect({ signal, code }).toEqual({ signal: null, code: 0 })
    expect(await states(fixture.pool)).toMatchObject([{ state: 'done' }])
    expect(await fixture.pool.query('select from core.stock_import')).toHaveProperty('rowCount', 1)
  },
)

test('a signal that ends the reading leaves the dropped file to a later pass, which counts no attempt', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('long.xlsx', longList())
  await runPass(fixture.services, listInboxes(fixture.config))
  await age(fixture.pool)
  const stop = new AbortController()
  const stopped = { ...fixture.services, signal: stop.signal, stopping: stop.signal }

  const pass = runPass(stopped, listInboxes(fixture.config))
  await until(async () => (await states(fixture.pool))[0].attempts === 1)
  stop.abort(new Error('stopped'))
  const { files, waiting: left } = await pass
  const between = [await states(fixture.pool), (await fixture.list('working')).length]
  const later = await fixture.pass()

  expect({ files, left }).toEqual({ files: [], left: ['long.xlsx'] })
  expect(between).toEqual([[{ state: 'taken', attempts: 0 }], 1])
  expect(later.files).toMatchObject([{ file: 'long.xlsx', state: 'done' }])
})
