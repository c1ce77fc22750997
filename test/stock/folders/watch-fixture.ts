import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { type Child, startForecourt } from '../../support/child.ts'
import { type CliResult, runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { keyInputs, rooftopInputs } from './inbox-fixture.ts'

/** A config file with a drop folder, for commands. */
export interface WatchFixture extends AsyncDisposable {
  readonly pool: pg.Pool
  readonly home: string
  readonly folder: string
  /** Within this process. */
  run(args: readonly string[], signal?: AbortSignal): Promise<CliResult>
  /** In a process of its own. `launcher`: a command that starts it, such as `setpriv …`. */
  start(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    launcher?: readonly string[],
  ): Child
}

type InboxInput = NonNullable<NonNullable<ConfigInput['stock']>['inbox']>

export async function openWatchFixture(
  inbox: InboxInput = [{ folder: 'inbox', rooftop: 'north', mode: 'delta', settleSeconds: 1 }],
  settings: ConfigInput = {},
): Promise<WatchFixture> {
  const [database, home] = [await createTestDatabase(), await temporaryFolder()]
  const folder = join(home.path, 'inbox')
  await mkdir(folder)
  const config: ConfigInput = {
    ...settings,
    ...{ warehouse: { url: database.url }, keys: keyInputs, rooftops: rooftopInputs },
    stock: { inbox },
  }
  const file = join(home.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify(config))
  const children: Child[] = []
  const all = (args: readonly string[]) => ['--config', file, ...args]
  return {
    ...{ pool: database.pool, home: home.path, folder },
    run: async (args, signal) => await runInProcess(all(args), { cwd: home.path }, signal),
    start: (args, env = {}, launcher = undefined) => {
      const child = startForecourt(all(args), { cwd: home.path, env, launcher })
      children.push(child)
      return child
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(children.map(({ ended }) => ended))
      await database[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}
