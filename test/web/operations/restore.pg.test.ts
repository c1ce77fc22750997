import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { now, smallWorld } from '../../app/commands/sync-fixture.ts'
import { freePorts } from '../../containers/free-ports.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const page = readFileSync(
  fileURLToPath(new URL('../../../src/web/operations/README.md', import.meta.url)),
  'utf8',
)
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text]) => text!)
const dumpCommand = blocks.find((text) => text.includes('roles.sql'))!.split('\n')[0]!
const restoreCommands = blocks.find((text) => text.includes('--use-list'))!

/** The programs of a whole Postgres of this machine: a dump needs those of its server's version. */
const { stdout: bindir } = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' })
const programs = bindir?.trim() ?? ''
const isRoot = process.getuid!() === 0
const isComplete =
  (!isRoot || spawnSync('id', ['-u', 'postgres']).status === 0) &&
  ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore'].every(
    (name) => spawnSync(join(programs, name), ['--version']).error === undefined,
  )

/** A server of its own, since roles belong to the whole server. As root it runs as the user postgres. */
async function startCluster(folder: string) {
  const [port] = await freePorts(1)
  const user = isRoot ? Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' })) : null
  const options = { stdio: 'ignore', ...(user === null ? {} : { uid: user }) } as const
  if (user !== null) chownSync(folder, user, -1)
  const data = join(folder, 'data')
  execFileSync(join(programs, 'initdb'), ['-A', 'trust', '-U', 'postgres', '-D', data], options)
  const settings = Object.entries({
    ...{ port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off' },
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings], options)
  const ended = once(server, 'close')
  const address = (role: string) => `postgres://${role}:word@127.0.0.1:${port}`
  await expect
    .poll(
      () =>
        spawnSync(join(programs, 'pg_isready'), ['-d', `${address('postgres')}/postgres`]).status,
      {
        timeout: 30_000,
      },
    )
    .toBe(0)
  const administrator = await openPool(`${address('postgres')}/postgres`, {
    applicationName: 'test',
  })
  return {
    address,
    run: async (statement: string) => await administrator.query(statement),
    async [Symbol.asyncDispose]() {
      await administrator.end()
      server.kill('SIGQUIT')
      await ended
    },
  }
}

test.skipIf(!isComplete)(
  'a copy is restored without a superuser as the page says, and grant makes roles and policies',
  async () => {
    await using closing = new AsyncDisposableStack()
    const folders = await Promise.all([1, 2, 3].map(() => temporaryFolder()))
    for (const folder of folders) closing.use(folder)
    const [oldFolder, newFolder, work] = folders.map(({ path }) => path) as [string, string, string]
    const clock = new VirtualClock({ start: now, frozen: true })
    const sandbox = await startSandbox({ clock, world: smallWorld() })
    closing.defer(async () => await sandbox.close())
    const [old, hosted] = await Promise.all([startCluster(oldFolder), startCluster(newFolder)])
    closing.use(old)
    closing.use(hosted)
    await old.run("create role holder login createrole createdb password 'word'")
    await old.run('create database forecourt owner holder')
    await hosted.run("create role plain login createdb password 'word'")
    const forecourt = async (url: string, ...line: string[]) => {
      const login = { name: 'tool', role: 'bi_reader', password: 'a long password' }
      const config = {
        ...{ ...sandbox.clientConfig(), warehouse: { url }, sync: { start: '2026-03-01' } },
        access: { logins: [login] },
      }
      await writeFile(join(work, 'forecourt.yaml'), JSON.stringify(config))
      return await runInProcess([...line, '--quiet'], { cwd: work })
    }
    const from = `${old.address('holder')}/forecourt`
    const to = `${hosted.address('plain')}/forecourt`
    for (const line of ['migrate', 'sync', 'grant'])
      expect(await forecourt(from, line)).toMatchObject({ code: 0 })
    const shell = (text: string) =>
      spawnSync('sh', ['-ec', text], {
        ...{ cwd: work, encoding: 'utf8' },
        env: {
          PATH: `${programs}:/usr/bin:/bin`,
          ...{ DATABASE_URL: from, NEW_SERVER: hosted.address('plain') },
        },
      })

    expect(shell(dumpCommand)).toMatchObject({ status: 0, stderr: '' })
    expect(shell(restoreCommands)).toMatchObject({ status: 0, stderr: '' })

    const lines = ['migrate', 'verify', 'sync', 'grant']
    const without = []
    for (const line of lines) without.push(await forecourt(to, line))
    await hosted.run('alter role plain createrole')
    const granted = await forecourt(to, 'grant')
    const proved = await forecourt(to, 'verify', '--rows')
    expect(without.map(({ code }) => code)).toEqual([0, 0, 0, 2])
    expect(without[0]!.stdout).toContain('up to date')
    expect(without[3]!.stderr).toContain('has CREATEROLE')
    expect(granted).toMatchObject({ code: 0, stderr: '' })
    expect(proved.code).toBe(0)
    expect(proved.stdout).toContain(': 0 differ.')
    expect(await policiesOf(to)).toEqual(await policiesOf(from))
    const reader = to.replace('plain:word', 'tool:a%20long%20password')
    expect(await read(reader, 'select count(*)::int from mart.fact_evaluation')).toEqual([
      { count: 6 },
    ])
  },
  180_000,
)

async function policiesOf(url: string): Promise<unknown[]> {
  const policies = await read(
    url,
    'select schemaname, tablename, policyname, roles::text, cmd, qual from pg_policies order by 1, 2, 3',
  )
  expect(policies.length).toBeGreaterThan(50)
  return policies
}

async function read(url: string, statement: string): Promise<unknown[]> {
  const pool = await openPool(url, { applicationName: 'test' })
  const { rows } = await pool.query(statement)
  await pool.end()
  return rows
}
