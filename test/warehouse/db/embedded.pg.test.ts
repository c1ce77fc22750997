import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import {
  type Embedded,
  embeddedStatus,
  ensureEmbedded,
  stopEmbedded,
} from '#src/warehouse/db/embedded.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const root = join(import.meta.dirname, '../../..')
const isRoot = process.getuid?.() === 0

/** A folder for a cluster, whose server is stopped before the folder goes. */
async function clusterFolder(mode?: number): Promise<{ path: string } & AsyncDisposable> {
  const parent = await temporaryFolder(mode)
  const path = join(parent.path, 'some project', 'postgres')
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await stopEmbedded(path).catch(() => false)
      await parent[Symbol.asyncDispose]()
    },
  }
}

/** Runs `ensureEmbedded` in a separate process and waits for its end. */
async function ensureInOtherProcess(folder: string, project = root): Promise<Embedded> {
  const script = `import { ensureEmbedded } from ${JSON.stringify(join(project, 'src/warehouse/db/embedded.ts'))}
    console.log(JSON.stringify(await ensureEmbedded(${JSON.stringify(folder)})))`
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script],
    { cwd: project },
  )
  return JSON.parse(stdout) as Embedded
}

async function ask<T>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql)).rows as T[]
  } finally {
    await client.end()
  }
}

test('the first call initialises, later calls and processes share, and stop stops', async () => {
  await using folder = await clusterFolder()
  expect(await embeddedStatus(folder.path)).toMatchObject({ initialised: false, running: false })

  const first = await ensureInOtherProcess(folder.path)
  const second = await ensureEmbedded(folder.path)

  expect(first.started).toBe(true)
  expect(second).toEqual({ ...first, started: false })
  expect(await embeddedStatus(folder.path)).toMatchObject({ running: true, port: first.port })
  expect(await stopEmbedded(folder.path)).toBe(true)
  expect(await stopEmbedded(folder.path)).toBe(false)
  const again = await ensureEmbedded(folder.path)
  expect(again).toEqual({ ...first, started: true })
})

test('the cluster is local, guarded by a password in a closed file, in UTF8 and UTC', async () => {
  await using folder = await clusterFolder()

  const { url } = await ensureEmbedded(folder.path)

  const [settings] = await ask(
    url,
    `select current_setting('listen_addresses') as host, current_setting('fsync') as fsync,
       current_setting('unix_socket_directories') as sockets, current_setting('timezone') as zone,
       current_setting('server_encoding') as encoding, current_setting('max_connections') as most,
       current_setting('password_encryption') as password, current_database() as name`,
  )
  expect(settings).toEqual({
    host: '127.0.0.1',
    fsync: 'on',
    sockets: '',
    zone: 'UTC',
    encoding: 'UTF8',
    most: '60',
    password: 'scram-sha-256',
    name: 'forecourt',
  })
  const { mode } = await stat(join(folder.path, 'cluster/password'))
  expect(mode & 0o777).toBe(0o600)
  const wrong = url.replace(/:[^:@/]+@/, ':wrong@')
  await expect(ask(wrong, 'select 1')).rejects.toThrow(/password authentication failed/)
})

test('commands that start at once get one server', { tags: 'ci' }, async () => {
  await using folder = await clusterFolder()

  const all = await Promise.all([
    ensureInOtherProcess(folder.path),
    ensureInOtherProcess(folder.path),
    ensureInOtherProcess(folder.path),
    ensureEmbedded(folder.path),
  ])

  expect(all.filter((one) => one.started)).toHaveLength(1)
  expect(new Set(all.map((one) => one.url)).size).toBe(1)
})

test('a server that was killed is recovered with its data', { tags: 'ci' }, async () => {
  await using folder = await clusterFolder()
  const { url } = await ensureEmbedded(folder.path)
  await ask(url, 'create table stored as select 42 as answer')
  const { pid } = await embeddedStatus(folder.path)

  process.kill(pid!, 'SIGKILL')
  await expect.poll(() => embeddedStatus(folder.path)).toMatchObject({ running: false })

  const again = await ensureEmbedded(folder.path)
  expect(again.started).toBe(true)
  expect(await ask(again.url, 'select answer from stored')).toEqual([{ answer: 42 }])
})

test('after a reboot, the server starts although its old pid belongs to another program', {
  tags: 'ci',
}, async () => {
  await using folder = await clusterFolder()
  const { url } = await ensureEmbedded(folder.path)
  const pidFile = join(folder.path, 'cluster/data/postmaster.pid')
  const left = await readFile(pidFile, 'utf8')
  await stopEmbedded(folder.path)

  await writeFile(pidFile, left.replace(/^\d+/, String(process.pid)))

  expect(await embeddedStatus(folder.path)).toMatchObject({ running: false })
  expect(await ensureEmbedded(folder.path)).toMatchObject({ url, started: true })
})

test('files left by a killed initdb and a killed command are removed', { tags: 'ci' }, async () => {
  await using folder = await clusterFolder()
  await mkdir(join(folder.path, 'cluster.new-1-00000000/data'), { recursive: true })
  await writeFile(join(folder.path, 'lock'), '2147483646 unknown\n')

  const { started } = await ensureEmbedded(folder.path)

  expect(started).toBe(true)
  expect((await readdir(folder.path)).sort()).toEqual(['cluster', 'postgres.log'])
})

test('when another program has taken the port, another port is used', { tags: 'ci' }, async () => {
  await using folder = await clusterFolder()
  const { port } = await ensureEmbedded(folder.path)
  await stopEmbedded(folder.path)
  const foreign = createServer()
  await new Promise<void>((done) => foreign.listen(port, '127.0.0.1', done))

  const moved = await ensureEmbedded(folder.path)

  foreign.close()
  expect(moved).toMatchObject({ started: true })
  expect(moved.port).not.toBe(port)
  await stopEmbedded(folder.path)
  expect((await ensureEmbedded(folder.path)).port).toBe(moved.port)
})

test('a copy of the folder is a separate cluster', { tags: 'ci' }, async () => {
  await using folder = await clusterFolder()
  await using copy = await clusterFolder()
  const original = await ensureEmbedded(folder.path)
  await stopEmbedded(folder.path)
  await cp(folder.path, copy.path, { recursive: true, preserveTimestamps: true })
  await ensureEmbedded(folder.path)
  const pidFile = 'cluster/data/postmaster.pid'
  await cp(join(folder.path, pidFile), join(copy.path, pidFile))

  const copied = await ensureEmbedded(copy.path)

  expect(copied.started).toBe(true)
  expect(copied.port).not.toBe(original.port)
})

test('the error names a folder that was moved while its server ran', { tags: 'ci' }, async () => {
  await using folder = await clusterFolder()
  await ensureEmbedded(folder.path)

  await rename(folder.path, `${folder.path}-moved`)

  await expect(ensureEmbedded(`${folder.path}-moved`)).rejects.toThrow(/was moved from .* running/)
  await rename(`${folder.path}-moved`, folder.path)
})

test('a folder with other files is not touched', async () => {
  await using folder = await clusterFolder()
  await mkdir(folder.path, { recursive: true })
  await writeFile(join(folder.path, 'thesis.txt'), 'years of work')

  await expect(ensureEmbedded(folder.path)).rejects.toThrow(
    /is not an embedded Postgres of forecourt \(it holds thesis\.txt\)/,
  )
  expect(await readdir(folder.path)).toEqual(['thesis.txt'])
})

test('a folder that cannot be made is a UsageError', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'file'), '')

  await expect(ensureEmbedded(join(folder.path, 'file'))).rejects.toThrow(UsageError)
  await expect(ensureEmbedded(join(folder.path, 'file/below'))).rejects.toThrow(/cannot be used/)
})

test('a cluster of another major version is refused with both versions', async () => {
  await using folder = await clusterFolder()
  await mkdir(join(folder.path, 'cluster/data'), { recursive: true })
  await writeFile(join(folder.path, 'cluster/data/PG_VERSION'), '17\n')

  await expect(ensureEmbedded(folder.path)).rejects.toThrow(
    /was written by Postgres 17, this forecourt brings 18/,
  )
})

test('as root, a project below a directory of mode 0700 works, its binaries included', {
  tags: 'ci',
}, async () => {
  if (!isRoot) {
    console.log('Nothing to prove here: only root has to become another user')
    return
  }
  await using parent = await temporaryFolder(0o700)
  const project = join(parent.path, 'clone')
  await copyProject(project)
  const folder = join(project, '.forecourt/postgres')

  const started = await ensureInOtherProcess(folder, project)
  const shared = await ensureInOtherProcess(folder, project)

  try {
    expect(started.started).toBe(true)
    expect(shared).toEqual({ ...started, started: false })
    expect(await ask(started.url, 'create table t as select 1 as one')).toEqual([])
    const { pid } = await embeddedStatus(folder)
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).not.toBe('0')
  } finally {
    await stopEmbedded(folder)
  }
})

/** Just enough of the project to open a cluster with its own binaries. */
async function copyProject(project: string): Promise<void> {
  await cp(join(root, 'src/warehouse/db'), join(project, 'src/warehouse/db'), { recursive: true })
  await cp(join(root, 'src/errors.ts'), join(project, 'src/errors.ts'))
  await cp(join(root, 'package.json'), join(project, 'package.json'))
  const packages = await readdir(join(root, 'node_modules'))
  const needed = packages.filter((name) => /^(pg|postgres-|split2|xtend|@?embedded-)/.test(name))
  for (const name of needed)
    await cp(join(root, 'node_modules', name), join(project, 'node_modules', name), {
      recursive: true,
      verbatimSymlinks: true,
    })
}
