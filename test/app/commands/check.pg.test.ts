import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase, emptyTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Checked {
  readonly code: number
  readonly ok: boolean
  readonly checks: readonly { name: string; status: string; detail: string }[]
}

test('check prints one line for each thing that it checked, and writes nothing', async () => {
  await using sandbox = await startSandbox({ evaluations: 40, rooftops: 2 })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const config = { ...sandbox.clientConfig(), warehouse: { url: database.url } }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))

  const { code, stdout, stderr } = await runInProcess(['check'], { cwd: folder.path })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [first, second] = sandbox.world.rooftops.map(({ uid }) => uid)
  const shown = stdout
    .replaceAll(folder.path, 'FOLDER')
    .replace(/Postgres \S+ (?:\(.*\))?, \S+/, 'Postgres 15+, HERE')
    .replace(/Postgres \S+, \S+/, 'Postgres 15+, HERE')
    .replace(/version \d+/, 'version N')
    .replaceAll(sandbox.vehicleDataUrl, 'http://127.0.0.1:PORT')
    .replaceAll(/127\.0\.0\.1:\d+\/v1/g, '127.0.0.1:PORT/v1')
    .replaceAll(/would be in \S+/g, 'would be in HERE')
    .replaceAll(/\w+, \d+ \w+ \d+, \d\d:\d\d in/g, 'TIME in')
    .replaceAll(/evaluation \d+: (DealerID \d+)(, prices in AUD)?/g, 'evaluation N: $1')
    .replace(first!, 'UID-1')
    .replace(second!, 'UID-2')
  expect(shown.replaceAll(/ {2,}/g, '  ')).toMatchInlineSnapshot(`
    "ok  config  FOLDER/forecourt.yaml, rooftops: 2, keys: 1 and vehicleData.apiKey
    warn  appraisal.baseUrl  http://127.0.0.1:PORT/v1 is the sandbox: its generated vehicles would be in HERE
    warn  vehicleData.baseUrl  http://127.0.0.1:PORT is the sandbox: its generated vehicles would be in HERE
    ok  warehouse  Postgres 15+, HERE
    ok  schema  version N, up to date
    ok  clock  the source's clock differs from ours by 0 s
    ok  rooftop UID-1  Harbour City Sydney: key au is good, 12 users in its group; TIME in Australia/Sydney; evaluation N: DealerID 101
    ok  rooftop UID-2  Harbour City Brisbane: key au is good, 12 users in its group; TIME in Australia/Brisbane; evaluation N: DealerID 102
    ok  vehicle data  http://127.0.0.1:PORT: reached, and the key is not refused
    "
  `)
  expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
  const { rows } = await database.pool.query('select count(*)::int as runs from ops.run')
  expect(rows).toEqual([{ runs: 0 }])
})

test('one dead key fails alone, and the output says what to do', async () => {
  await using sandbox = await startSandbox({ evaluations: 100 })
  const { keys, ...rest } = sandbox.clientConfig()
  const dead = Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [
      name,
      key.region === 'US' ? { ...key, value: 'a-dead-key' } : key,
    ]),
  )

  const { code, ok, checks } = await checkWith({ ...rest, keys: dead })

  expect({ code, ok }).toEqual({ code: 1, ok: false })
  const failed = checks.filter(({ status }) => status === 'fail')
  expect(failed).toHaveLength(1)
  expect(failed[0]?.detail).toMatch(
    /^Lakeside Auto Chicago: POST \/getuserlist \(key us\) answered 403.*Check the value of key us \(keys\.us\.value of forecourt\.yaml\)\.$/,
  )
  expect(JSON.stringify(checks)).not.toContain('a-dead-key')
  expect(checks.filter(({ name }) => name.startsWith('rooftop '))).toHaveLength(6)
})

test('a clock that is days away is a warning and no failure', async () => {
  const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000)
  await using sandbox = await startSandbox({
    evaluations: 1,
    clock: new VirtualClock({ start: twoDaysAgo }),
  })

  const { code, checks } = await checkWith(sandbox.clientConfig())

  expect(code).toBe(0)
  const clock = checks.find(({ name }) => name === 'clock')
  expect(clock?.status).toBe('warn')
  expect(clock?.detail).toMatch(
    /^the source's clock is 17\d{4} s behind ours: windows go by the source's, but set ours right$/,
  )
})

test('a source that cannot be reached fails at once, and no rooftop is asked', async () => {
  await using sandbox = await startSandbox({ evaluations: 1, rooftops: 1 })
  const config = { ...sandbox.clientConfig(), appraisal: { baseUrl: 'http://127.0.0.1:1/v1' } }

  const { code, checks } = await checkWith(config)

  expect(code).toBe(1)
  expect(checks.filter(({ status }) => status === 'fail')).toEqual([
    { name: 'source', status: 'fail', detail: expect.stringContaining('connection was refused') },
    {
      name: `rooftop ${config.rooftops[0]?.uid}`,
      status: 'fail',
      detail: 'not asked, since the source cannot be reached',
    },
  ])
})

test('a warehouse without its schema is a failure, and so is one that is not there', async () => {
  await using sandbox = await startSandbox({ evaluations: 1, rooftops: 1 })
  await using database = await emptyTestDatabase()

  const empty = await checkWith({ ...sandbox.clientConfig(), warehouse: { url: database.url } })
  const absent = await checkWith({
    ...sandbox.clientConfig(),
    warehouse: { url: 'postgres://u:secret-word@127.0.0.1:1/d' },
  })

  expect(empty.code).toBe(1)
  expect(empty.checks.find(({ name }) => name === 'schema')).toMatchObject({
    status: 'fail',
    detail: expect.stringMatching(/has no schema of Forecourt: run "forecourt migrate"/),
  })
  expect(absent.code).toBe(1)
  expect(absent.checks.find(({ name }) => name === 'warehouse')).toEqual({
    name: 'warehouse',
    status: 'fail',
    detail:
      'Postgres at 127.0.0.1:1/d cannot be reached (connect ECONNREFUSED 127.0.0.1:1): start it, or correct host and port in warehouse.url.',
  })
})

test('wire settings that differ from the defaults are listed', async () => {
  await using sandbox = await startSandbox({ evaluations: 1, rooftops: 1 })

  const { checks } = await checkWith({
    ...sandbox.clientConfig(),
    wire: { appraisal: { evalList: { id: ['id', 'EvalID'] } } },
  })

  expect(checks.filter(({ name }) => name.startsWith('wire'))).toEqual([
    {
      name: 'wire.appraisal.evalList.id',
      status: 'ok',
      detail: '["id","EvalID"] instead of the default "EvalID"',
    },
  ])
})

test('a broken config is exit 2, one sentence on stderr and one document', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), 'sycn: 1\n')

  const { code, stdout, stderr } = await runInProcess(['check', '--json'], { cwd: folder.path })

  const detail =
    'forecourt.yaml:1: sycn is not a setting (did you mean sync?): correct its name or remove it.'
  expect({ code, stderr }).toEqual({ code: 2, stderr: `${detail}\n` })
  expect(JSON.parse(stdout)).toEqual({
    ok: false,
    checks: [{ name: 'config', status: 'fail', detail }],
    error: detail,
  })
})

async function checkWith(config: object): Promise<Checked> {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  const { code, stdout } = await runInProcess(['check', '--json'], { cwd: folder.path })
  return { code, ...JSON.parse(stdout) }
}

test('a currency that changed under loaded rows fails the check', { tags: 'ci' }, async () => {
  await using sandbox = await startSandbox({ evaluations: 20, rooftops: 1 })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const config = { ...sandbox.clientConfig(), warehouse: { url: database.url } }
  const write = (rooftops: object[]) =>
    writeFile(join(folder.path, 'forecourt.yaml'), stringify({ ...config, rooftops }))
  await write([...config.rooftops])
  await runInProcess(['sync', 'evaluations'], { cwd: folder.path })
  await write(config.rooftops.map((rooftop) => ({ ...rooftop, currency: 'NZD' })))

  const checked = await runInProcess(['check'], { cwd: folder.path })
  const synced = await runInProcess(['sync', 'evaluations'], { cwd: folder.path })

  expect([checked.code, synced.code]).toEqual([1, 2])
  expect(checked.stdout).toMatch(/fail +rooftops +.*currency AUD, and the config says NZD/)
  expect(synced.stderr).toContain('set it back to AUD')
})
