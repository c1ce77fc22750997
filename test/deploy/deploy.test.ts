import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '#src/app/config/read.ts'
import { clientConfigFor, sandboxVehicleDataKey } from '#src/sandbox/client-config.ts'
import { generateWorld } from '#src/sandbox/generate-world.ts'
import { defaultWire } from '#src/values/wire.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { faultsOfCommand } from './command-lines.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const has = (program: string) => spawnSync(program, ['--version']).error === undefined

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly deploy?: { readonly replicas: number }
  readonly ports?: readonly string[]
}

function compose(): { services: Record<string, Service>; volumes: Record<string, unknown> } {
  return parse(read('docker-compose.yml'), { merge: true })
}

function ours(): [string, Service][] {
  return Object.entries(compose().services).filter(([, { image }]) => image === 'forecourt')
}

const required = /\$\{(\w+):\?([^}]*)\}/g
const secretOfTest = 'of-the-test-0123456789abcdef'

/** `${NAME:-default}` as compose fills it in where NAME is not set, and a secret for `${NAME:?what to do}`. */
function filledIn(text: string): string {
  return text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll(required, secretOfTest)
}

test('docker-compose.yml starts the sandbox, the schema, a scheduler, two workers and a server', () => {
  const faults = ours().flatMap(([name, { command = [] }]) =>
    faultsOfCommand(command).map((fault) => `${name}: ${fault}`),
  )

  expect(faults).toEqual([])
  expect(Object.fromEntries(ours().map(([name, { command }]) => [name, command![0]]))).toEqual({
    sandbox: 'sandbox',
    migrate: 'migrate',
    schedule: 'schedule',
    worker: 'worker',
    serve: 'serve',
  })
  expect(compose().services['worker']!.deploy).toEqual({ replicas: 2 })
})

test('its containers have a read-only root, no capabilities, and time to drain', () => {
  for (const [name, service] of ours())
    expect({ name, ...service }).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      stop_grace_period: '35s',
    })
  const published = Object.values(compose().services).flatMap(({ ports = [] }) => ports)
  expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
})

test('its passwords have no default, and what is missing is named with what to do', () => {
  const text = read('docker-compose.yml').replaceAll(/^ *#.*$/gm, '')
  const named = [...text.matchAll(required)].map(([, name, sentence]) => ({ name, sentence }))
  const settings = Object.values(compose().services).flatMap(({ environment = {} }) =>
    Object.entries(environment),
  )
  const secrets = settings.filter(([name]) => /PASSWORD|TOKEN|KEY|SECRET|DATABASE_URL/.test(name))

  expect(new Set(named.map(({ name }) => name))).toEqual(
    new Set(['POSTGRES_PASSWORD', 'FORECOURT_LINKS_TOKEN', 'FORECOURT_WEBHOOK_TOKEN']),
  )
  for (const { name, sentence } of named) expect(sentence).toMatch(`set ${name} in .env to `)
  for (const [, value] of secrets) expect(value).toMatch(/\$\{\w+:\?/)
})

test('its health checks ask over the network, without a space, which the API of Podman 4 cuts at', () => {
  const { postgres, ...others } = compose().services

  // Behind its socket the image answers while it is still setting the database up.
  expect(postgres!.healthcheck!.test!.join(' ')).toContain('pg_isready -h 127.0.0.1 ')
  for (const { healthcheck } of [postgres!, ...Object.values(others)])
    expect(healthcheck?.test?.filter((word) => word.includes(' ')) ?? []).toEqual([])
})

test('its volumes and dependencies exist, and no service starts before the schema', () => {
  const { services, volumes } = compose()

  for (const [name, { depends_on = {}, volumes: mounted = [] }] of Object.entries(services)) {
    for (const [other, { condition }] of Object.entries(depends_on)) {
      const { healthcheck, image } = services[other]!
      const hasHealthcheck = image === 'forecourt' || healthcheck?.test !== undefined
      expect({
        name,
        other,
        fits: condition !== 'service_healthy' || hasHealthcheck,
      }).toMatchObject({
        fits: true,
      })
    }
    for (const volume of mounted) {
      const [from = ''] = volume.split(':')
      const isThere = from.startsWith('.')
        ? existsSync(join(root, from))
        : Object.hasOwn(volumes, from)
      expect({ name, volume, isThere }).toMatchObject({ isThere: true })
    }
  }
  for (const name of ['schedule', 'worker', 'serve'])
    expect(services[name]!.depends_on!['migrate']).toEqual({
      condition: 'service_completed_successfully',
    })
})

test('its config is valid with its environment variables, and has the keys and rooftops of the sandbox', () => {
  const { environment = {} } = compose().services['schedule']!
  const variables = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, filledIn(value)]),
  )

  const config = parseConfig(read('.deploy/compose/config.yaml'), '/data/forecourt.yaml', {
    variables,
    cwd: '/data',
  })

  const now = new Date('2026-11-01T00:00:00Z')
  const { generatedUser } = defaultWire.appraisal
  const world = generateWorld({
    seed: 1,
    rooftops: 6,
    evaluations: 0,
    days: 90,
    now,
    generatedUser,
  })
  const served = clientConfigFor(world, {
    baseUrl: 'http://sandbox:4010/v1',
    vehicleDataUrl: 'http://sandbox:4011',
    vehicleDataKey: sandboxVehicleDataKey,
  })
  expect(config).toMatchObject(served)
  expect(config.warehouse.url).toBe(`postgres://forecourt:${secretOfTest}@postgres:5432/forecourt`)
  expect(config.links.token).not.toBeNull()
  expect(config.webhooks.authHeaderValue).not.toBeNull()
  expect(read('Dockerfile')).toContain(`http://127.0.0.1:${config.operations.port}/healthz`)
})

test('the Dockerfile copies what is there and is let through, on the Node of the tests, and starts the program of the package', () => {
  const lines = read('Dockerfile').split('\n')
  const copied = lines.flatMap((line) => {
    const [, sources] = /^COPY (?!--from)(.+) \S+$/.exec(line) ?? []
    return sources === undefined ? [] : sources.split(' ')
  })
  const letThrough = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
  const { bin, devDependencies, files } = JSON.parse(read('package.json'))

  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(new Set(copied)).toEqual(new Set(letThrough.map((line) => line.slice(1))))
  const bases = lines.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1])
  expect(new Set(bases)).toEqual(new Set([`node:${devDependencies.node}-slim`]))
  expect(lines).toContain(`ENTRYPOINT ["node", "/app/${bin.forecourt}"]`)
  // The image has the files of an installed package.
  for (const part of files) expect(lines.join('\n')).toMatch(new RegExp(`^COPY .*\\b${part}$`, 'm'))
  expect(lines.lastIndexOf('USER 1000:1000')).toBeGreaterThan(
    lines.findLastIndex((line) => line.startsWith('RUN ')),
  )
})

const unitFolder = '.deploy/systemd'
const units = readdirSync(join(root, unitFolder))
const settingsOf = (unit: string, name: string) =>
  [...read(join(unitFolder, unit)).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(
    ([, value]) => value!,
  )

test('each systemd unit starts a command that is there, on a port of its own, and gives it time to drain', () => {
  const commands = units.map((unit) => settingsOf(unit, 'ExecStart')[0]!.split(' '))

  expect(units.sort()).toEqual([
    'forecourt-schedule.service',
    'forecourt-serve.service',
    'forecourt-worker@.service',
  ])
  for (const [program, ...args] of commands) {
    expect(program).toBe('/usr/local/bin/forecourt')
    expect(faultsOfCommand(args)).toEqual([])
  }
  const ports = commands.map((words) => words.at(-1))
  expect(new Set(ports).size).toBe(units.length)
  for (const unit of units) {
    expect(Number(settingsOf(unit, 'TimeoutStopSec')[0])).toBeGreaterThan(30)
    expect(settingsOf(unit, 'NoNewPrivileges')).toEqual(['yes'])
    expect(settingsOf(unit, 'ProtectSystem')).toEqual(['strict'])
  }
})

test('an unknown command or option is found', () => {
  expect(faultsOfCommand(['schedule', '--operations-port', '1'])).toEqual([])
  expect(faultsOfCommand(['--config', 'x', 'scheduler'])).toEqual(['forecourt knows no scheduler'])
  expect(faultsOfCommand(['schedule', '--ops', '1'])).not.toEqual([])
  expect(faultsOfCommand(['--config', 'x'])).toEqual(['no command'])
})

test.skipIf(!has('docker-compose'))('docker-compose finds no fault with its file', () => {
  const secrets = ['POSTGRES_PASSWORD', 'FORECOURT_LINKS_TOKEN', 'FORECOURT_WEBHOOK_TOKEN']
  const config = (names: readonly string[]) =>
    spawnSync(
      'docker-compose',
      ['--project-directory', tmpdir(), '-f', join(root, 'docker-compose.yml'), 'config'],
      {
        cwd: tmpdir(),
        env: {
          PATH: process.env['PATH'],
          ...Object.fromEntries(names.map((name) => [name, secretOfTest])),
        },
        encoding: 'utf8',
      },
    )

  expect(Object.keys(parse(config(secrets).stdout).services)).toHaveLength(6)
  for (const name of secrets) {
    const { status, stderr } = config(secrets.filter((other) => other !== name))
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`set ${name} in .env`),
    })
  }
})

test.skipIf(!has('systemd-analyze'))('systemd finds no fault with the units', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'etc'))
  const files = await Promise.all(
    units.map(async (unit) => {
      // It checks whether the program exists.
      const text = read(join(unitFolder, unit)).replace(
        '/usr/local/bin/forecourt',
        process.execPath,
      )
      const file = join(folder.path, unit.replace('@.', '@1.'))
      await writeFile(file, text)
      return file
    }),
  )

  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], SYSTEMD_LOG_LEVEL: 'warning' },
  })

  const about = stderr
    .split('\n')
    .filter((line) => line.includes(folder.path) || line.includes('forecourt'))
  expect({ status, about }).toEqual({ status: 0, about: [] })
})
