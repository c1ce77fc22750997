import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))

export const engines = ['deltalake', 'polars', 'duckdb', 'spark'] as const
export type Engine = (typeof engines)[number]

/** Rows of a table that an engine reads. */
export interface Request {
  readonly table: string
  /** null: the last one. */
  readonly version: number | null
  readonly filter: readonly [column: string, operator: string, value: string, kind: string] | null
}

/** What an engine says: of each column the number of values, their sum, the least and the greatest. */
export interface Answer {
  readonly rows: number
  readonly columns: Readonly<Record<string, readonly (number | string | null)[]>>
}

interface Installed {
  readonly python: string
  readonly jars: string
  /** Why an engine cannot be tried here. */
  readonly missing: Partial<Record<Engine, string>>
}

/** Installs the engines once for all runs. Never rejects: what cannot be installed is named. */
export async function installEngines(): Promise<Installed> {
  const wanted = [
    await readFile(join(here, 'requirements.txt')),
    await readFile(join(here, 'pom.xml')),
  ]
  const digest = createHash('sha256').update(Buffer.concat(wanted)).digest('hex').slice(0, 12)
  const home = join(tmpdir(), `forecourt-lake-engines-${digest}`)
  const python = join(home, 'bin/python')
  const jars = join(home, 'jars')
  const all = (reason: string) => Object.fromEntries(engines.map((engine) => [engine, reason]))
  const isDone = await readFile(join(home, 'done')).then(
    () => true,
    () => false,
  )
  try {
    if (!isDone) {
      await rm(home, { recursive: true, force: true })
      await run('python3', ['-m', 'venv', home])
      await run(python, ['-m', 'pip', 'install', '--quiet', '-r', join(here, 'requirements.txt')])
      await writeFile(join(home, 'done'), '')
    }
  } catch (error) {
    return { python, jars, missing: all(`the packages of Python cannot be installed: ${error}`) }
  }
  try {
    if (!(await readdir(jars).catch(() => []))[0]) await installJars(home, jars)
    return { python, jars, missing: {} }
  } catch (error) {
    const reason = `Spark needs Java and the jars of Delta by Maven, which cannot be fetched: ${error}`
    return { python, jars, missing: { spark: reason } }
  }
}

/** Spark has the other dependencies of Delta itself. */
async function installJars(home: string, jars: string): Promise<void> {
  await run('java', ['-version'])
  const fetched = join(home, 'fetched')
  await run('mvn', [
    ...['-q', '-f', join(here, 'pom.xml'), 'dependency:copy-dependencies'],
    ...[`-DoutputDirectory=${fetched}`, '-DincludeScope=runtime'],
  ])
  await mkdir(jars, { recursive: true })
  for (const name of await readdir(fetched))
    if (/^(delta|unitycatalog)-/.test(name)) await cp(join(fetched, name), join(jars, name))
}

/** Reads with one engine; `between` runs when all tables are open and no row is read. */
export async function readWith(
  { python, jars }: Installed,
  engine: Engine,
  lake: string,
  requests: readonly Request[],
  between: () => Promise<unknown> = async () => undefined,
): Promise<Answer[]> {
  const child = spawn(python, [join(here, 'read.py'), engine, lake, jars], {
    env: { ...process.env, TZ: 'UTC' },
  })
  let faults = ''
  child.stderr.on('data', (piece: Buffer) => {
    faults += piece
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`${engine} ended: ${faults.slice(-3000)}`)
    return value as string
  }
  for (const request of requests) {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    await next()
  }
  await between()
  child.stdin.end('go\n')
  const answers: Answer[] = []
  for (const _ of requests) answers.push(JSON.parse(await next()) as Answer)
  return answers
}
