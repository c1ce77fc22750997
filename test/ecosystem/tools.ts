import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { runsEveryCase } from '../support/cases.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** The programs of one file of requirements. */
export interface Tools {
  /** Why its tests are skipped; null: it is installed. */
  readonly reason: string | null
  run(program: string, words: readonly string[], options?: RunOptions): Promise<Ended>
  /** A test with these tools. If they cannot be installed, it is skipped and its name says why. */
  test(name: string, body: () => Promise<void>): void
}

/** No tool reports its use: without a network that would also take its time-outs. */
const quiet = {
  DO_NOT_TRACK: '1',
  DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
  AIRFLOW__USAGE_DATA_COLLECTION__ENABLED: 'false',
  SCARF_ANALYTICS: 'false',
}

/**
 * Installs the packages of a file of `requirements`, `<name>.txt` of Python or `<name>.npm`, into a folder of their own, once: a change of
 * the file makes another one. Where that fails, the tests are skipped; with FORECOURT_TEST_ALL=1 it throws.
 */
export async function installTools(name: string, kind: 'txt' | 'npm' = 'txt'): Promise<Tools> {
  const requirements = fileURLToPath(new URL(`requirements/${name}.${kind}`, import.meta.url))
  const { folder, reason } = await installEnvironment(name, requirements)
  if (reason !== null && runsEveryCase) throw new Error(reason)
  return {
    reason,
    run: async (program, words, { cwd, env } = {}) =>
      await run(join(folder, 'bin', program), words, { cwd, env: { ...quiet, ...env } }),
    test: (title, body) => {
      if (reason === null) test(title, body)
      else test.skip(`${title} (skipped: ${reason})`, body)
    },
  }
}

/** Where tools are installed, once for all runs. */
export const toolsFolder = fileURLToPath(
  new URL('../../node_modules/.cache/ecosystem', import.meta.url),
)

/** A folder with the packages of a file of requirements, their programs in `bin`; `reason`: why there is none. */
export async function installEnvironment(
  name: string,
  requirements: string,
): Promise<{ readonly folder: string; readonly reason: string | null }> {
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
  const folder = join(toolsFolder, `${name}-${digest.slice(0, 12)}`)
  return { folder, reason: await install(folder, requirements) }
}

/** Two runs that start at once install it once: the second waits for the first. */
async function install(folder: string, requirements: string): Promise<string | null> {
  await mkdir(toolsFolder, { recursive: true })
  const complete = join(folder, 'complete')
  const lines = [['rm', '-rf', folder], ...(await commandsToInstall(folder, requirements))]
  const script = [...lines, ['touch', complete]].map((words) => words.map(quoted).join(' '))
  const { code, stderr } = await run('flock', [
    ...[`${folder}.lock`, 'sh', '-ec'],
    [`[ -e ${quoted(complete)} ] && exit`, ...script].join('\n'),
  ])
  if (code === 0) return null
  return `installing ${requirements} ended with ${code}: ${stderr.trim().split('\n').at(-1)}`
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

async function commandsToInstall(folder: string, requirements: string): Promise<string[][]> {
  if (requirements.endsWith('.npm')) {
    const packages = (await readFile(requirements, 'utf8')).trim().split('\n')
    return [
      ['npm', 'install', '--global', '--no-audit', '--no-fund', '--prefix', folder, ...packages],
    ]
  }
  return [
    ['python3', '-m', 'venv', folder],
    [join(folder, 'bin/pip'), 'install', '--quiet', '--requirement', requirements],
  ]
}

async function run(
  program: string,
  words: readonly string[],
  { cwd, env }: { cwd?: string | undefined; env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  const child = spawn(program, words, {
    ...{ cwd, env: { ...process.env, ...env } },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (part) => (stdout += part))
  child.stderr.on('data', (part) => (stderr += part))
  return await new Promise((done) => {
    child.on('error', ({ message }) => done({ code: null, stdout, stderr: message }))
    child.on('close', (code) => done({ code, stdout, stderr }))
  })
}
