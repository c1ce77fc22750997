import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { startForecourt, until } from '../../support/child.ts'
import { configText } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { morning } from '../../support/pricing-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const vin = 'JTMDFREV90D123456'
const token = 'canary-of-the-links-4711'
const env = { FORECOURT_LINKS_TOKEN: token }
const createdAt = '2026-03-09T22:00:00Z'

/** A fixture whose source signs links, and keys and a token that occur in no other text. */
async function openFixture() {
  const clock = new VirtualClock({ start: morning, frozen: true })
  const evaluations = [
    anEvaluation({ createdAt, photos: [{ id: 7 }] }),
    anEvaluation({ evalId: 1002, vin: 'JTMDFREV90D100002', createdAt, photos: [{ id: 8 }] }),
  ]
  const sandbox = await startSandbox({ world: worldOf({ evaluations }), clock })
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const options = { sandbox: { now: morning }, sync: { start: '2026-03-01' } }
  const written = JSON.parse(configText(sandbox, database.url, options))
  // A key of the sandbox's test worlds has its name as its value.
  const keys = Object.values(written.keys as Record<string, { value: string }>)
  written.keys = Object.fromEntries(keys.map((key, at) => [`key${at}`, key]))
  for (const rooftop of written.rooftops)
    rooftop.key = `key${keys.findIndex(({ value }) => value === rooftop.key)}`
  const archive = { folder: 'archive', hosts: [new URL(written.appraisal.baseUrl).origin] }
  const links = { token: '$' + '{FORECOURT_LINKS_TOKEN}', archive }
  const budget = { ppsrSearch: 5 }
  await writeFile(
    join(folder.path, 'forecourt.yaml'),
    JSON.stringify({ ...written, links, budget }),
  )
  const subject = { groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1001, vin }
  const check = sandbox.checks.add({
    kind: 'ppsr',
    ...subject,
    searchedAt: new Date('2026-03-09T23:00:00Z'),
  })
  return {
    sandbox,
    folder: folder.path,
    ref: String(check.id),
    secrets: [token, ...keys.map(({ value }) => value)],
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('no command shows a signed link, a key or the token, in a result, a log or an error, unless that is what it is for', async () => {
  await using fixture = await openFixture()
  const { sandbox, folder, ref, secrets } = fixture
  // A body with links that does not fit, and one that is quoted in an error.
  const leaky = `https://x.example/a.pdf?expires=1&signature=0123456789abcdef`
  sandbox.faults.add({
    match: { path: '/getpastppsrsearch', evalId: 1002 },
    fault: { kind: 'status', status: 200, body: [{ WatchStatus: 17, PdfUrl: leaky }] },
  })
  sandbox.faults.add({
    match: { path: '/getpastcarhistory', evalId: 1002 },
    fault: { kind: 'status', status: 500, body: { error: `cannot sign ${leaky}` } },
  })
  const outputs: string[] = []
  const run = async (...args: string[]) => {
    const result = await runInProcess([...args, '--log-level', 'debug'], { cwd: folder, env })
    outputs.push(
      result.stderr,
      ...(args.includes('show') || args.includes('api') ? [] : [result.stdout]),
    )
    return result
  }

  await run('check')
  const synced = await run('sync', '--json')
  await run('status', '--json')
  await run('why', '1001', '--json')
  const listed = JSON.parse((await run('quarantine', 'list', '--json')).stdout)
  const quarantined = await runInProcess(
    ['quarantine', 'show', String(listed[0]?.id ?? listed.quarantine[0].id), '--json'],
    { cwd: folder, env },
  )
  outputs.push(quarantined.stdout, quarantined.stderr)
  await run('quarantine', 'retry')
  await run('verify', '--json')
  await run('links', 'refresh', '--json')
  const archived = await run('links', 'archive', '--json')
  const shown = await run('links', 'show', 'ppsr_pdf', ref)
  await run('links', 'show', 'ppsr_pdf', 'nothing')
  await run('replay', 'evaluations')
  const paid = await run('api', 'ppsrsearch', '--evalid', '1002', '--yes')

  expect(synced.stdout).toContain('"vehicle-checks"')
  expect(JSON.parse(archived.stdout)).toMatchObject({ archived: 1 })
  expect(paid.code).not.toBe(2)
  expect(shown.stdout).toMatch(/[?&]signature=\w/)
  expect(quarantined.stdout).toContain('[hidden]')
  const all = outputs.join('\n')
  expect(all.length).toBeGreaterThan(5_000)
  expect(all).not.toMatch(/signature=\w/)
  for (const secret of secrets) expect(all).not.toContain(secret)
})

test('a click shows neither the token nor the link that it leads to in the log', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture()
  const { folder, ref, secrets } = fixture
  await runInProcess(['sync'], { cwd: folder, env })
  const child = startForecourt(['serve', '--port', '0', '--log-level', 'debug', '--json'], {
    cwd: folder,
    env,
  })
  const listening = () => /listening on (http:[^"]+)"/.exec(child.stderr())?.[1]
  await until(() => listening() !== undefined)

  const click = await fetch(`${listening()}/links/ppsr_pdf/${ref}?token=${token}`, {
    redirect: 'manual',
  })
  const refused = await fetch(`${listening()}/links/ppsr_pdf/${ref}?token=${token}x`)
  child.kill('SIGTERM')
  const { stdout, stderr } = await child.ended

  expect(click.headers.get('location')).toMatch(/[?&]signature=\w/)
  expect(refused.status).toBe(401)
  expect(stderr).toContain('ppsr_pdf')
  for (const secret of ['signature=', ...secrets]) expect(stdout + stderr).not.toContain(secret)
})

test('the suite checks every command line that it runs for signed links', async () => {
  const helpers = ['cli.ts', 'child.ts'].map((name) =>
    join(import.meta.dirname, '../../support', name),
  )
  const texts = await Promise.all(helpers.map((path) => readFile(path, 'utf8')))

  for (const text of texts) expect(text).toContain('rejectSignedLinks(args, [')
})
