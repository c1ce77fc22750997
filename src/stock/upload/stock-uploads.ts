import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { RooftopConfig } from '../../app/config/read.ts'
import { BusyError, UsageError } from '../../errors.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import { given } from '../../values/given.ts'
import { plural, storableJson } from '../../values/text.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { inTransaction } from '../../warehouse/db/transaction.ts'
import { importList, importStock } from '../import/import-stock.ts'
import { type ListCheck, storedCheck } from '../import/list-check.ts'
import type { ChosenRows } from '../import/rejects.ts'
import type { ImportRequest, ImportServices } from '../import/request.ts'
import { storedListText } from '../import/stored-import.ts'
import { guardKinds, type Refusal } from '../refusal-kinds.ts'
import { buildMaps, uploadColumns } from './columns.ts'

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
export interface NewUpload extends Pick<UploadOptions, 'mode'> {
  readonly rooftop: string
  readonly email: string
  readonly fileName: string
  readonly content: Buffer
  readonly sheet?: string | null
  /** Of `ops.stock_inbox_file`; the same file is the same upload. */
  readonly inboxFileId?: number
  /** The check of the content with this hash: it is not read again. */
  readonly checked?: { readonly check: ListCheck; readonly sha256: Buffer } | null
  /** The import whose rejected rows it has, corrected. */
  readonly corrects?: number
}

/** A list as it is stored. */
export interface UploadRow {
  readonly rooftopId: number
  readonly rooftop: string
  readonly fileName: string
  readonly sha256: Buffer
  readonly content: Buffer | null
  readonly options: UploadOptions
  readonly result: ListCheck | null
  readonly newest: number
  /** null: it waits. */
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
  async add(list: NewUpload): Promise<{ readonly id: string; readonly result: ListCheck }> {
    const id = await this.#store(list)
    try {
      const { result } = await this.#read(id)
      return { id, result: result ?? (await this.check(id)) }
    } catch (error) {
      await this.drop(id)
      throw error
    }
  }

  async #store(list: NewUpload): Promise<string> {
    const { rooftop, email, fileName, content, mode, sheet = null, corrects, inboxFileId } = list
    const digest = hash('sha256', content, 'buffer')
    const check = list.checked?.sha256.equals(digest) ? list.checked.check : null
    const { db, pool } = this.#services.warehouse
    await sql`delete from ops.stock_upload where ends_at <= now() and import_id is null`.execute(db)
    const [registered] = await registerRooftops(db, [this.#rooftop(rooftop)])
    const options: UploadOptions = { mode, maps: [], encoding: null, delimiter: null, sheet }
    const rooftopId = registered!.id
    const inserted = sql<{ id: string }>`
      insert into ops.stock_upload (rooftop_id, email, file_name, sha256, byte_count, content, options,
        corrects_import_id, inbox_file_id, result, newest_import_id, ends_at)
      select ${rooftopId}::int, ${email}::varchar, ${safeFileName(fileName)}, ${digest}::bytea, ${content.length}::int,
        ${content}::bytea, ${JSON.stringify(options)}::jsonb, ${corrects}::bigint, ${inboxFileId}::bigint,
        ${check && jsonText(storedCheck(check))}::jsonb, coalesce(${check?.newest}::bigint, ${newestOf(rooftopId)}),
        now() + case when ${inboxFileId}::bigint is null then interval '1 day' else make_interval(days => ${offeredDays}) end
      where ${inboxFileId}::bigint is not null or (
        select count(*) from ops.stock_upload where email = ${email}::varchar and import_id is null) < ${maxWaiting}
      on conflict (inbox_file_id) where inbox_file_id is not null do update set inbox_file_id = excluded.inbox_file_id
      returning upload_id as id`
    const { rows } = await inTransaction(pool, async ({ db }) => {
      // Two that are stored at once would not count each other.
      await sql`select ${lockSql.wait('uploads', sql`hashtext(${email})`)}`.execute(db)
      const stored = await inserted.execute(db)
      if (inboxFileId !== undefined)
        await sql`
          delete from ops.stock_upload where upload_id in (
            select upload_id from ops.stock_upload
            where rooftop_id = ${rooftopId} and inbox_file_id is not null and import_id is null
            order by inbox_file_id desc offset ${maxOffered})`.execute(db)
      return stored
    })
    if (inboxFileId !== undefined) this.#services.crashPoint?.('offer-stored')
    if (rows[0] !== undefined) return rows[0].id
    throw new UsageError(
      `${maxWaiting} lists of yours wait already: import one of them or drop it, then upload this one.`,
    )
  }

  /** Reads the list without writing anything, and stores what was found. UsageError when it is not a list at all. */
  async check(id: string, changes: Partial<UploadOptions> = {}): Promise<ListCheck> {
    return await this.#check(id, await this.#read(id), changes)
  }

  async #check(id: string, row: UploadRow, changes: Partial<UploadOptions>): Promise<ListCheck> {
    if (row.importId !== null || row.content === null) throw gone()
    const options = { ...row.options, ...changes }
    const newest = await this.#newest(row.rooftopId)
    const check = await importList(this.#services, this.#request({ ...row, options }))
    await sql`
      update ops.stock_upload set options = ${jsonText(options)}, result = ${jsonText(storedCheck(check))},
        newest_import_id = ${newest}
        where upload_id = ${id} and import_id is null`.execute(this.#services.warehouse.db)
    return check
  }

  /** Reads it with the fields that a person chose for its columns: by index, '' for none. */
  async map(id: string, chosen: ReadonlyMap<number, string>): Promise<ListCheck> {
    const row = await this.#read(id)
    const mapping = row.result && uploadColumns(row.result)
    if (mapping === null) throw gone()
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
    const allowed = confirmGuards(row.result.refusals, typed)
    await this.#begin(id, row.rooftopId)
    const request = { ...this.#request(row), dryRun: false, importedBy: email.slice(0, 120) }
    // In the transaction of the import: a process that is killed has done both, or neither. Between the check above and the lock
    // of the import, another process may have imported a list, or a person dropped this one.
    const beforeCommit: ImportServices['beforeCommit'] = async (db, { importId, status }) => {
      const newest = status === 'imported' ? row.newest : null
      const { numAffectedRows } = await sql`
        update ops.stock_upload as u
        set import_id = ${importId}::bigint, content = null, result = null, import_began_at = null
        where upload_id = ${id} and coalesce(import_id = ${importId}, true)
          and (${newest}::bigint is null or ${newest}::bigint = (
            select coalesce(max(i.import_id), 0) from core.stock_import as i
            where i.rooftop_id = u.rooftop_id and i.import_id < ${importId}))`.execute(db)
      if (numAffectedRows !== 1n) throw notChecked()
    }
    const services = { ...this.#services, beforeCommit }
    const { importId } = await importStock(services, { ...request, ...allowed }).catch(
      async (error: unknown) => {
        throw error instanceof BusyError ? await this.#busy(id, row) : error
      },
    )
    return importId!
  }

  /** Removes a list that was not imported. */
  async drop(id: string): Promise<void> {
    await sql`
      delete from ops.stock_upload
      where upload_id = ${id} and import_id is null`.execute(this.#services.warehouse.db)
  }

  /** Rows of an import as the text of a list. UsageError beyond a size that this process can hold. */
  async textOf(importId: number, chosen: ChosenRows, maxLength = maxText): Promise<Buffer> {
    return await inTransaction(
      this.#services.warehouse.pool,
      async ({ db }) => {
        const parts: string[] = []
        let length = 0
        for await (const part of storedListText(db, importId, chosen)) {
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
    const { rows } = await sql<UploadRow>`
      select rooftop_id as "rooftopId", rooftop_uid as rooftop, file_name as "fileName", sha256, content, options, result,
        newest_import_id::int as newest, import_id::int as "importId", corrects_import_id::int as corrects
      from ops.stock_upload join core.rooftop using (rooftop_id)
      where upload_id = ${id}
        and (ends_at > now() or import_id is not null)`.execute(this.#services.warehouse.db)
    if (rows[0] === undefined) throw gone()
    return rows[0]
  }

  #request({ rooftop, fileName, content, options, corrects }: UploadRow): ImportRequest {
    const { mode, maps, encoding, delimiter, sheet } = options
    return {
      ...{ file: fileName, bytes: content!, rooftop: this.#rooftop(rooftop), mode, maps },
      ...given({ encoding, delimiter, sheet, corrects }),
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
    const { rows } = await sql<{ newest: number }>`
      select ${newestOf(rooftopId)}::int as newest`.execute(this.#services.warehouse.db)
    return rows[0]!.newest
  }

  async #begin(id: string, rooftopId: number): Promise<void> {
    await sql`
      update ops.stock_upload set import_began_at = now()
      where upload_id = ${id} and not ${lockSql.isHeld('import', rooftopId)}`.execute(
      this.#services.warehouse.db,
    )
  }

  /** Who imports, and since when: the person who confirmed a list when the transaction that holds the lock began. The list that waits was
   *  confirmed then too, so it is named only where there is no other: after a second click. */
  async #busy(id: string, { rooftopId, rooftop }: UploadRow): Promise<BusyError> {
    const { rows } = await sql<{ since: Date; email: string | null }>`
      select a.xact_start as since, (
        select email from ops.stock_upload
        where rooftop_id = ${rooftopId} and import_began_at between a.xact_start - interval '1 minute'
          and a.xact_start + interval '1 second'
        order by upload_id = ${id}, import_began_at desc limit 1) as email
      from pg_stat_activity as a where a.pid = ${lockSql.holder('import', rooftopId)}
        and a.xact_start is not null`.execute(this.#services.warehouse.db)
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
const newestOf = (rooftopId: number) =>
  sql`(select coalesce(max(import_id), 0) from core.stock_import where rooftop_id = ${rooftopId}::int)`

/** Cells may hold what Postgres cannot, or be cut within a character. */
function jsonText(value: UploadOptions | ListCheck): string {
  return JSON.stringify(storableJson(value))
}

/** The options by which a person allows what guards found, by typing their numbers. UsageError when a number is missing or wrong. */
function confirmGuards(
  refusals: readonly Refusal[],
  typed: Readonly<Record<string, number>>,
): Partial<ImportRequest> {
  const guards = refusals.filter((refusal) => 'would' in refusal)
  for (const { is, count } of guards)
    if (typed[is] !== count)
      throw new UsageError(
        `Nothing was imported: to confirm what the list would do to ${plural(count, 'car')}, type ${count}.`,
      )
  return Object.fromEntries(guards.map(({ is }) => [guardKinds[is].allows, true]))
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

// Controls, and marks that change the direction of a text: `report\u202Evsc.exe` would be shown as another name.
const hidden = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** A file name as it is stored and shown: without folders, controls and marks of direction. */
function safeFileName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1)!
  const text = last.replaceAll(hidden, '').trim()
  return text === '' || /^\.+$/.test(text) ? 'list' : [...text].slice(-100).join('')
}
