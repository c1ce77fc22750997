import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSandbox } from '#src/sandbox/server.ts'
import { stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { forecourt, startForecourt, until } from '../../support/child.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('demo loads a sandbox into a Postgres of its own, and a second demo rewrites nothing', {
  tags: 'ci',
  timeout: 240_000,
}, async () => {
  await using folder = await temporaryFolder()
  const place = { cwd: folder.path }
  const count = 60
  const size = ['--evals', `${count}`]
  try {
    const first = await forecourt(['demo', ...size], place)
    const status = await runInProcess(['status'], place)
    const why = await runInProcess(['why', '1000001', '--json'], place)
    const verify = await runInProcess(['verify', '--json'], place)
    const second = await forecourt(['demo', '--json', ...size], place)

    expect([first.code, first.stderr.includes(' at ')]).toEqual([0, false])
    expect(first.stdout).toContain('A nightly run over 6 rooftops')
    const inserted = /^ *evaluations +\d+ +(\d+)/m.exec(first.stdout)?.[1]
    expect(Number(inserted)).toBeGreaterThan(count / 2)
    expect(first.stdout.split('\n').filter((line) => line.length > 79)).toEqual([])
    expect(first.stdout).toContain('npm run -s forecourt -- status')
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/fresh, complete to .* UTC/),
    })
    expect(JSON.parse(why.stdout).found).toHaveLength(1)
    expect(JSON.parse(verify.stdout)).toMatchObject({ status: 'ok', gaps: 0 })
    expect([second.code, second.stderr.includes(' at ')]).toEqual([0, false])
    const report = JSON.parse(second.stdout)
    expect(report).toMatchObject({ status: 'ok', seconds: expect.any(Number) })
    expect(report.connectionString).toMatch(/^postgres:\/\/\S+@127\.0\.0\.1:\d+\//)
    expect(report.coverage).toHaveLength(6)
    expect(report.coverage).toSatisfy((rows: { gaps: number; overlaps: number }[]) =>
      rows.every(({ gaps, overlaps }) => gaps === 0 && overlaps === 0),
    )
    expect(report.questions).toHaveLength(3)
    const { users, evaluations } = report.streams
    expect(users).toMatchObject({ inserted: 0, updated: 0, quarantined: 0 })
    // The sandbox's clock goes on: one or two may have been completed or edited since.
    expect(evaluations.inserted + evaluations.updated).toBeLessThan(5)
    expect(evaluations.quarantined).toBe(0)
  } finally {
    await stopEmbedded(join(folder.path, '.forecourt', 'postgres'))
  }
})

test('demo serves the console and prints a link that opens it, until it is stopped', async () => {
  await using folder = await temporaryFolder()
  try {
    const child = startForecourt(['demo', '--console', '--evals', '50'], { cwd: folder.path })
    const link = () => /http:\S+\?link=(\S+)/.exec(child.stdout())
    await until(() => link() !== null)
    const [url, token] = link()!
    const form = new URLSearchParams({ link: token! })
    const headers = { 'sec-fetch-site': 'same-origin' }
    const signedIn = await fetch(url, { method: 'POST', body: form, headers, redirect: 'manual' })
    const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
    const page = await fetch(new URL('/console/', url), { headers: { cookie } })
    const content = await page.text()
    child.kill('SIGINT')

    expect(child.stdout()).toMatch(
      /\nOpen this as you@example\.com within 10 minutes; it works once:\n\nhttp:\S{1,79}\n\n/,
    )
    expect(page.status).toBe(200)
    expect(content).toContain('All 6 rooftops are fresh and complete.')
    expect((await child.ended).code).toBe(130)
  } finally {
    await stopEmbedded(join(folder.path, '.forecourt', 'postgres'))
  }
}, 120_000)

test('a demo that is left running takes no work of a sync beside it', {
  tags: 'ci',
  timeout: 180_000,
}, async () => {
  await using folder = await temporaryFolder()
  const sandbox = await startSandbox({ evaluations: 40, days: 30 })
  try {
    const fault = { kind: 'slow', ms: 100 } as const
    sandbox.faults.add({ match: { path: '/getevallist' }, fault })
    const child = startForecourt(['demo', '--console', '--evals', '50'], { cwd: folder.path })
    await until(() => child.stdout().includes('until you press Ctrl-C'))
    const config = {
      ...sandbox.clientConfig(),
      sync: { start: new Date(Date.now() - 25 * 86_400_000).toISOString() },
    }
    await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(config))
    sandbox.requests.reset()

    const sync = await forecourt(['sync', 'users', '--json'], { cwd: folder.path })
    const night = await forecourt(['sync', 'evaluations', '--json'], { cwd: folder.path })
    const list = await runInProcess(['runs', 'list'], { cwd: folder.path })
    child.kill('SIGINT')
    await child.ended

    const sum = ({ stdout }: { stdout: string }) =>
      Object.values(JSON.parse(stdout).streams as Record<string, { requests: number }>).reduce(
        (all, { requests }) => all + requests,
        0,
      )
    const asked = ['/getevallist', '/geteval', '/getuserlist'].map((path) =>
      sandbox.requests.count(path),
    )
    expect([sync.code, night.code]).toEqual([0, 0])
    expect(asked.reduce((all, count) => all + count)).toBe(sum(sync) + sum(night))
    expect(list.stdout).toContain('(sandbox of a demo)')
  } finally {
    await sandbox.close()
    await stopEmbedded(join(folder.path, '.forecourt', 'postgres'))
  }
})

test('demo does not add its vehicles to the warehouse of a real service', async () => {
  await using folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'forecourt.yaml'),
    'appraisal: { baseUrl: https://appraisals.example.com/v1 }\n',
  )

  const { code, stderr } = await forecourt(['demo'], { cwd: folder.path })

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /reads appraisals.example.com into .* run the demo in an empty folder\.\n$/,
  )
})
