import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { type Config, makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { openLog } from '#src/log.ts'
import { type InboxServices, listInboxes } from '#src/stock/folders/inbox.ts'
import { type InboxStatus, readInboxStatuses } from '#src/stock/folders/inbox-status.ts'
import { joined, type PassReport, runPass } from '#src/stock/folders/pass.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

type InboxInput = NonNullable<NonNullable<ConfigInput['stock']>['inbox']>[number]

/** A warehouse with three rooftops and a drop folder, by default of `north`. */
export interface InboxFixture extends AsyncDisposable {
  readonly database: TestDatabase
  readonly pool: pg.Pool
  readonly config: Config
  readonly services: InboxServices
  /** The drop folder. */
  readonly folder: string
  drop(name: string | Buffer, content: string | Uint8Array): Promise<void>
  /** A pass that sees the files, and one after they have not changed for long enough. */
  pass(): Promise<PassReport>
  /** The files of a folder of the drop folder, without what is hidden. */
  list(name?: '' | 'working' | 'done' | 'failed'): Promise<string[]>
  /** The text of the only file of done/ or failed/ with this ending. */
  text(name: 'done' | 'failed', ending: string): Promise<string>
  status(): Promise<InboxStatus>
  rows<Row extends pg.QueryResultRow>(query: string): Promise<Row[]>
}

export const rooftopInputs = (['north', 'south', 'gulf'] as const).map((uid) => ({
  ...{
    uid,
    name: `${uid[0]!.toUpperCase()}${uid.slice(1)}side`,
    key: uid === 'gulf' ? 'gulf' : 'au',
  },
  ...{ timezone: 'Australia/Sydney', currency: uid === 'gulf' ? 'AED' : 'AUD' },
}))

export const keyInputs = {
  au: { value: 'key-of-the-group', kind: 'partner', region: 'AU' },
  gulf: { value: 'key-of-the-gulf', kind: 'partner', region: 'GCC' },
} as const

export async function openInboxFixture(
  changes: Partial<InboxInput> = { rooftop: 'north' },
  settings: ConfigInput = {},
): Promise<InboxFixture> {
  const [database, home] = [await createTestDatabase(), await temporaryFolder()]
  const folder = join(home.path, 'inbox')
  await mkdir(folder)
  const inbox = { folder: 'inbox', ...changes } as InboxInput
  const config = makeConfig(
    { ...settings, keys: keyInputs, rooftops: rooftopInputs, stock: { inbox: [inbox] } },
    home.path,
  )
  const { pool } = database
  const never = new AbortController().signal
  const services: InboxServices = {
    ...{
      warehouse: { pool, db: openDb(pool), config },
      signal: never,
      stopping: never,
      log: silent,
    },
    now: () => new Date(),
  }
  const pass = async () => {
    const first = await runPass(services, listInboxes(config))
    await age(pool)
    const { waiting, ignored, ...second } = await runPass(services, listInboxes(config))
    return { ...joined([first, { waiting, ignored, ...second }]), waiting, ignored }
  }
  const list = async (name = '') =>
    (await readdir(join(folder, name))).filter((one) => !isOwn(one)).sort()
  return {
    ...{ database, pool, config, services, folder, pass, list },
    drop: async (name, content) =>
      await writeFile(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)]), content),
    text: async (name, ending) => {
      const found = (await list(name)).filter((one) => one.endsWith(ending))
      if (found.length !== 1) throw new Error(`${ending} in ${name}: ${found.join(', ') || 'none'}`)
      return await readFile(join(folder, name, found[0]!), 'utf8')
    },
    status: async () => Object.values(await readInboxStatuses(openDb(pool), config))[0]!,
    rows: async (query) => (await pool.query(query)).rows,
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}

const isOwn = (name: string) => ['working', 'done', 'failed', '.forecourt-inbox'].includes(name)

/** As if no file had changed for a minute. */
export async function age(pool: pg.Pool): Promise<void> {
  await pool.query(
    "update ops.stock_inbox_file set unchanged_since = now() - interval '61 seconds'",
  )
}

export const silent = openLog({
  level: process.env['INBOX_LOG'] ? 'debug' : 'silent',
  human: true,
  secrets: [],
  write: (line) => process.stderr.write(line),
})
