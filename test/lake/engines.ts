import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installEnvironment } from '../ecosystem/tools.ts'

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
  const { folder, reason } = await installEnvironment('lake', join(here, 'requirements.txt'))
  const python = join(folder, 'bin/python')
  const jars = join(folder, 'jars')
  if (reason !== null)
    return { python, jars, missing: Object.fromEntries(engines.map((one) => [one, reason])) }
  try {
    if (!(await readdir(jars).catch(() => []))[0]) await installJars(folder, jars)
    return { python, jars, missing: {} }
  } catch (error) {
    const spark = `Spark needs Java and the jars of Delta by Maven, which cannot be fetched: ${error}`
    return { python, jars, missing: { spark } }
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
