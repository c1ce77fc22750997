import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { type Child, startForecourt } from '../../support/child.ts'
import { type CliResult, runInProcess } from '../../support/cli.ts'
import { type Fixture, openLoadedFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { DeltaTable } from './delta.ts'

/** A warehouse with two rooftops, a folder with a config, and the command. */
export interface LakeFixture extends AsyncDisposable {
  readonly fixture: Fixture
  /** Of the config; the lake is `lake` in it. */
  readonly folder: string
  readonly lake: string
  /** `lake export`, with --to unless the config names a lake. */
  run(...args: readonly string[]): Promise<CliResult>
  /** Its report; throws unless it ended with 0. */
  export(...args: readonly string[]): Promise<Report>
  start(env: Readonly<Record<string, string>>, ...args: readonly string[]): Child
  /** All files below the lake, sorted. */
  files(): Promise<string[]>
  /** Those that are data files. */
  dataFiles(): Promise<string[]>
}

export interface Report {
  readonly files: { readonly written: number; readonly unchanged: number; readonly removed: number }
  readonly rows: number
  readonly coveredTo: string | null
  readonly number: number
  readonly isHistoryRemoved: boolean
  readonly isEverythingCompared: boolean
}

export async function openLakeFixture(
  lake: ConfigInput['lake'] = { to: 'lake' },
  given?: Fixture,
): Promise<LakeFixture> {
  const fixture = given ?? (await loadedFixture())
  const home = await temporaryFolder()
  const config = join(home.path, 'forecourt.yaml')
  const { url } = fixture.database
  // Nothing of an earlier state stays, unless a test is about that.
  const settings: ConfigInput = { warehouse: { url }, lake: { keepHours: 0, ...lake } }
  await writeFile(config, JSON.stringify(settings))
  const folder = join(home.path, 'lake')
  const line = (args: readonly string[]) => ['--config', config, 'lake', 'export', ...args]
  const run = (...args: readonly string[]) => runInProcess(line(args), { cwd: home.path })
  const files = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort()
  }
  return {
    ...{ fixture, folder: home.path, lake: folder, run },
    export: async (...args) => {
      const { code, stdout, stderr } = await run(...args, '--json')
      if (code !== 0) throw new Error(`lake export: ${stderr}`)
      return JSON.parse(stdout) as Report
    },
    start: (env, ...args) => startForecourt(line(args), { cwd: home.path, env }),
    files,
    dataFiles: async () => (await files()).filter((file) => /\/part-/.test(file)),
    [Symbol.asyncDispose]: async () => {
      await fixture[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}

/** A fixture that another owner disposes. */
export function shared(fixture: Fixture): Fixture {
  return { ...fixture, [Symbol.asyncDispose]: async () => undefined }
}

async function loadedFixture(): Promise<Fixture> {
  const now = new Date('2026-03-10T06:30:00Z')
  const sandbox = { seed: 5, rooftops: 2, evaluations: 20, days: 70, now }
  const sync = { start: '2025-12-20', windowHours: 744 }
  return await openLoadedFixture('lake', { sandbox, sync }, async ({ night, database }) => {
    await night()
    await shortenCalendar(database.pool)
  })
}

/** Leaves the days of the tests of fifty years, which were half of what every export reads and writes. */
export async function shortenCalendar(pool: pg.Pool): Promise<void> {
  await pool.query("delete from core.dim_date where date_day not between '2025-06-01' and now()")
}

/** The paths of the data files of these tables, sorted. */
export function pathsOf(tables: Readonly<Record<string, DeltaTable>>): string[] {
  return Object.values(tables)
    .flatMap(({ files }) => files.map(({ path }) => path))
    .sort()
}
