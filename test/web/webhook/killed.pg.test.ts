import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { type Child, startForecourt, until } from '../../support/child.ts'
import { configText } from '../../support/child-fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { now, secret } from './webhook-fixture.ts'

/** Starts `forecourt serve` in its own process, and returns the address it listens on. */
async function startServe(cwd: string): Promise<{ child: Child; url: string }> {
  const child = startForecourt(['serve', '--port', '0', '--log-level', 'debug'], { cwd })
  const listening = () => /listening on (http:[^"]+)"/.exec(child.stderr())?.[1]
  const ended = child.ended.then(({ stderr }) => {
    throw new Error(stderr)
  })
  await Promise.race([until(() => listening() !== undefined), ended])
  ended.catch(() => undefined)
  return { child, url: listening()! }
}

test('deliveries that serve accepted are loaded by the next serve, though it was killed before it loaded any', {
  tags: 'ci',
  timeout: 180_000,
}, async () => {
  const evaluations = Array.from({ length: 20 }, (_, index) =>
    anEvaluation({ evalId: 1001 + index }),
  )
  const clock = new VirtualClock({ start: now, frozen: true })
  await using sandbox = await startSandbox({ world: worldOf({ evaluations }), clock })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const options = { sandbox: { now }, sync: { start: '2026-03-01' } }
  const written = JSON.parse(configText(sandbox, database.url, options))
  const config = { ...written, webhooks: { authHeaderValue: secret } }
  await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(config))
  const first = await startServe(folder.path)
  // The service answers slowly: the kill comes before anything is read.
  const slow = sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'slow', ms: 60_000 },
  })

  const statuses = await Promise.all(
    evaluations.map(async ({ evalId }) => {
      const headers = { 'content-type': 'application/json', 'x-forecourt-token': secret }
      const body = JSON.stringify({ EvalID: evalId, DealerID: 101 })
      return (await fetch(`${first.url}/webhooks`, { method: 'POST', headers, body })).status
    }),
  )
  first.child.kill('SIGKILL')
  await first.child.ended
  const before = await database.pool.query('select from core.evaluation')
  slow.remove()
  const second = await startServe(folder.path)
  const loaded = async () =>
    (await database.pool.query("select from ops.webhook_delivery where state = 'processed'"))
      .rowCount
  await until(async () => (await loaded()) === 20)
  second.child.kill('SIGTERM')
  const { code, stderr } = await second.child.ended

  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(before.rowCount).toBe(0)
  expect((await database.pool.query('select from core.evaluation')).rowCount).toBe(20)
  expect(code).toBe(143)
  expect(stderr).not.toContain(secret)
})

test('a serve that is older than the warehouse ends with 1 instead of accepting what it cannot load', async () => {
  const world = worldOf({ evaluations: [anEvaluation({ evalId: 1001 })] })
  await using sandbox = await startSandbox({
    world,
    clock: new VirtualClock({ start: now, frozen: true }),
  })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const options = { sandbox: { now }, sync: { start: '2026-03-01' } }
  const written = JSON.parse(configText(sandbox, database.url, options))
  const config = { ...written, webhooks: { authHeaderValue: secret } }
  await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(config))
  const { child, url } = await startServe(folder.path)
  await database.pool.query(
    "insert into ops.schema_migration (version, name, checksum) values (9999, 'later', '')",
  )

  const headers = { 'content-type': 'application/json', 'x-forecourt-token': secret }
  const body = JSON.stringify({ EvalID: 1001, DealerID: 101 })
  // The process may end before its answer has left.
  await fetch(`${url}/webhooks`, { method: 'POST', headers, body }).catch(() => undefined)

  const { code, stderr } = await child.ended
  expect([code, stderr]).toEqual([1, expect.stringContaining('restart it with the new version')])
})
