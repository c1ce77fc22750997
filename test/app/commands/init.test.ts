import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig, makeConfig, parseConfig } from '#src/app/config/read.ts'
import { configJsonSchema } from '#src/app/config/schema.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { allHeldNames } from '#src/values/wire.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('init writes a file that says what the defaults say, but for the addresses, which are examples, and the columns, which are held', async () => {
  await using folder = await temporaryFolder()

  const result = await runInProcess(['init'], { cwd: folder.path })

  expect(result).toMatchObject({ code: 0, stderr: '' })
  const written = loadConfig(undefined, { variables: {}, cwd: folder.path })
  const file = join(folder.path, 'forecourt.yaml')
  const examples = {
    appraisal: { baseUrl: 'https://appraisal.example.com/v1' },
    vehicleData: { baseUrl: 'https://data.example.com' },
    wire: { appraisal: { held: allHeldNames } },
  }
  const wireInFile = new Set(['appraisal.held'])
  expect(written).toEqual({ ...makeConfig(examples, folder.path), file, wireInFile })
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(/# The uid is .* X-Dealer-Id\. .*\n.*come from whoever gave you the key/)
  expect(text).not.toContain('127.0.0.1:401')
})

test('check says of the file of init that its address is still the example', async () => {
  await using folder = await temporaryFolder()
  await runInProcess(['init'], { cwd: folder.path })

  const { code, stdout } = await runInProcess(['check'], { cwd: folder.path })

  expect(code).toBe(1)
  expect(stdout).toMatch(/fail +source +appraisal\.baseUrl is still the example, /)
})

test('the file of init names every section, and its examples in comments hold when they are taken', async () => {
  await using folder = await temporaryFolder()
  await runInProcess(['init'], { cwd: folder.path })
  const text = await readFile(join(folder.path, 'forecourt.yaml'), 'utf8')

  expect(Object.keys(parse(text))).toEqual(
    Object.keys((configJsonSchema()['properties'] ?? {}) as object),
  )
  const taken = text.replaceAll(/^( +)# (?=(url|group-au| *- \{| *[a-zA-Z]+:( |$)))/gm, '$1')
  const passwords = { BI_TOOL_PASSWORD: 'a long password', BI_NORTH_PASSWORD: 'a longer password' }
  const secrets = { FORECOURT_KEY_AU: 'a-key', FORECOURT_OIDC_SECRET: 'a-secret' }
  const alerts = {
    ...{ FORECOURT_SLACK_URL: 'https://hooks.example.com/x', FORECOURT_SMTP_PASSWORD: 'a-word' },
  }
  const urls = { DATABASE_URL: 'postgres://h/d', FORECOURT_MCP_URL: 'postgres://bi@h/d' }
  const variables = { ...urls, ...secrets, ...passwords, ...alerts }
  const config = parseConfig(taken, '/srv/forecourt.yaml', { variables, cwd: '/srv' })
  expect(config.rooftops).toHaveLength(1)
  expect(config.warehouse.url).toBe('postgres://h/d')
  expect(config.mcp.url).toBe('postgres://bi@h/d')
  expect(config.console?.people.map(({ role }) => role)).toEqual(['engineer', 'stock'])
  expect(config.access.logins.map(({ role }) => role)).toEqual(['bi_reader', 'bi_tenant'])
  expect(config.alerts.targets.map(({ format }) => format)).toEqual(['slack', 'email'])
  expect(taken).toContain('\n  vehicleData:\n')
  const wire = { appraisal: { held: allHeldNames } }
  expect(config.wire).toEqual(makeConfig({ wire }, '/srv').wire)
})

test('the first line of the file leads editors to the schema beside it', async () => {
  await using folder = await temporaryFolder()
  await runInProcess(['init'], { cwd: folder.path })

  const [first] = (await readFile(join(folder.path, 'forecourt.yaml'), 'utf8')).split('\n')
  const schema = /^# yaml-language-server: \$schema=(.*)$/.exec(first ?? '')?.[1] ?? ''

  const written: unknown = JSON.parse(await readFile(join(folder.path, schema), 'utf8'))
  expect(written).toEqual(JSON.parse(JSON.stringify(configJsonSchema())))
})

test('init --sandbox writes the keys and rooftops that the sandbox serves', async () => {
  await using folder = await temporaryFolder()
  await runInProcess(['init', '--sandbox'], { cwd: folder.path })
  await using sandbox = await startSandbox({ evaluations: 1 })

  const { appraisal, keys, rooftops, sync } = loadConfig(undefined, {
    variables: {},
    cwd: folder.path,
  })

  const served = sandbox.clientConfig()
  expect(appraisal.baseUrl).toBe('http://127.0.0.1:4010/v1')
  expect(keys).toEqual(served.keys)
  expect(rooftops).toMatchObject(served.rooftops)
  expect(Date.now() - sync.start.getTime()).toBeGreaterThan(90 * 86_400_000)
})

test('init does not change an existing file unless --force is given', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, '# mine\n')

  const refused = await runInProcess(['init'], { cwd: folder.path })

  expect(refused).toEqual({
    code: 2,
    stdout: '',
    stderr: `${file} exists and was not changed: edit it, or add --force to overwrite it.\n`,
  })
  expect(await readFile(file, 'utf8')).toBe('# mine\n')
  expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
  expect(await runInProcess(['init', '--force'], { cwd: folder.path })).toMatchObject({ code: 0 })
  expect(await readFile(file, 'utf8')).not.toContain('# mine')
})

test('init --schema prints the schema and writes nothing, whatever config is there', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), 'nonsense: [')

  const { code, stdout } = await runInProcess(['init', '--schema'], { cwd: folder.path })

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ type: 'object' })
  expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
})

test('init --config writes the file that it names, and reports when it cannot', async () => {
  await using folder = await temporaryFolder()

  const made = await runInProcess(['init', '--config', 'a/other.yaml', '--json'], {
    cwd: folder.path,
  })
  // A folder is asked for below what is a file.
  const below = join(folder.path, 'a/other.yaml/x.yaml')
  const refused = await runInProcess(['init', '--config', below], { cwd: folder.path })

  expect(JSON.parse(made.stdout)).toMatchObject({ file: join(folder.path, 'a/other.yaml') })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(
    /x\.yaml cannot be written \(ENOTDIR.*\): correct the rights, .*\.\n$/,
  )
})
