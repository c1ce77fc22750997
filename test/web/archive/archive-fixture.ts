import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { type Db, openDb } from '#src/warehouse/db/transaction.ts'
import { type CliResult, runInProcess } from '../../support/cli.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The source's time; ours differs, so that code which uses ours fails. */
export const sourceNow = new Date('2031-03-10T06:30:00Z')

/** A signed link as the nightly stream stores it. */
export interface LinkDraft {
  readonly rooftop?: string
  readonly evalId?: number
  readonly kind?: 'ppsr_pdf' | 'car_history_pdf'
  readonly ref: string
  readonly url: string
  readonly expiresAt?: string
}

/** A warehouse with links in it, and a config file that has an archive beside it. North and south are of one dealer
 *  group, east is of another. */
export interface ArchiveFixture extends AsyncDisposable {
  readonly database: TestDatabase
  readonly db: Db
  readonly archive: string
  /** `core.rooftop` by uid. */
  readonly ids: Readonly<Record<string, number>>
  addLink(draft: LinkDraft): Promise<void>
  /** `links archive` with `--json`; the document is what stdout holds. */
  run(args?: readonly string[]): Promise<Ran>
}

export interface Ran extends CliResult {
  readonly document: Readonly<Record<string, unknown>>
}

export async function archiveFixture(
  links: Readonly<NonNullable<NonNullable<ConfigInput['links']>['archive']>>,
): Promise<ArchiveFixture> {
  const database = await createTestDatabase()
  const home = await temporaryFolder()
  const file = join(home.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify(configFor(database.url, links)))
  const db = openDb(database.pool)
  const { rooftops } = loadConfig(file, { variables: {}, cwd: home.path })
  const rows = await registerRooftops(db, rooftops)
  const ids = Object.fromEntries(rows.map(({ uid, id }) => [uid, id]))
  await database.pool.query(
    `insert into ops.run (command, status, source_started_at, arguments)
     values ('sync', 'ok', $1, '{"mode":"sync"}')`,
    [sourceNow],
  )
  return {
    database,
    db,
    archive: join(home.path, 'archive'),
    ids,
    addLink: async (draft) => await insertLink(database, ids, draft),
    run: async (args = []) => {
      const all = ['--config', file, '--log-level', 'debug', 'links', 'archive', ...args, '--json']
      // Not the config's folder: its paths are relative to the config, not to the working directory.
      const ran = await runInProcess(all, { cwd: '/' })
      return { ...ran, document: JSON.parse(ran.stdout) as Ran['document'] }
    },
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}

function configFor(url: string, archive: object): ConfigInput {
  const key = { kind: 'partner', region: 'AU' } as const
  const rooftop = (uid: string, name: string) => ({
    uid,
    name,
    key: uid === 'east' ? 'second' : 'first',
    timezone: 'Australia/Sydney',
    currency: 'AUD',
  })
  return {
    warehouse: { url },
    keys: { first: { ...key, value: 'first-key' }, second: { ...key, value: 'second-key' } },
    rooftops: [rooftop('north', 'North'), rooftop('south', 'South'), rooftop('east', 'East')],
    links: { archive: { folder: 'archive', ...archive } },
  }
}

async function insertLink(
  { pool }: TestDatabase,
  ids: Readonly<Record<string, number>>,
  draft: LinkDraft,
): Promise<void> {
  const { rooftop = 'north', evalId = 1, kind = 'ppsr_pdf', ref, url } = draft
  const expiresAt = draft.expiresAt ?? '2031-03-12T00:00:00Z'
  await pool.query(
    `insert into pii.signed_link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
     values ($1, $2, $3, $4, $5, $6::timestamptz - interval '7 days', $6)`,
    [ids[rooftop], evalId, kind, ref, url, expiresAt],
  )
}
