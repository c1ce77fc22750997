import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { errorText, isCode, UsageError } from '../../errors.ts'
import { withFileLock } from './embedded-lock.ts'
import {
  type Binaries,
  findBinaries,
  type OsUser,
  type Run,
  runnerFor,
  serverUser,
} from './embedded-programs.ts'

/** A running embedded Postgres; `started` says whether this call started it. */
export interface Embedded {
  /** Holds the password. */
  readonly url: string
  readonly port: number
  readonly started: boolean
}

/** The status of an embedded Postgres, read without starting it. */
interface EmbeddedStatus {
  readonly initialised: boolean
  readonly running: boolean
  readonly pid: number | undefined
  readonly port: number | undefined
}

type Server = Awaited<ReturnType<typeof openServer>>

const startTimeoutSeconds = 120

/** The running Postgres of `folder`, e.g. `.forecourt/postgres`; initialises and starts it when needed. It listens only on
 *  127.0.0.1, outlives this process, and is shared by all commands of the folder. `log` gets the slow steps: initialising, starting.
 *  UsageError when the folder, its version or the OS user does not allow it. */
export async function ensureEmbedded(
  folder: string,
  { log = () => undefined }: { readonly log?: (line: string) => void } = {},
): Promise<Embedded> {
  const layout = await openFolder(folder)
  const shared = await connectRunning(layout)
  if (shared !== undefined) return shared
  return withLock(layout, async () => {
    const server = await openServer(layout)
    if (!(await hasCluster(layout))) {
      log(`initialising Postgres in ${layout.folder}`)
      await initialise(layout, server.binaries, server.run, server.user)
    }
    return (await awaitStarting(layout)) ?? (await start(server, log))
  })
}

/** Stops the Postgres of `folder` with a fast shutdown; false when it was not running. */
export async function stopEmbedded(folder: string): Promise<boolean> {
  const layout = await findFolder(folder)
  if (!(await hasCluster(layout))) return false
  return withLock(layout, async () => {
    if ((await runningPostmaster(layout, 'locked')) === undefined) return false
    const { binaries, run } = await openServer(layout)
    await run(binaries.pg_ctl, ['stop', '-D', layout.data, '-m', 'fast', '-w', '-t', '60'], 70_000)
    return true
  })
}

/** Reads the status without starting or changing anything. */
export async function embeddedStatus(folder: string): Promise<EmbeddedStatus> {
  const layout = await findFolder(folder)
  if (!(await hasCluster(layout)))
    return { initialised: false, running: false, pid: undefined, port: undefined }
  const postmaster = await runningPostmaster(layout, 'unlocked')
  const port = postmaster?.port ?? (await rememberedPort(layout))
  return { initialised: true, running: postmaster !== undefined, pid: postmaster?.pid, port }
}

async function openFolder(folder: string): Promise<Layout> {
  const path = resolve(folder)
  try {
    await fs.mkdir(path, { recursive: true })
    return clusterLayout(await fs.realpath(path))
  } catch (cause) {
    throw cannotUse(path, cause)
  }
}

async function findFolder(folder: string): Promise<Layout> {
  const path = resolve(folder)
  return clusterLayout(await fs.realpath(path).catch(() => path))
}

async function withLock<T>(layout: Layout, work: () => Promise<T>): Promise<T> {
  try {
    return await withFileLock(layout.lock, work)
  } catch (cause) {
    const isFolders = isCode(cause, 'EACCES', 'EPERM', 'EROFS', 'ENOSPC')
    throw isFolders ? cannotUse(layout.folder, cause) : cause
  }
}

async function openServer(layout: Layout) {
  const binaries = await findBinaries()
  const user = await dataOwner(layout)
  return { layout, binaries, user, run: await runnerFor(user, binaries, layout.folder) }
}

// Root runs the cluster of an ordinary user as that user, so that the user can still use it.
async function dataOwner(layout: Layout): Promise<OsUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const owner = await fs.stat(layout.data).catch(() => undefined)
  return owner === undefined || owner.uid === 0 ? serverUser() : { uid: owner.uid, gid: owner.gid }
}

async function connectRunning(layout: Layout): Promise<Embedded | undefined> {
  if (!(await hasCluster(layout))) return undefined
  const postmaster = await runningPostmaster(layout, 'unlocked')
  if (postmaster === undefined) return undefined
  const url = await connectionUrl(layout, postmaster.port)
  const answer = await checkServer(url, layout)
  return answer === 'ours' ? { url, port: postmaster.port, started: false } : undefined
}

// Another process may be starting it, or it may be recovering after a crash.
async function awaitStarting(layout: Layout): Promise<Embedded | undefined> {
  const giveUpAt = performance.now() + startTimeoutSeconds * 1000
  while ((await runningPostmaster(layout, 'locked')) !== undefined) {
    const running = await connectRunning(layout)
    if (running !== undefined) return running
    if (performance.now() > giveUpAt)
      throw new UsageError(
        `The Postgres in ${layout.folder} runs but accepts no connection after ` +
          `${startTimeoutSeconds} s: see ${layout.log}, and stop it with pg_ctl.`,
      )
    await sleep(100)
  }
  return undefined
}

async function start(server: Server, log: (line: string) => void): Promise<Embedded> {
  const { binaries, layout, run } = server
  await prepareFiles(layout, server.user)
  let failure: unknown
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await choosePort(server)
    log(`starting Postgres on 127.0.0.1:${port}`)
    try {
      await run(
        binaries.pg_ctl,
        [
          ...[
            'start',
            '-D',
            layout.data,
            '-l',
            layout.log,
            '-w',
            '-t',
            `${startTimeoutSeconds}`,
            '-s',
          ],
          ...['-o', `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`],
        ],
        (startTimeoutSeconds + 10) * 1000,
      )
      const url = await connectionUrl(layout, port)
      const answer = await checkServer(url, layout)
      if (answer === 'ours') return { url, port, started: true }
      failure = new Error(answer)
    } catch (error) {
      failure = error
    }
    // The port may have been taken since the check, or backends of a crashed server may still be ending: both are temporary.
    await sleep(500 * (attempt + 1))
  }
  throw new UsageError(
    `Postgres in ${layout.folder} did not start (${await startFailure(layout, failure)}): ` +
      `see ${layout.log}.`,
    { cause: failure },
  )
}

async function startFailure(layout: Layout, failure: unknown): Promise<string> {
  const lines = (await fs.readFile(layout.log, 'utf8').catch(() => '')).trimEnd().split('\n')
  const fatal = lines.slice(-20).findLast((line) => /FATAL|could not/.test(line))
  return fatal?.replace(/^.*?(FATAL|LOG|HINT):\s*/, '') ?? errorText(failure)
}

async function choosePort(server: Server): Promise<number> {
  const { layout } = server
  const remembered = await rememberedPort(layout)
  if (remembered !== undefined && (await isFree(remembered))) return remembered
  for (let attempt = 0; attempt < 100; attempt++) {
    // Below the range from which systems take ports for outgoing connections.
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    if (!(await isFree(port))) continue
    await writeOwned(layout.port, `${port}\n`, server.user)
    return port
  }
  throw new UsageError(
    `No free port between 20000 and 29999 for the Postgres in ${layout.folder}: ` +
      'stop the programs that hold them, or set warehouse.url in the config.',
  )
}

async function rememberedPort(layout: Layout): Promise<number | undefined> {
  const text = await fs.readFile(layout.port, 'utf8').catch(() => '')
  const port = Number(text.trim())
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer()
    probe.once('error', () => done(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)))
  })
}

async function connectionUrl(layout: Layout, port: number): Promise<string> {
  const password = await fs.readFile(layout.password, 'utf8').catch((cause) => {
    throw cannotUse(layout.folder, cause)
  })
  return `postgres://forecourt:${password.trim()}@127.0.0.1:${port}/forecourt`
}

// Another program may have taken the port: only our own cluster reports our folder.
async function checkServer(url: string, layout: Layout): Promise<string> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    const theirs = rows[0]?.data_directory ?? ''
    return (await fs.realpath(theirs).catch(() => theirs)) === (await fs.realpath(layout.data))
      ? 'ours'
      : 'another Postgres answers on this port'
  } catch (error) {
    return errorText(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const execute = promisify(execFile)

/** The major version of the binaries that package.json installs; a cluster of another one cannot be opened. */
const embeddedMajor = '18'

/** Paths of an embedded Postgres below its folder. */
type Layout = ReturnType<typeof clusterLayout>

/** The contents of `postmaster.pid`. */
interface Postmaster {
  readonly pid: number
  readonly data: string
  readonly port: number
}

/** The paths below `folder`; the cluster, its password and its port are moved together. */
function clusterLayout(folder: string) {
  const cluster = join(folder, 'cluster')
  return {
    folder,
    cluster,
    data: join(cluster, 'data'),
    password: join(cluster, 'password'),
    port: join(cluster, 'port'),
    log: join(folder, 'postgres.log'),
    lock: join(folder, 'lock'),
  }
}

/** Whether the folder has a finished cluster. UsageError when it has other files, or a cluster that this process cannot use. */
async function hasCluster({ folder, cluster, data }: Layout): Promise<boolean> {
  try {
    const names = await fs.readdir(folder)
    const foreign = names.find(
      (name) => !/^(\..*|cluster(\.new-.*)?|postgres\.log|lock.*)$/.test(name),
    )
    if (!names.includes('cluster') && foreign !== undefined)
      throw new UsageError(
        `${folder} is not an embedded Postgres of forecourt (it holds ${foreign}): ` +
          'name an empty folder, or set warehouse.url in the config.',
      )
    if (!names.includes('cluster')) return false
    const [owner, uid] = [(await fs.stat(cluster)).uid, process.getuid?.() ?? 0]
    if (uid !== 0 && owner !== uid)
      throw new UsageError(
        `The Postgres in ${folder} belongs to another OS user (uid ${owner}, we are ${uid}): ` +
          'run as that user, or name another folder.',
      )
    const major = (await fs.readFile(join(data, 'PG_VERSION'), 'utf8')).trim()
    if (major === embeddedMajor) return true
    throw new UsageError(
      `The data in ${folder} was written by Postgres ${major}, this forecourt brings ` +
        `${embeddedMajor}: move it over with pg_dump and pg_restore, or name another folder.`,
    )
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    if (isCode(cause, 'ENOENT') && (cause as NodeJS.ErrnoException).path === folder) return false
    throw cannotUse(folder, cause)
  }
}

/** The UsageError for a folder that cannot be read or written. */
function cannotUse(folder: string, cause: unknown): UsageError {
  return new UsageError(
    `The embedded Postgres folder ${folder} cannot be used (${errorText(cause)}): ` +
      'make it a directory that this OS user may write, or set warehouse.url in the config.',
    { cause },
  )
}

const settings = {
  shared_buffers: '128MB',
  max_connections: '60',
  timezone: 'UTC',
  log_timezone: 'UTC',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  log_line_prefix: '%m [%p] %a ',
}

/** Initialises a cluster under a temporary name and renames it, so that an unfinished cluster is never used. */
async function initialise(
  { folder, cluster }: Layout,
  { initdb, postgres }: Binaries,
  run: Run,
  user: OsUser | undefined,
): Promise<void> {
  for (const name of await fs.readdir(folder))
    if (name.startsWith('cluster.new-'))
      await fs.rm(join(folder, name), { recursive: true, force: true })
  const fresh = join(folder, `cluster.new-${process.pid}-${randomBytes(4).toString('hex')}`)
  const [data, password] = [join(fresh, 'data'), join(fresh, 'password')]
  await fs.mkdir(fresh, { mode: 0o700 })
  await writeOwned(password, `${randomBytes(24).toString('base64url')}\n`, user)
  if (user !== undefined) await fs.chown(fresh, user.uid, user.gid)
  await run(initdb, [
    ...[`--pgdata=${data}`, `--pwfile=${password}`, '--username=forecourt'],
    ...['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'],
    ...Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`),
  ])
  // In single-user mode and before the rename, so that every finished cluster has its database.
  const create =
    'echo "create database forecourt" | "$1" --single -D "$2" -c log_min_messages=error'
  await run('/bin/sh', ['-c', `${create} postgres > /dev/null`, 'sh', postgres, data])
  await fs.rename(fresh, cluster)
}

/** Writes a small file atomically, mode 0600, owned by the user of the server. */
async function writeOwned(path: string, content: string, user: OsUser | undefined): Promise<void> {
  const temporary = `${path}.new`
  await fs.rm(temporary, { force: true })
  await fs.writeFile(temporary, content, { mode: 0o600, flag: 'wx' })
  if (user !== undefined) await fs.chown(temporary, user.uid, user.gid)
  await fs.rename(temporary, path)
}

/** Gives the log file, and a cluster that root copied here, to the user of the server. */
async function prepareFiles(layout: Layout, user: OsUser | undefined): Promise<void> {
  await fs.writeFile(layout.log, '', { flag: 'a', mode: 0o600 })
  await fs.chmod(layout.data, 0o700)
  if (user === undefined) return
  await fs.chown(layout.log, user.uid, user.gid)
  if ((await fs.lstat(layout.data)).uid !== user.uid)
    await execute('chown', ['-R', `${user.uid}:${user.gid}`, layout.cluster])
}

/** The server in `postmaster.pid` of this cluster; undefined when none runs. Postgres does not start when the pid of a dead server
 *  now belongs to another program, so such a file is removed, if we hold the lock (`locked`). */
async function runningPostmaster(
  layout: Layout,
  access: 'locked' | 'unlocked',
): Promise<Postmaster | undefined> {
  const path = join(layout.data, 'postmaster.pid')
  const text = await fs.readFile(path, 'utf8').catch((cause) => {
    if (isCode(cause, 'ENOENT')) return ''
    throw cannotUse(layout.folder, cause)
  })
  const [pid, data = '', , port] = text.split('\n')
  const postmaster = { pid: Number(pid), data, port: Number(port) }
  // The file of a dead server stays: by it Postgres finds backends that have outlived their server.
  if (!isAlive(postmaster.pid)) return undefined
  const served = await folderServedBy(postmaster.pid)
  if (served !== undefined && (await isSameFolder(served, postmaster, layout))) return postmaster
  if (access === 'locked') await fs.rm(path, { force: true })
  return undefined
}

function isAlive(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}

// The data folder in the command line of the process (`postgres -D folder …`).
async function folderServedBy(pid: number): Promise<string | undefined> {
  try {
    if (process.platform !== 'linux') {
      const { stdout } = await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
      return /\/postgres -D (.+?) -[pc] /.exec(stdout)?.[1]
    }
    const commandLine = await fs.readFile(`/proc/${pid}/cmdline`, 'utf8')
    const [program = '', flag, folder] = commandLine.split('\0')
    return basename(program) === 'postgres' && flag === '-D' ? folder : undefined
  } catch {
    // It has ended, or is hidden from us: either way it is not our server.
    return undefined
  }
}

// A copied folder has the pid file of the original, whose server does not serve this cluster.
async function isSameFolder(
  served: string,
  postmaster: Postmaster,
  { data, folder }: Layout,
): Promise<boolean> {
  try {
    return served === data || (await fs.realpath(served)) === (await fs.realpath(data))
  } catch (cause) {
    if (!isCode(cause, 'ENOENT') || served !== postmaster.data) return false
    throw new UsageError(
      `${folder} was moved from ${served} while its Postgres (pid ${postmaster.pid}) was running: ` +
        'end that process, then try again.',
    )
  }
}
