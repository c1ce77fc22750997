import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { type CliResult, runCli, runInProcess } from '../../support/cli.ts'
import { oldPostgres } from '../../support/old-postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const access = `
keys: { a: { value: key-of-the-dealer, kind: partner, region: AU } }
rooftops: [{ uid: u1, name: Northside, key: a, timezone: Australia/Sydney, currency: AUD }]
`

interface Case {
  readonly args: string
  /** The text of forecourt.yaml; without it there is none. */
  readonly config?: string
  readonly env?: Record<string, string>
  readonly says: string
}

const cases: Record<string, Case> = {
  'an unknown config key': {
    args: 'sync',
    config: '# ours\nsync: { windowHour: 3 }\n',
    says: 'forecourt.yaml:2: sync.windowHour is not a setting (did you mean windowHours?): correct its name or remove it.',
  },
  'a missing environment variable': {
    args: 'sync',
    config: 'keys:\n  a: { value: $' + '{NO_SUCH_KEY}, kind: partner, region: AU }\n',
    says: `forecourt.yaml:2: keys.a.value needs the environment variable NO_SUCH_KEY, which is not set: set it or add it to .env beside the config, or give a default with $\{NO_SUCH_KEY:-default}.`,
  },
  'a source url that is none': {
    args: 'check',
    config: 'appraisal: { baseUrl: localhost }\n',
    says: 'forecourt.yaml:1: appraisal.baseUrl is not an http:// or https:// address: correct it.',
  },
  'a source url with another scheme': {
    args: 'check',
    config: 'appraisal: { baseUrl: "ftp://127.0.0.1/v1" }\n',
    says: 'forecourt.yaml:1: appraisal.baseUrl is not an http:// or https:// address: correct it.',
  },
  'a warehouse url with another scheme': {
    args: 'migrate',
    config: 'warehouse: { url: "mysql://u:secret-word@h/d" }\n',
    says: 'forecourt.yaml:1: warehouse.url is not of the form postgres://user:password@host:5432/database (special characters of the password are %-encoded): correct it.',
  },
  'a config file that is not there': {
    args: '--config other.yaml sync',
    says: 'Config file FOLDER/other.yaml does not exist: check --config, or write one with "forecourt init".',
  },
  'a config file that is a folder': {
    args: '--config . sync',
    says: 'Config file FOLDER cannot be read (EISDIR: illegal operation on a directory, read): check --config and the rights of the file.',
  },
  'no rooftops': {
    args: 'sync',
    says: 'No rooftops are configured (no forecourt.yaml here): write a config with "forecourt init" and list them under rooftops:.',
  },
  'an unreachable Postgres': {
    args: 'status',
    config: `warehouse: { url: "postgres://u:secret-word@127.0.0.1:1/d" }\n${access}`,
    says: 'Postgres at 127.0.0.1:1/d cannot be reached (connect ECONNREFUSED 127.0.0.1:1): start it, or correct host and port in warehouse.url.',
  },
  'a date that is not one': {
    args: 'backfill evaluations --from 2024-02-31',
    config: access,
    says: '--from 2024-02-31 is not a date: write 2024-01-31 (midnight UTC) or 2024-01-31T10:00:00Z.',
  },
  'a start of sync that is not a date': {
    args: 'sync',
    config: 'sync: { start: 31.12.2024 }\n',
    says: 'forecourt.yaml:1: sync.start is not a date (2024-01-01) or an ISO instant: correct it.',
  },
  '--from after --to': {
    args: 'backfill evaluations --from 2024-03-01 --to 2024-02-01',
    config: access,
    says: '--from 2024-03-01 is not before --to 2024-02-01: the range is [from, to).',
  },
  'an unknown rooftop': {
    args: 'sync --rooftop nowhere',
    config: access,
    says: '--rooftop nowhere is not in the config; known are: Northside (u1).',
  },
  'an unknown stream': {
    args: 'sync evaluation',
    config: access,
    says: `Unknown stream 'evaluation' (did you mean evaluations?); known are users, evaluations, pricing, vehicle-checks, stock-prices: see "forecourt sync --help".`,
  },
  'a backfill of prices': {
    args: 'backfill pricing --from 2024-01-01',
    config: access,
    says: `Unknown stream 'pricing'; known are evaluations, vehicle-checks: see "forecourt backfill --help".`,
  },
  'a sample without --rows': {
    args: 'verify --sample 10',
    config: access,
    says: '--sample needs --rows.',
  },
  'a seed without a sample': {
    args: 'verify --rows --seed 1a2b3c4d',
    config: access,
    says: '--seed needs --sample.',
  },
  'a sample of no records': {
    args: 'verify --rows --sample 0',
    config: access,
    says: '--sample 0 must be a whole number from 1 to 10000000.',
  },
  'a pricing of the stock without a key': {
    args: 'reprice',
    config: access,
    says: 'The config has no vehicleData.apiKey, so nothing can be priced: set it to the key of the vehicle-data APIs.',
  },
  'an unknown command': {
    args: 'snyc',
    says: `Unknown command 'snyc' (did you mean sync?): see "forecourt --help".`,
  },
  'an unknown option': {
    args: 'sync --rooftops u1',
    config: access,
    says: `Unknown option '--rooftops' (did you mean --rooftop?): see "forecourt sync --help".`,
  },
  'a missing argument': {
    args: 'backfill --from 2024-01-01',
    config: access,
    says: `Missing required argument 'stream': see "forecourt backfill --help".`,
  },
  'a missing option': {
    args: 'backfill evaluations',
    config: access,
    says: `Required option '--from <date>' not specified: see "forecourt backfill --help".`,
  },
  'an argument too many': {
    args: 'migrate now',
    says: `Too many arguments for 'migrate'; expected 0 arguments but got 1: now: see "forecourt migrate --help".`,
  },
  'a log level that does not exist': {
    args: '--log-level loud sync',
    config: access,
    says: `Option '--log-level <level>' argument 'loud' is invalid; allowed choices are debug, info, warn, error, silent: see "forecourt sync --help".`,
  },
  'a port that is none': {
    args: 'sandbox --port 70000',
    says: '--port 70000 must be a whole number from 0 to 65534.',
  },
  'an action that warehouse does not have': {
    args: 'warehouse erase',
    says: `Unknown action 'erase'; known are start, stop, url, status: see "forecourt warehouse --help".`,
  },
}

test.for(someOf(Object.entries(cases), 8))(
  '%s is one sentence and exit 2, and nothing starts',
  async ([, { args, config, env, says }]) => {
    await using folder = await temporaryFolder()
    if (config !== undefined) await writeFile(join(folder.path, 'forecourt.yaml'), config)
    const place = { cwd: folder.path, env: env ?? {} }

    const human = await runInProcess(args.split(' '), place)
    const machine = await runInProcess([...args.split(' '), '--json'], place)

    const sentence = says.replaceAll('FOLDER', folder.path)
    expect(human).toEqual({ code: 2, stdout: '', stderr: `${sentence}\n` })
    expect(machine).toMatchObject({ code: 2, stderr: `${sentence}\n` })
    expect(JSON.parse(machine.stdout)).toMatchObject({ error: sentence })
    expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
  },
)

test('a Postgres that is too old is reported with its version and without the password', async () => {
  await using server = await oldPostgres()

  const result = await runIn(`warehouse: { url: "${server.url}" }\n${access}`, ['sync'])

  const place = new URL(server.url).host
  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr: `The server at ${place}/dealers is Postgres 14.11: forecourt needs 15 or newer, so upgrade it or name another in warehouse.url.\n`,
  })
})

test.each(['runs list', 'runs show 1', 'why 12', 'quarantine list', 'backfill --status'])(
  '%s in a folder without a config or a warehouse says so, and makes none',
  async (args) => {
    await using folder = await temporaryFolder()

    const result = await runInProcess(args.split(' '), { cwd: folder.path })

    expect(result).toEqual({
      code: 2,
      stdout: '',
      stderr: `There is no forecourt.yaml in ${folder.path}, and no warehouse in ${folder.path}/.forecourt/postgres: go to the folder of the config, name it with --config <file>, or write one with "forecourt init".\n`,
    })
    expect(await readdir(folder.path)).toEqual([])
  },
)

test('all faults of a config are reported, one line for each, in the order of the file', async () => {
  const config = 'sycn: {}\nhttp:\n  concurrency: many\n  timeoutSeconds: 0\npricing: [1]\n'

  const { code, stderr } = await runIn(config, ['sync'])

  expect(code).toBe(2)
  expect(stderr).toMatchInlineSnapshot(`
    "forecourt.yaml:1: sycn is not a setting (did you mean sync?): correct its name or remove it.
    forecourt.yaml:3: http.concurrency must be a number.
    forecourt.yaml:4: http.timeoutSeconds must be 0.05 or more.
    forecourt.yaml:5: pricing must be a group of settings, name: value.
    "
  `)
})

test('the stack is shown at --log-level debug alone, and without secrets', async () => {
  const config = `warehouse: { url: "postgres://u:secret-word@127.0.0.1:1/d" }\n${access}`

  const { code, stderr } = await runIn(config, ['--log-level', 'debug', 'status'])

  expect(code).toBe(2)
  expect(stderr).toMatch(/cannot be reached .*\n\s+at /)
  expect(stderr).not.toContain('secret-word')
})

test('a port that is taken stops the sandbox before it has begun', async () => {
  const other = createServer()
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
  const { port } = other.address() as { port: number }

  const result = await runIn(access, ['sandbox', '--port', String(port), '--evals', '1'])
  other.close()

  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr: `Cannot start the sandbox: port ${port} on 127.0.0.1 is taken by another program (perhaps another sandbox). Stop that one, or choose another --port; 0 takes any free one.\n`,
  })
})

test.each(someOf([[[]], [['stock']], [['runs']], [['links']]], 1))(
  'the command line %j without a command shows the help and exits 2',
  async (args) => {
    const { code, stdout, stderr } = await runCli(args, { cwd: '/' })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: forecourt .*Name a command: choose one of those above\.\n$/s)
  },
)

async function runIn(config: string, args: readonly string[]): Promise<CliResult> {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), config)
  return await runInProcess(args, { cwd: folder.path })
}
