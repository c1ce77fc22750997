import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { type Child, startForecourt, until } from '../../support/child.ts'
import { configText } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { dayMs } from '../../support/fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { morning } from '../../support/pricing-fixture.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { paths, permalink, token, vin } from '../../web/links/served.ts'

/** A sandbox with one check, a warehouse, and a folder with a config that takes the token from the environment. */
async function openFixture() {
  const clock = new VirtualClock({ start: morning, frozen: true })
  const createdAt = '2026-03-09T22:00:00Z'
  const world = worldOf({ evaluations: [anEvaluation({ createdAt })] })
  const sandbox = await startSandbox({ world, clock })
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const options = { sandbox: { now: morning }, sync: { start: '2026-03-01' } }
  const written = JSON.parse(configText(sandbox, database.url, options))
  const links = { token: '$' + '{FORECOURT_LINKS_TOKEN:-}' }
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify({ ...written, links }))
  const subject = { groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1001, vin }
  const searchedAt = new Date('2026-03-09T23:00:00Z')
  const check = sandbox.checks.add({ kind: 'ppsr', ...subject, searchedAt })
  return {
    sandbox,
    folder,
    id: String(check.id),
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Starts `forecourt serve --json` in a process of its own, and gives where it listens once it does. */
async function startServe({ path }: TemporaryFolder): Promise<{ child: Child; url: string }> {
  const env = { FORECOURT_LINKS_TOKEN: token }
  const child = startForecourt(['serve', '--port', '0', '--log-level', 'debug'], { cwd: path, env })
  const listening = () => /listening on (http:[^"]+)"/.exec(child.stderr())?.[1]
  const ended = child.ended.then(({ stderr }) => {
    throw new Error(stderr)
  })
  await Promise.race([until(() => listening() !== undefined), ended])
  ended.catch(() => undefined)
  return { child, url: listening()! }
}

test('two serve processes sign an expired link with one call together, stop on a signal, and show no secret', async () => {
  await using fixture = await openFixture()
  const { sandbox, folder, id } = fixture
  const night = await runInProcess(['sync'], { cwd: folder.path })
  const servers = [await startServe(folder), await startServe(folder)]
  const asked = sandbox.requests.count(paths.ppsr)
  sandbox.clock.advance(8 * dayMs)

  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      fetch(`${servers[index % 2]!.url}${permalink('ppsr_pdf', id)}`, { redirect: 'manual' }),
    ),
  )
  const opened = await fetch(answers[0]!.headers.get('location')!)
  servers[0]!.child.kill('SIGTERM')
  servers[1]!.child.kill('SIGINT')
  const ends = await Promise.all(servers.map(({ child }) => child.ended))

  expect(night.code).toBe(0)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
  expect(sandbox.requests.count(paths.ppsr) - asked).toBe(1)
  expect((await opened.text()).slice(0, 5)).toBe('%PDF-')
  expect(ends.map(({ code }) => code)).toEqual([143, 130])
  for (const { stdout, stderr } of ends) {
    expect(stdout).toContain('Serving on http://127.0.0.1:')
    expect(stderr.split('"msg":"link"')).toHaveLength(31)
    expect(stdout + stderr).not.toMatch(new RegExp(`${token}|signature=`))
  }
})

test('serve without a token, or on a port that is taken, is exit 2 and says what to do', async () => {
  await using fixture = await openFixture()
  const { folder } = fixture
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const serve = (env: Record<string, string>, ...args: readonly string[]) =>
    runInProcess(['serve', ...args], { cwd: folder.path, env })

  const open = await serve({})
  const busy = await serve({ FORECOURT_LINKS_TOKEN: token }, '--port', String(port))
  const odd = await serve({ FORECOURT_LINKS_TOKEN: token }, '--port', '70000')
  taken.close()

  expect(open).toMatchObject({ code: 2, stdout: '' })
  expect(open.stderr).toContain('links.token is not set')
  expect(open.stderr).toContain('openssl rand -hex 24')
  expect(busy).toMatchObject({ code: 2, stdout: '' })
  expect(busy.stderr).toContain(`port ${port} of 127.0.0.1: another program has the port.`)
  expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('--port 70000') })
})
