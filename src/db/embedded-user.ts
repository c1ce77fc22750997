import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { messageOf, UsageError } from '../errors.ts'
import type { Binaries } from './embedded-binaries.ts'

const execute = promisify(execFile)

/** Runs a program as the OS user that owns the cluster; resolves with its standard output. */
export type Run = (file: string, args: readonly string[], timeoutMs?: number) => Promise<string>

/** An OS user by number. */
export interface OsUser {
  readonly uid: number
  readonly gid: number
}

// Postgres refuses to run as root, and its user often cannot reach a project below a directory like /root (mode 0700). A capability
// allows it: the narrower one is tried first, containers usually grant only the second. no_setuid_fixup, because access(2), by which
// Postgres finds its own programs, otherwise drops capabilities for users other than root.
const capabilities = ['dac_read_search', 'dac_override']

/** The OS user of the server; undefined: our own. As root it is user postgres, which is created when missing. */
export async function serverUser(): Promise<OsUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const known = await lookUp()
  if (known !== undefined) return known
  try {
    await execute('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
  } catch (cause) {
    // Two commands may create it at once: then one failure does not matter.
    const made = await lookUp()
    if (made !== undefined) return made
    throw new UsageError(
      `Postgres does not run as root and OS user postgres could not be created (${messageOf(cause)}): ` +
        'create it, run as another user, or set warehouse.url in the config.',
      { cause },
    )
  }
  return lookUp()
}

async function lookUp(): Promise<OsUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([
      execute('id', ['-u', 'postgres']),
      execute('id', ['-g', 'postgres']),
    ])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

/** A runner whose user can reach both the binaries and `folder`. UsageError when there is none. */
export async function runnerFor(
  user: OsUser | undefined,
  binaries: Binaries,
  folder: string,
): Promise<Run> {
  const candidates = user === undefined ? [runDirectly()] : runnersOf(user)
  let failure: unknown
  for (const run of candidates) {
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
    `The Postgres programs cannot be run for ${folder} (${messageOf(failure)}): move the project to ` +
      'a directory that OS user postgres can reach, run as another user than root, or set ' +
      'warehouse.url in the config.',
    { cause: failure },
  )
}

function runnersOf(user: OsUser): Run[] {
  const elevated = capabilities.map((capability) =>
    runDirectly({
      file: 'setpriv',
      args: [
        `--reuid=${user.uid}`,
        `--regid=${user.gid}`,
        '--clear-groups',
        `--inh-caps=+${capability}`,
        `--ambient-caps=+${capability}`,
        '--securebits=+no_setuid_fixup',
      ],
    }),
  )
  return [runDirectly(undefined, user), ...elevated]
}

function runDirectly(prefix?: { file: string; args: readonly string[] }, user?: OsUser): Run {
  return async (file, args, timeoutMs = 300_000) => {
    const command = prefix === undefined ? file : prefix.file
    const all = prefix === undefined ? args : [...prefix.args, file, ...args]
    // The user may be unable to read our directory, and PG* variables of the caller must not have an effect.
    const options = { cwd: '/', env: environment(), timeout: timeoutMs, ...user }
    const { stdout } = await execute(command, all, options).catch((cause) => {
      throw new Error(programError(cause), { cause })
    })
    return stdout
  }
}

// The message of the program instead of the whole command line.
function programError(cause: Error & { stderr?: string }): string {
  const lines = (cause.stderr ?? '').trim().split('\n')
  return lines.at(-1) || messageOf(cause)
}

function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
}
