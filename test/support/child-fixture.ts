import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import type { RunReport } from '#src/sync/run/run-report.ts'
import type { Stream } from '#src/sync/run/stream.ts'
import { type Child, type ChildResult, startForecourt } from './child.ts'
import { runInProcess } from './cli.ts'
import { runNight } from './fixture.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'
import { temporaryFolder } from './temporary-folder.ts'

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

export interface ChildFixtureOptions {
  readonly sandbox: SandboxOptions & { readonly now: Date }
  readonly sync: NonNullable<ConfigInput['sync']>
  readonly http?: ConfigInput['http']
}

/** A warehouse with a config file of its own, for commands. */
export interface ChildWarehouse extends AsyncDisposable {
  readonly database: TestDatabase
  /** A sync in this process: quicker than a child where the run itself is not what is tested. Default: as `runNight`. */
  night(streams?: readonly Stream[]): Promise<RunReport>
  /** Starts a command in a process of its own. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Child
  /** Runs a command to its end: within this process, unless it is given an environment. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<ChildResult>
  /** Runs with `--json` and parses stdout, which must be one document and nothing else. */
  json(args: readonly string[]): Promise<{ code: number | null; document: Json; stderr: string }>
}

/** What a test reads out of a document, by name; `toEqual` and `toMatchObject` check the shapes. */
export type Json = { readonly [name: string]: Json } & readonly Json[] & string & number

/** A sandbox in this process with a frozen clock, and warehouses for it. */
export interface ChildFixture extends AsyncDisposable {
  readonly sandbox: Sandbox
  /** An empty one, unless it is to take over a given database. */
  warehouse(database?: TestDatabase): Promise<ChildWarehouse>
}

export async function openChildFixture(options: ChildFixtureOptions): Promise<ChildFixture> {
  const clock = new VirtualClock({ start: options.sandbox.now, frozen: true })
  const sandbox = await startSandbox({ clock, ...options.sandbox })
  const folder = await temporaryFolder()
  let count = 0
  return {
    sandbox,
    async warehouse(given) {
      const database = given ?? (await createTestDatabase())
      const file = join(folder.path, `warehouse-${++count}.yaml`)
      await writeFile(file, configText(sandbox, database.url, options))
      return warehouseOf(database, file, folder.path)
    },
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** JSON is YAML too. */
export function configText(sandbox: Sandbox, url: string, options: ChildFixtureOptions): string {
  const { sync, http } = options
  const config: ConfigInput = {
    ...sandbox.clientConfig(),
    warehouse: { url },
    sync,
    http: { maxRetries: 0, timeoutSeconds: 10, ...http },
  }
  return JSON.stringify(config, null, 2)
}

function warehouseOf(database: TestDatabase, file: string, cwd: string): ChildWarehouse {
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    startForecourt(['--config', file, ...args], { cwd, env })
  const run = async (args: readonly string[], env?: Readonly<Record<string, string>>) => {
    if (env !== undefined) return await start(args, env).ended
    return { signal: null, ...(await runInProcess(['--config', file, ...args], { cwd })) }
  }
  const night = async (streams?: readonly Stream[]) => {
    const config = loadConfig(file, { variables: {}, cwd })
    await using context = await openContext(config, silent)
    return await runNight(context, streams)
  }
  return {
    database,
    night,
    start,
    run,
    json: async (args) => {
      const { code, stdout, stderr } = await run([...args, '--json'])
      return { code, document: JSON.parse(stdout) as Json, stderr }
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
