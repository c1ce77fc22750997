import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { now, smallWorld } from '../app/commands/sync-fixture.ts'
import { freePorts } from '../containers/free-ports.ts'
import { startForecourt } from '../support/child.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folderOfUnits = fileURLToPath(new URL('../../.deploy/systemd', import.meta.url))

/** What a unit file says, its paths below `root`. */
function readUnit(name: string, root: string) {
  const text = readFileSync(join(folderOfUnits, name), 'utf8')
    .replaceAll('%i', '1')
    .replaceAll(/(?<=[= ])\/(?:etc|var\/lib)\//g, `${root}$&`)
  const read = (setting: string) => new RegExp(`^${setting}=(.*)$`, 'm').exec(text)![1]!
  const [program, ...args] = read('ExecStart').split(' ')
  const folder = read('WorkingDirectory')
  return { program, args, folder, environmentFile: read('EnvironmentFile') }
}

/** The environment that systemd gives a service: a PATH, and the lines of the file. */
function readEnvironment(file: string | null): string[] {
  const lines = file === null ? [] : readFileSync(file, 'utf8').split('\n')
  return [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin',
    ...lines.filter((line) => /^\w+=/.test(line)),
  ]
}

test('every systemd unit starts with the variables of its EnvironmentFile alone, is ready, and ends with 143', async () => {
  await using closing = new AsyncDisposableStack()
  const clock = new VirtualClock({ start: now, frozen: true })
  const sandbox = await startSandbox({ clock, world: smallWorld() })
  closing.defer(async () => await sandbox.close())
  const database = closing.use(await createTestDatabase())
  const root = closing.use(await temporaryFolder()).path
  const names = readdirSync(folderOfUnits)
  const units = names.map((name) => readUnit(name, root))
  const [servePort = 0, ...ports] = await freePorts(names.length + 1)
  const { folder, environmentFile } = units[0]!
  mkdirSync(join(root, 'etc/forecourt'), { recursive: true })
  mkdirSync(folder, { recursive: true })
  const { keys, ...config } = sandbox.clientConfig()
  const settings = {
    ...{ ...config, warehouse: { url: `\${DATABASE_URL}` }, serve: { port: servePort } },
    keys: Object.fromEntries(
      Object.entries(keys).map(([name, key]) => [name, { ...key, value: `\${FORECOURT_KEY}` }]),
    ),
    links: { token: `\${FORECOURT_LINKS_TOKEN}` },
  }
  writeFileSync(join(root, 'etc/forecourt/forecourt.yaml'), JSON.stringify(settings))
  const variables = {
    ...{ DATABASE_URL: database.url, FORECOURT_KEY: Object.values(keys)[0]!.value },
    FORECOURT_LINKS_TOKEN: 'a-token-of-the-test-0123456789',
  }
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  writeFileSync(environmentFile, ['# Secrets', ...lines, ''].join('\n'))
  const start = ({ args, folder: cwd }: (typeof units)[0], port: number, file: string | null) =>
    startForecourt([...args.slice(0, -1), String(port)], {
      ...{ cwd, launcher: ['env', '-i', ...readEnvironment(file)] },
    })

  const children = units.map((unit, index) => start(unit, ports[index]!, environmentFile))
  for (const port of ports)
    await expect
      .poll(
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status,
        {
          timeout: 60_000,
        },
      )
      .toBe(200)
  for (const child of children) child.kill('SIGTERM')
  const ended = await Promise.all(children.map((child) => child.ended))
  const without = await start(units[0]!, ports[0]!, null).ended

  expect(units.map(({ program }) => program)).toEqual(Array(3).fill('/usr/local/bin/forecourt'))
  expect(ended.map(({ code }) => code)).toEqual([143, 143, 143])
  expect(without.code).toBe(2)
  expect(without.stderr).toContain('DATABASE_URL, which is not set')
})
