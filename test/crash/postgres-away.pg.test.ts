import { expect, test, vi } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { UsageError } from '#src/errors.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { ensureEmbedded, stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { smallFixture } from '../app/commands/sync-fixture.ts'
import { until } from '../support/child.ts'
import { type ChildWarehouse, openChildFixture } from '../support/child-fixture.ts'
import { databaseUrl } from '../support/postgres-url.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000 })

const daemons = [['schedule'], ['worker']] as const

test('a command that starts while Postgres is down logs this, waits, and starts once it answers', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using folder = await temporaryFolder()
  const { url } = await ensureEmbedded(folder.path)
  try {
    const admin = await openPool(url, { applicationName: 'test', max: 1 })
    await admin.query('create database away')
    await admin.end()
    const own = databaseUrl(url, 'away')
    const pool = await openPool(own, { applicationName: 'test', max: 2 })
    await prepareWarehouse(pool)
    await pool.end()
    await stopEmbedded(folder.path)
    await using warehouse = await fixture.warehouse({
      ...{ url: own, pool },
      [Symbol.asyncDispose]: async () => undefined,
    })

    const children = [...daemons, ['sync']].map((args) => warehouse.start(args))
    for (const child of children)
      await until(() =>
        /cannot be reached .* Trying again (until|for up to 60 s)/.test(child.stderr()),
      )
    await ensureEmbedded(folder.path)

    const [schedule, worker, sync] = children as [Child, Child, Child]
    expect(await sync.ended).toMatchObject({ code: 0 })
    await until(() => schedule.stderr().includes('is scheduled'))
    await until(() => worker.stderr().includes('at work'))
    for (const daemon of [schedule, worker]) {
      daemon.kill('SIGTERM')
      expect(await daemon.ended).toMatchObject({ code: 143 })
    }
  } finally {
    await stopEmbedded(folder.path)
  }
})

type Child = ReturnType<ChildWarehouse['start']>

/** The error of a command that waits this long, and the lines of its log. */
async function refusal(url: string, waitSeconds: number | null) {
  const lines: string[] = []
  const log = openLog({
    ...{ level: 'info', human: false, secrets: [] },
    write: (line) => lines.push(line),
  })
  const config = makeConfig({ warehouse: { url } }, '/nowhere')
  const stop = new AbortController()
  const opened = openContext(config, log, { waitSeconds, signal: stop.signal })
  if (waitSeconds === null) await until(() => lines.length > 0)
  if (waitSeconds === null) stop.abort(new Error('stopped by the test'))
  const error = await opened.then(
    () => 'it opened',
    (reason: unknown) => reason,
  )
  return { error, lines }
}

test('a one-off command stops waiting after its limit, with exit 2', async () => {
  const { error, lines } = await refusal('postgres://u:word@127.0.0.1:1/d', 0.3)

  expect(error).toBeInstanceOf(UsageError)
  expect(String(error)).toContain('cannot be reached')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('Trying again for up to 0.3 s.')
})

test('a wrong password and an unknown database are reported at once; only a daemon waits for the database', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { url } = warehouse.database
  const missingDatabase = databaseUrl(url, 'not_there')
  const unknownUser = new URL(url)
  unknownUser.username = 'no_such_user'

  const oneOff = await refusal(missingDatabase, 60)
  const daemon = await refusal(missingDatabase, null)
  const refused = await refusal(unknownUser.href, 60)

  expect(String(oneOff.error)).toContain('has no database not_there')
  expect(oneOff.lines).toEqual([])
  expect(daemon.lines[0]).toContain('Trying again until it is ready.')
  expect(String(refused.error)).toMatch(/no_such_user/)
  expect(refused.lines).toEqual([])
})

test('a running worker survives a dropped and restored database', { tags: 'ci' }, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  const name = new URL(warehouse.database.url).pathname.slice(1)
  await warehouse.database.pool.end()
  const admin = await openPool(databaseUrl(warehouse.database.url, 'postgres'), {
    ...{ applicationName: 'test', max: 1 },
  })
  await admin.query(`create database ${name}_backup template ${name}`)
  const worker = warehouse.start(['worker'])
  await until(() => worker.stderr().includes('at work'))

  await admin.query(`drop database ${name} with (force)`)
  await until(() => worker.stderr().includes('the connection to Postgres was lost'))
  // As at the start of a restore: the database exists, but is empty.
  await admin.query(`create database ${name}`)
  await until(async () => (await connectionsTo(admin, name)) > 0)
  await admin.query(`drop database ${name} with (force)`)
  await admin.query(`create database ${name} template ${name}_backup`)
  await admin.query(`drop database ${name}_backup`)
  await until(() => worker.stderr().includes('the warehouse is ready'))
  const from = ['--from', '2026-03-01', '--detach']
  expect(await warehouse.run(['backfill', 'evaluations', ...from])).toMatchObject({ code: 0 })

  const pool = await openPool(warehouse.database.url, { applicationName: 'test', max: 1 })
  await until(async () => {
    const { rows } = await pool.query('select status from ops.run order by run_id desc limit 1')
    return rows[0].status === 'ok'
  })
  await Promise.all([pool.end(), admin.end()])
  worker.kill('SIGTERM')
  expect(await worker.ended).toMatchObject({ code: 143 })
})

async function connectionsTo(admin: Awaited<ReturnType<typeof openPool>>, name: string) {
  const { rows } = await admin.query<{ count: number }>(
    'select count(*)::int as count from pg_stat_activity where datname = $1',
    [name],
  )
  return rows[0]!.count
}

test('processes older than the warehouse end with exit 1, even when idle, and fail to start with exit 2', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  const running = daemons.map((args) => warehouse.start(args))
  await until(() => running[0]!.stderr().includes('is scheduled'))
  await until(() => running[1]!.stderr().includes('at work'))

  await warehouse.database.pool.query(
    "insert into ops.schema_migration (version, name, checksum) values (9999, 'newer', 'x')",
  )

  for (const child of running) {
    const { code, stderr } = await child.ended
    expect({ code, stderr }).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('restart it with the new version') },
    })
  }
  for (const args of [...daemons, ['sync'], ['status']]) {
    const { code, stderr } = await warehouse.run(args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(stderr).toContain('This warehouse is newer')
  }
})
