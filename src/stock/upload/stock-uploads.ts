import { createHash } from 'node:crypto'
import type { RooftopConfig } from '../../app/config/read.ts'
import { BusyError, UsageError } from '../../errors.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import { storableJson } from '../../values/text.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { inTransaction, openDb } from '../../warehouse/db/transaction.ts'
import { importStock } from '../import/import-stock.ts'
import type { ChosenRows } from '../import/rejects.ts'
import type { ImportRequest, ImportServices } from '../import/request.ts'
import { storedListText } from '../import/stored-list.ts'
import { buildMaps, type UploadColumns } from './columns.ts'
import { confirmGuards, dryRun } from './dry-run.ts'
import { safeFileName } from './file-name.ts'
import type { UploadResult } from './result.ts'

/** How a person wants a list to be read. */
export interface UploadOptions {
  readonly mode: 'snapshot' | 'delta'
  /** `--map` texts. */
  readonly maps: readonly string[]
  /** null: as detected. */
  readonly encoding: string | null
  readonly delimiter: string | null
  /** The sheet of a workbook. */
  readonly sheet: string | null
}

/** A list that a person uploads, or that a drop folder did not import. */
interface NewUpload extends Pick<UploadOptions, 'mode'> {
  readonly rooftop: string
  readonly email: string
  readonly fileName: string
  readonly content: Buffer
  readonly sheet?: string | null
  /** Of `ops.stock_inbox_file`; the same file is the same upload. */
  readonly inboxFileId?: number
  /** The import whose rejected rows it has, corrected. */
  readonly corrects?: number
}

interface UploadRow {
  readonly rooftopId: number
  readonly rooftop: string
  readonly fileName: string
  readonly sha256: Buffer
  readonly content: Buffer | null
  readonly options: UploadOptions
  readonly result: UploadResult | null
  readonly newest: number
  readonly importId: number | null
  readonly corrects: number | null
}

/** Characters of a list that is held in memory: a list of a drop folder may have 2 GB. */
const maxText = 100_000_000

/** Lists of one person that wait. */
const maxWaiting = 10
/** Lists of a drop folder that wait for one rooftop: the newest. */
const maxOffered = 5
/** How many days such a list waits. */
export const offeredDays = 7

/** Stock lists that wait in Postgres until a person confirms them. Who may do it is decided by the caller. */
export class StockUploads {
  readonly #services: ImportServices

  constructor(services: ImportServices) {
    this.#services = services
  }

  /** Stores a list, reads it, and gives its id with what was found. UsageError when too many of the person wait, or when it is not a list at
   *  all; then it does not wait. */
  async add(list: NewUpload): Promise<{ readonly id: string; readonly result: UploadResult }> {
    const id = await this.#store(list)
    try {
      return { id, result: await this.check(id) }
    } catch (error) {
      await this.drop(id)
      throw error
    }
  }

  async #store(list: NewUpload): Promise<string> {
    const { rooftop, email, fileName, content, mode, sheet = null, corrects, inboxFileId } = list
    const { pool } = this.#services.warehouse
    await pool.query('delete from ops.stock_upload where ends_at <= now() and import_id is null')
    const [registered] = await registerRooftops(openDb(pool), [this.#rooftop(rooftop)])
    const options: UploadOptions = { mode, maps: [], encoding: null, delimiter: null, sheet }
    const values = [
      ...[registered!.id, email, safeFileName(fileName), sha256(content), content.length],
      ...[content, JSON.stringify(options), corrects ?? null, inboxFileId ?? null],
    ]
    const { rows } = await inTransaction(pool, async ({ client }) => {
      // Two that are stored at once would not count each other.
      await client.query(`select ${lockSql.wait('uploads', 'hashtext($1)')}`, [email])
      const stored = await client.query<{ id: string }>(insertUpload, values)
      if (inboxFileId !== undefined) await client.query(deleteOlderOffers, [registered!.id])
      return stored
    })
    if (inboxFileId !== undefined) this.#services.crashPoint?.('offer-stored')
    if (rows[0] !== undefined) return rows[0].id
    throw new UsageError(
      `${maxWaiting} lists of yours wait already: import one of them or drop it, then upload this one.`,
    )
  }

  /** Reads the list without writing anything, and stores what was found. UsageError when it is not a list at all. */
  async check(id: string, changes: Partial<UploadOptions> = {}): Promise<UploadResult> {
    return await this.#check(id, await this.#read(id), changes)
  }

  async #check(id: string, row: UploadRow, changes: Partial<UploadOptions>): Promise<UploadResult> {
    if (row.importId !== null || row.content === null) throw gone()
    const options = { ...row.options, ...changes }
    const newest = await this.#newest(row.rooftopId)
    const result = await dryRun(this.#services, this.#request({ ...row, options }))
    await this.#services.warehouse.pool.query(
      `update ops.stock_upload set options = $2, result = $3, newest_import_id = $4 where upload_id = $1 and import_id is null`,
      [id, jsonText(options), jsonText(result), newest],
    )
    return result
  }

  /** Reads it with the fields that a person chose for its columns: by index, '' for none. */
  async map(id: string, chosen: ReadonlyMap<number, string>): Promise<UploadResult> {
    const row = await this.#read(id)
    if (row.result?.mapping == null) throw gone()
    const mapping: UploadColumns = row.result.mapping
    return await this.#check(id, row, { maps: buildMaps(mapping, row.options.maps, chosen) })
  }

  /** Imports a list that was checked and gives the import; the same one when it is imported already. `typed`: the numbers by which a
   *  person confirms what guards found. UsageError when it was not checked against the stock as it is now; BusyError while another runs. */
  async import(
    id: string,
    { email, typed }: { readonly email: string; readonly typed: Readonly<Record<string, number>> },
  ): Promise<number> {
    const row = await this.#read(id)
    if (row.importId !== null) return row.importId
    if (row.result?.state !== 'ready' || row.content === null) throw notChecked()
    if ((await this.#newest(row.rooftopId)) !== row.newest) throw notChecked()
    const allowed = confirmGuards(row.result.guards, typed)
    await this.#begin(id, row.rooftopId)
    const request = { ...this.#request(row), dryRun: false, importedBy: email.slice(0, 120) }
    // In the transaction of the import: a process that is killed has done both, or neither. Between the check above and the lock
    // of the import, another process may have imported a list, or a person dropped this one.
    const beforeCommit: ImportServices['beforeCommit'] = async (client, { importId, status }) => {
      const isNew = status === 'imported'
      const values = [id, importId, isNew ? row.newest : null]
      const { rowCount } = await client.query(finishUpload, values)
      if (rowCount !== 1) throw notChecked()
    }
    const services = { ...this.#services, beforeCommit }
    const { importId } = await importStock(services, { ...request, ...allowed }).catch(
      async (error: unknown) => {
        throw error instanceof BusyError ? await this.#busy(row) : error
      },
    )
    return importId!
  }

  /** Removes a list that was not imported. */
  async drop(id: string): Promise<void> {
    await this.#services.warehouse.pool.query(
      'delete from ops.stock_upload where upload_id = $1 and import_id is null',
      [id],
    )
  }

  /** Rows of an import as the text of a list. UsageError beyond a size that this process can hold. */
  async textOf(importId: number, chosen: ChosenRows, maxLength = maxText): Promise<Buffer> {
    return await inTransaction(
      this.#services.warehouse.pool,
      async ({ client }) => {
        const parts: string[] = []
        let length = 0
        for await (const part of storedListText(client, importId, chosen)) {
          parts.push(part)
          length += part.length
          if (length > maxLength) throw tooLong(importId)
        }
        return Buffer.from(parts.join(''))
      },
      'repeatable read, read only',
    )
  }

  async #read(id: string): Promise<UploadRow> {
    const { rows } = await this.#services.warehouse.pool.query<UploadRow>(
      `select rooftop_id as "rooftopId", rooftop_uid as rooftop, file_name as "fileName", sha256, content, options, result,
         newest_import_id::int as newest, import_id::int as "importId", corrects_import_id::int as corrects
       from ops.stock_upload join core.rooftop using (rooftop_id)
       where upload_id = $1 and (ends_at > now() or import_id is not null)`,
      [id],
    )
    if (rows[0] === undefined) throw gone()
    return rows[0]
  }

  #request({ rooftop, fileName, content, options, corrects }: UploadRow): ImportRequest {
    const { mode, maps, encoding, delimiter, sheet } = options
    return {
      ...{ file: fileName, bytes: content!, rooftop: this.#rooftop(rooftop), mode, maps },
      ...(encoding === null ? {} : { encoding }),
      ...(delimiter === null ? {} : { delimiter }),
      ...(sheet === null ? {} : { sheet }),
      ...(corrects === null ? {} : { corrects }),
      ...{ dryRun: true, rejects: null, importedBy: '', now: new Date() },
      ...{ allowMassRemoval: false, allowMassChange: false },
    }
  }

  #rooftop(uid: string): RooftopConfig {
    const found = this.#services.warehouse.config.rooftops.find((one) => one.uid === uid)
    if (found !== undefined) return found
    throw new UsageError(`The config has no rooftop ${uid} any more.`)
  }

  async #newest(rooftopId: number): Promise<number> {
    const { rows } = await this.#services.warehouse.pool.query<{ newest: number }>(
      `select ${newestOf('$1')}::int as newest`,
      [rooftopId],
    )
    return rows[0]!.newest
  }

  async #begin(id: string, rooftopId: number): Promise<void> {
    await this.#services.warehouse.pool.query(
      `update ops.stock_upload set import_began_at = now() where upload_id = $1 and not ${lockSql.isHeld('import', '$2::int')}`,
      [id, rooftopId],
    )
  }

  /** Who imports, and since when: the person who confirmed a list when the transaction that holds the lock began. */
  async #busy({ rooftopId, rooftop }: UploadRow): Promise<BusyError> {
    const { rows } = await this.#services.warehouse.pool.query<{
      since: Date
      email: string | null
    }>(
      `select a.xact_start as since, (
         select email from ops.stock_upload
         where rooftop_id = $1 and import_began_at between a.xact_start - interval '1 minute' and a.xact_start + interval '1 second'
         order by import_began_at desc limit 1) as email
       from pg_stat_activity as a where a.pid = ${lockSql.holder('import', '$1::int')} and a.xact_start is not null`,
      [rooftopId],
    )
    const [holder] = rows
    const { name, timezone } = this.#rooftop(rooftop)
    if (holder === undefined)
      return new BusyError(`Another list of ${name} was being imported. Try again now.`)
    const format = {
      timeZone: timezone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    } as const
    const since = new Intl.DateTimeFormat('en-AU', { ...format, timeZoneName: 'short' })
    return new BusyError(
      `${holder.email ?? 'Another person, or a command,'} is importing a list of ${name} since ${since.format(holder.since)}. Yours waits: when that import has ended, check it again.`,
    )
  }
}

/** The newest import of a rooftop, as SQL. */
const newestOf = (rooftop: string) =>
  `(select coalesce(max(import_id), 0) from core.stock_import where rooftop_id = ${rooftop}::int)`

const insertUpload = `
  insert into ops.stock_upload (rooftop_id, email, file_name, sha256, byte_count, content, options, newest_import_id, corrects_import_id, inbox_file_id, ends_at)
  select $1::int, $2::varchar, $3, $4::bytea, $5::int, $6::bytea, $7::jsonb, ${newestOf('$1')}, $8::bigint, $9::bigint,
    now() + case when $9::bigint is null then interval '1 day' else interval '${offeredDays} days' end
  where $9::bigint is not null or (select count(*) from ops.stock_upload where email = $2::varchar and import_id is null) < ${maxWaiting}
  on conflict (inbox_file_id) where inbox_file_id is not null do update set inbox_file_id = excluded.inbox_file_id
  returning upload_id as id`

const deleteOlderOffers = `
  delete from ops.stock_upload where upload_id in (
    select upload_id from ops.stock_upload where rooftop_id = $1 and inbox_file_id is not null and import_id is null
    order by inbox_file_id desc offset ${maxOffered})`

const finishUpload = `
  update ops.stock_upload as u set import_id = $2::bigint, content = null, result = null, import_began_at = null
  where upload_id = $1 and coalesce(import_id = $2, true) and ($3::bigint is null or $3 = (
    select coalesce(max(i.import_id), 0) from core.stock_import as i where i.rooftop_id = u.rooftop_id and i.import_id < $2))`

/** Cells may hold what Postgres cannot, or be cut within a character. */
function jsonText(value: UploadOptions | UploadResult): string {
  return JSON.stringify(storableJson(value))
}

/** The digest under which a list is known. */
function sha256(content: Buffer): Buffer {
  return createHash('sha256').update(content).digest()
}

function tooLong(importId: number): UsageError {
  return new UsageError(
    `Import ${importId} is too large for the console: nothing was changed. An engineer imports its file with "forecourt stock import".`,
  )
}

function gone(): UsageError {
  return new UsageError(
    'This list no longer waits: it was imported or dropped, or its time is over. Upload it again.',
  )
}

function notChecked(): UsageError {
  return new UsageError(
    'The stock has changed since this list was checked, or it was not checked: check it again, then import it.',
  )
}
