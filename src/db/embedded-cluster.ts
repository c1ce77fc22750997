import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf, UsageError } from '../errors.ts'
import { type Binaries, embeddedMajor } from './embedded-binaries.ts'
import type { OsUser, Run } from './embedded-user.ts'

const execute = promisify(execFile)

/** Paths of an embedded Postgres below its folder. */
export interface Layout {
  readonly folder: string
  readonly cluster: string
  readonly data: string
  readonly password: string
  readonly port: string
  readonly log: string
  readonly lock: string
}

/** The contents of `postmaster.pid`; its server may be dead. */
export interface Postmaster {
  readonly pid: number
  readonly data: string
  readonly port: number
}

/** The paths below `folder`; the cluster, its password and its port are moved together. */
export function layoutOf(folder: string): Layout {
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

/** Whether the folder has a finished cluster. UsageError when it has other files, or belongs to another OS user. */
export async function hasCluster(layout: Layout): Promise<boolean> {
  const { folder } = layout
  const names: string[] = await readdir(folder).catch((cause) => {
    if (isCode(cause, 'ENOENT')) return []
    throw cannotUse(folder, cause)
  })
  if (names.includes('cluster')) {
    await assertOwned(layout)
    await assertMajor(layout)
    return true
  }
  const foreign = names.filter((name) => !isOurs(name))
  if (foreign.length > 0)
    throw new UsageError(
      `${folder} is not an embedded Postgres of forecourt (it holds ${foreign[0]}): ` +
        'name an empty folder, or set warehouse.url in the config.',
    )
  return false
}

function isOurs(name: string): boolean {
  return /^(\..*|cluster\.new-.*|postgres\.log|lock|lock\.stale)$/.test(name)
}

async function assertOwned(layout: Layout): Promise<void> {
  const uid = process.getuid?.()
  if (uid === undefined || uid === 0) return
  const owner = await stat(layout.cluster).catch((cause) => {
    throw cannotUse(layout.folder, cause)
  })
  if (owner.uid !== uid)
    throw new UsageError(
      `The Postgres in ${layout.folder} belongs to another OS user (uid ${owner.uid}, we are ${uid}): ` +
        'run as that user, or name another folder.',
    )
}

async function assertMajor(layout: Layout): Promise<void> {
  const path = join(layout.data, 'PG_VERSION')
  const major = await readFile(path, 'utf8').catch((cause) => {
    throw cannotUse(layout.folder, cause)
  })
  if (major.trim() !== String(embeddedMajor))
    throw new UsageError(
      `The data in ${layout.folder} was written by Postgres ${major.trim()}, this forecourt brings ` +
        `${embeddedMajor}: move it over with pg_dump and pg_restore, or name another folder.`,
    )
}

/** The UsageError for a folder that cannot be read or written. */
export function cannotUse(folder: string, cause: unknown): UsageError {
  return new UsageError(
    `The embedded Postgres folder ${folder} cannot be used (${messageOf(cause)}): ` +
      'make it a directory that this OS user may write, or set warehouse.url in the config.',
    { cause },
  )
}

/** Initialises a cluster under a temporary name and renames it, so that an unfinished cluster is never used. */
export async function initialise(
  layout: Layout,
  binaries: Binaries,
  run: Run,
  user: OsUser | undefined,
): Promise<void> {
  for (const name of await readdir(layout.folder))
    if (name.startsWith('cluster.new-'))
      await rm(join(layout.folder, name), { recursive: true, force: true })
  const fresh = join(layout.folder, `cluster.new-${process.pid}-${randomBytes(4).toString('hex')}`)
  await mkdir(fresh, { mode: 0o700 })
  await writeOwned(join(fresh, 'password'), `${randomBytes(24).toString('base64url')}\n`, user)
  if (user !== undefined) await chown(fresh, user.uid, user.gid)
  await run(binaries.initdb, initdbArguments(fresh))
  await createDatabase(fresh, binaries, run)
  await rename(fresh, layout.cluster)
}

function initdbArguments(fresh: string): string[] {
  const settings = {
    shared_buffers: '128MB',
    max_connections: '60',
    timezone: 'UTC',
    log_timezone: 'UTC',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    log_line_prefix: '%m [%p] %a ',
  }
  return [
    `--pgdata=${join(fresh, 'data')}`,
    `--pwfile=${join(fresh, 'password')}`,
    '--username=forecourt',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    ...Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`),
  ]
}

// In single-user mode and before the rename, so that every finished cluster has its database.
async function createDatabase(fresh: string, binaries: Binaries, run: Run): Promise<void> {
  const script = join(fresh, 'create.sql')
  await writeFile(script, 'create database forecourt\n', { mode: 0o644 })
  // The shell opens the script as the user of the server, who may not be able to read our own directory.
  await run('/bin/sh', [
    '-c',
    '"$1" --single -D "$2" -c log_min_messages=error postgres < "$3" > /dev/null',
    'sh',
    binaries.postgres,
    join(fresh, 'data'),
    script,
  ])
  await rm(script)
}

/** Writes a small file atomically, mode 0600, owned by the user of the server. */
export async function writeOwned(
  path: string,
  content: string,
  user: OsUser | undefined,
): Promise<void> {
  const temporary = `${path}.new`
  await rm(temporary, { force: true })
  await writeFile(temporary, content, { mode: 0o600, flag: 'wx' })
  if (user !== undefined) await chown(temporary, user.uid, user.gid)
  await rename(temporary, path)
}

/** Gives the log file, and a cluster that root copied here, to the user of the server. */
export async function prepareFiles(layout: Layout, user: OsUser | undefined): Promise<void> {
  await writeFile(layout.log, '', { flag: 'a', mode: 0o600 })
  await chmod(layout.data, 0o700)
  if (user === undefined) return
  await chown(layout.log, user.uid, user.gid)
  if ((await lstat(layout.data)).uid !== user.uid)
    await execute('chown', ['-R', `${user.uid}:${user.gid}`, layout.cluster])
}

/** The server in `postmaster.pid` of this cluster; undefined when none runs. Postgres does not start when the pid of a dead server
 *  now belongs to another program, so such a file is removed, if we hold the lock (`locked`). */
export async function runningPostmaster(
  layout: Layout,
  access: 'locked' | 'unlocked',
): Promise<Postmaster | undefined> {
  const path = join(layout.data, 'postmaster.pid')
  const text = await readFile(path, 'utf8').catch((cause) => {
    if (isCode(cause, 'ENOENT')) return undefined
    throw cannotUse(layout.folder, cause)
  })
  if (text === undefined) return undefined
  const [pid, data, , port] = text.split('\n')
  const postmaster = { pid: Number(pid), data: data ?? '', port: Number(port) }
  if (!isAlive(postmaster.pid)) return undefined
  const served = await folderServedBy(postmaster.pid)
  if (served !== undefined && (await isSameFolder(served, postmaster, layout))) return postmaster
  if (access === 'locked') await rm(path, { force: true })
  return undefined
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}

// The data folder in the command line of the process (`postgres -D folder …`).
async function folderServedBy(pid: number): Promise<string | undefined> {
  try {
    if (process.platform === 'linux') {
      const [program = '', flag, folder] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split(
        '\0',
      )
      return basename(program) === 'postgres' && flag === '-D' ? folder : undefined
    }
    const { stdout } = await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return /\/postgres -D (.+?) -[pc] /.exec(stdout)?.[1]
  } catch {
    // It has ended, or is hidden from us: either way it is not our server.
    return undefined
  }
}

// A copied folder has the pid file of the original, whose server does not serve this cluster.
async function isSameFolder(
  served: string,
  postmaster: Postmaster,
  layout: Layout,
): Promise<boolean> {
  if (served === layout.data) return true
  try {
    return (await realpath(served)) === (await realpath(layout.data))
  } catch (cause) {
    if (!isCode(cause, 'ENOENT') || served !== postmaster.data) return false
    throw new UsageError(
      `${layout.folder} was moved from ${served} while its Postgres (pid ${postmaster.pid}) was running: ` +
        'end that process, then try again.',
    )
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
