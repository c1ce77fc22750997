import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { errorText, UsageError } from '../../errors.ts'
import { isCode } from './embedded-lock.ts'
import type { Binaries, OsUser, Run } from './embedded-programs.ts'

const execute = promisify(execFile)

/** The major version of the binaries that package.json installs; a cluster of another one cannot be opened. */
const embeddedMajor = '18'

/** Paths of an embedded Postgres below its folder. */
export type Layout = ReturnType<typeof clusterLayout>

/** The contents of `postmaster.pid`. */
interface Postmaster {
  readonly pid: number
  readonly data: string
  readonly port: number
}

/** The paths below `folder`; the cluster, its password and its port are moved together. */
export function clusterLayout(folder: string) {
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
export async function hasCluster({ folder, cluster, data }: Layout): Promise<boolean> {
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
export function cannotUse(folder: string, cause: unknown): UsageError {
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
export async function initialise(
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
export async function writeOwned(
  path: string,
  content: string,
  user: OsUser | undefined,
): Promise<void> {
  const temporary = `${path}.new`
  await fs.rm(temporary, { force: true })
  await fs.writeFile(temporary, content, { mode: 0o600, flag: 'wx' })
  if (user !== undefined) await fs.chown(temporary, user.uid, user.gid)
  await fs.rename(temporary, path)
}

/** Gives the log file, and a cluster that root copied here, to the user of the server. */
export async function prepareFiles(layout: Layout, user: OsUser | undefined): Promise<void> {
  await fs.writeFile(layout.log, '', { flag: 'a', mode: 0o600 })
  await fs.chmod(layout.data, 0o700)
  if (user === undefined) return
  await fs.chown(layout.log, user.uid, user.gid)
  if ((await fs.lstat(layout.data)).uid !== user.uid)
    await execute('chown', ['-R', `${user.uid}:${user.gid}`, layout.cluster])
}

/** The server in `postmaster.pid` of this cluster; undefined when none runs. Postgres does not start when the pid of a dead server
 *  now belongs to another program, so such a file is removed, if we hold the lock (`locked`). */
export async function runningPostmaster(
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
