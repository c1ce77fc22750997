import { mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { errorText, UsageError } from '../../errors.ts'
import {
  cannotUse,
  clusterLayout,
  hasCluster,
  initialise,
  type Layout,
  prepareFiles,
  runningPostmaster,
  writeOwned,
} from './embedded-cluster.ts'
import { isCode, withFileLock } from './embedded-lock.ts'
import { findBinaries, type OsUser, runnerFor, serverUser } from './embedded-programs.ts'

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
    await mkdir(path, { recursive: true })
    return clusterLayout(await realpath(path))
  } catch (cause) {
    throw cannotUse(path, cause)
  }
}

async function findFolder(folder: string): Promise<Layout> {
  const path = resolve(folder)
  return clusterLayout(await realpath(path).catch(() => path))
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
  const owner = await stat(layout.data).catch(() => undefined)
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
  const lines = (await readFile(layout.log, 'utf8').catch(() => '')).trimEnd().split('\n')
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
  const text = await readFile(layout.port, 'utf8').catch(() => '')
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
  const password = await readFile(layout.password, 'utf8').catch((cause) => {
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
    return (await realpath(theirs).catch(() => theirs)) === (await realpath(layout.data))
      ? 'ours'
      : 'another Postgres answers on this port'
  } catch (error) {
    return errorText(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
