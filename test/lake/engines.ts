import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installEnvironment, toolsFolder } from '../ecosystem/tools.ts'
import { installTrino, startTrino } from './trino.ts'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))

export const engines = ['deltalake', 'polars', 'duckdb', 'duckdb-delta', 'spark', 'trino'] as const
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

export interface Engines extends AsyncDisposable {
  /** Why an engine cannot be tried here. */
  readonly missing: Partial<Record<Engine, string>>
  /** Output of a script of this folder. */
  start(script: string, engine: Engine, lake: string): ChildProcessWithoutNullStreams
}

/** Installs the engines once for all runs, and starts Trino. What cannot be installed is named. */
export async function openEngines(): Promise<Engines> {
  const main = await installEnvironment('lake', join(here, 'requirements.txt'))
  const duckdb = await installEnvironment('lake-duckdb', join(here, 'requirements-duckdb.txt'))
  const jars = join(main.folder, 'jars')
  const missing: Partial<Record<Engine, string>> = {}
  for (const engine of engines) {
    const { reason } = engine === 'duckdb-delta' ? duckdb : main
    if (reason !== null) missing[engine] = reason
  }
  const attempt = async <T>(engine: Engine, needs: string, install: () => Promise<T>) => {
    if (missing[engine] !== undefined) return null
    return await install().catch((error: unknown) => {
      missing[engine] = `${needs}, which cannot be installed: ${error}`
      return null
    })
  }
  await attempt('spark', 'Spark needs Java and the jars of Delta by Maven', async () => {
    if (!(await readdir(jars).catch(() => []))[0]) await installJars(main.folder, jars)
  })
  const server = await attempt('trino', 'Trino needs Java 24 and its server by Maven', () =>
    installTrino(toolsFolder),
  )
  const trino = server === null ? null : await startTrino(server)
  return {
    missing,
    start: (script, engine, lake) => {
      const { folder } = engine === 'duckdb-delta' ? duckdb : main
      const option = engine === 'trino' ? String(trino?.port) : jars
      return spawn(join(folder, 'bin/python'), [join(here, script), engine, lake, option], {
        env: { ...process.env, TZ: 'UTC', PYTHONDONTWRITEBYTECODE: '1' },
      })
    },
    [Symbol.asyncDispose]: async () => await trino?.[Symbol.asyncDispose](),
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
  { start }: Engines,
  engine: Engine,
  lake: string,
  requests: readonly Request[],
  between: () => Promise<unknown> = async () => undefined,
): Promise<Answer[]> {
  const child = start('read.py', engine, lake)
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
