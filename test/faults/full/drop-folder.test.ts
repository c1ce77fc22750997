import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { inboxCrashPoints } from '#src/stock/folders/crash-points.ts'
import { dropAll, dropDifferences, droppedFiles } from '../../stock/folders/dropped-files.ts'
import { openWatchFixture } from '../../stock/folders/watch-fixture.ts'
import { listOf, vehicles } from '../../stock/import-fixture.ts'
import { until } from '../../support/child.ts'
import { fill, mayMount, openDisk } from '../small-disk.ts'

vi.setConfig({ testTimeout: 900_000 })

const points = [...inboxCrashPoints, 'rows-written', 'before-commit']
/** As many files as two watchers end together before one of them is killed. */
const filesOfTwo = 5
const watch = ['stock', 'watch', '--interval', '1']

test('250 files of every kind, two watchers, and a kill at every point: each file once, or with its reason', async () => {
  await using fixture = await openWatchFixture([
    { folder: 'inbox', rooftop: 'north', mode: 'delta', settleSeconds: 3 },
  ])
  const { pool, folder } = fixture
  const files = droppedFiles(250)
  const dropped = dropAll(folder, files)
  const signals: (string | null)[] = []

  const countEnded = async () => {
    const { rows } = await pool.query<{ n: number }>(
      "select count(*)::int as n from ops.stock_inbox_file where state in ('done', 'failed')",
    )
    return rows[0]!.n
  }

  for (const [at, point] of points.entries()) {
    const [before, dueMs] = [await countEnded(), performance.now() + 2_500 + at * 300]
    const other = fixture.start(watch)
    const crash = fixture.start(watch, { FORECOURT_CRASH_AT: `${point}:${3 + at}` })
    // It is killed at any instant, early enough to leave files for the points to come, and the one that crashes goes on alone.
    await until(
      async () =>
        performance.now() > dueMs || (await countEnded()) >= before + filesOfTwo + (at % 3),
    )
    other.kill('SIGKILL')
    signals.push((await crash.ended).signal)
    await other.ended
  }
  await dropped
  const last = [fixture.start(watch), fixture.start(watch)]
  await until(async () => (await countEnded()) >= files.length)
  for (const child of last) child.kill('SIGTERM')
  const codes = await Promise.all(last.map(async ({ ended }) => (await ended).code))

  expect(signals).toEqual(points.map(() => 'SIGKILL'))
  expect(codes).toEqual([143, 143])
  expect(await dropDifferences(pool, folder, files)).toEqual([])
})

const once = ['stock', 'watch', '--once', '--json']

test.skipIf(!(await mayMount()))(
  'a full disk stops the folder after the import, and free space ends it without another import',
  async () => {
    await using disk = await openDisk(8)
    const folder = join(disk.path, 'inbox')
    await using fixture = await openWatchFixture([
      { folder, rooftop: 'north', mode: 'delta', settleSeconds: 1 },
    ])
    await mkdir(folder)
    // One pass makes the folders of the inbox.
    await fixture.run(once)
    await writeFile(join(folder, 'a.csv'), listOf(vehicles(400)))
    const free = await fill(disk.path, 0)

    const full = await fixture.run(once)
    const again = await fixture.run(once)
    const status = await fixture.run(['status'])
    await free()
    const after = await fixture.run(once)

    const problem = expect.stringContaining('It is not imported again.')
    expect([full, again].map(({ code, stdout }) => [code, JSON.parse(stdout).problems])).toEqual(
      Array(2).fill([1, [{ folder, problem }]]),
    )
    expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain('no space left on device')
    expect(after.code).toBe(0)
    expect(JSON.parse(after.stdout).files).toMatchObject([{ file: 'a.csv', state: 'done' }])
    const { rows } = await fixture.pool.query('select accepted from core.stock_import')
    expect(rows).toEqual([{ accepted: 400 }])
  },
)

const plainUserId = 65_534
const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)(
  'a file that may not be read fails, and a folder that may not be changed imports nothing',
  async () => {
    await using fixture = await openWatchFixture()
    const { folder, home, pool } = fixture
    const launcher = [
      'setpriv',
      `--reuid=${plainUserId}`,
      `--regid=${plainUserId}`,
      '--clear-groups',
    ]
    const run = async () => await fixture.start(once, {}, launcher).ended
    await chmod(home, 0o755)
    await chmod(join(home, 'forecourt.yaml'), 0o644)
    await writeFile(join(folder, 'secret.csv'), listOf(vehicles(2)), { mode: 0o600 })

    const closed = await run()
    await chown(folder, plainUserId, plainUserId)
    const open = await run()

    const { problems } = JSON.parse(closed.stdout)
    expect([closed.code, open.code]).toEqual([1, 1])
    expect(problems[0].problem).toContain('needs the right to read, write and rename')
    expect(JSON.parse(open.stdout).files).toMatchObject([
      { file: 'secret.csv', state: 'failed', reason: expect.stringContaining('cannot be read') },
    ])
    expect((await pool.query('select 1 from core.stock_import')).rows).toEqual([])
  },
)
