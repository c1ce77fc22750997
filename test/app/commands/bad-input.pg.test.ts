import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configText } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { smallFixture } from './sync-fixture.ts'

const access = `
appraisal: { baseUrl: http://127.0.0.1:1/v1 }
keys: { a: { value: key-of-the-dealer, kind: partner, region: AU } }
rooftops: [{ uid: u1, name: Northside, key: a, timezone: Australia/Sydney, currency: AUD }]
`

test.for(['sync', 'backfill evaluations --from 2024-01-01'])(
  'a source that cannot be reached is exit 2, and %s leaves no run behind',
  async (args) => {
    await using database = await createTestDatabase()
    await using folder = await temporaryFolder()
    await writeFile(
      join(folder.path, 'forecourt.yaml'),
      `warehouse: { url: "${database.url}" }\n${access}`,
    )

    const result = await runInProcess([...args.split(' '), '--json'], { cwd: folder.path })

    const error =
      'The source at http://127.0.0.1:1/v1 cannot be reached (the connection was refused): start it, or correct appraisal.baseUrl in the config.'
    expect(result).toMatchObject({ code: 2, stderr: `${error}\n` })
    expect(JSON.parse(result.stdout)).toEqual({ error })
    const { rows } = await database.pool.query('select count(*)::int as runs from ops.run')
    expect(rows).toEqual([{ runs: 0 }])
  },
)

test('a source that is down after a good night is exit 1, and the run is in the list with its reason', async () => {
  await using fixture = await openFixture(smallFixture())
  await fixture.night()
  await using folder = await temporaryFolder()
  const config = configText(fixture.sandbox, fixture.database.url, smallFixture())
  await writeFile(join(folder.path, 'forecourt.yaml'), config)
  await fixture.sandbox.close()

  const { code, stderr } = await runInProcess(['sync', 'evaluations'], { cwd: folder.path })

  const error = /^The source at .* cannot be reached \(.*the connection was refused/
  expect(code).toBe(1)
  expect(stderr).toMatch(error)
  const { stdout } = await runInProcess(['runs', 'list', '--json'], { cwd: folder.path })
  const [last, first] = JSON.parse(stdout).runs
  expect([last.status, first.status]).toEqual(['failed', 'ok'])
  const shown = await runInProcess(['runs', 'show', String(last.runId)], { cwd: folder.path })
  expect(shown.stdout).toMatch(/The source at .* cannot be reached/)
  const status = await runInProcess(['status', '--json'], { cwd: folder.path })
  const [rooftop] = Object.values(JSON.parse(status.stdout).rooftops) as { streams: object }[]
  expect(rooftop!.streams).toMatchObject({
    evaluations: { status: 'failed', error: expect.stringMatching(error) },
    users: { status: 'ok' },
  })
})

test('a wrong password is reported without the password, and nothing starts', async () => {
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const wrong = new URL(database.url)
  wrong.password = 'not-the-password'
  await writeFile(
    join(folder.path, 'forecourt.yaml'),
    `warehouse: { url: "${wrong.href}" }${access}`,
  )

  const { code, stdout, stderr } = await runInProcess(['sync'], { cwd: folder.path })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  const user = decodeURIComponent(wrong.username)
  expect(stderr).toBe(
    `Postgres at ${wrong.host}${wrong.pathname} refused user ${user} (password authentication failed for user "${user}"): correct the user and password in warehouse.url.\n`,
  )
  expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
})

test('an address on which something else listens is not a reachable source either', async () => {
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const { host } = new URL(database.url)
  const baseUrl = `http://${host}/v1`
  const config = `warehouse: { url: "${database.url}" }\n${access.replace('http://127.0.0.1:1/v1', baseUrl)}`
  await writeFile(join(folder.path, 'forecourt.yaml'), config)

  const { code, stderr } = await runInProcess(['sync'], { cwd: folder.path })

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^The source at .* cannot be reached \(.*\): start it, or correct appraisal\.baseUrl in the config\.\n$/,
  )
})
