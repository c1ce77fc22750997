import { sql } from 'kysely'
import { storable } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { FolderContent, SeenFile } from './folder.ts'
import type { Inbox } from './inbox.ts'

/** Of a file in the warehouse: see the comments of `ops.stock_inbox_file`. */
export interface FileRecord {
  readonly id: number
  readonly inbox: string
  readonly nameBytes: Buffer
  readonly name: string
  readonly state: 'waiting' | 'taken' | 'decided'
  readonly bytes: string
  readonly modifiedNs: string
  readonly seenAt: Date
  readonly unchangedSeconds: number
  readonly takenAs: string | null
  readonly attempts: number
  readonly reason: string | null
}

const columns = sql`file_id as id, inbox, name_bytes as "nameBytes", file_name as name, state, byte_count::text as bytes,
  modified_ns::text as "modifiedNs", seen_at as "seenAt",
  extract(epoch from clock_timestamp() - unchanged_since)::float8 as "unchangedSeconds",
  taken_as as "takenAs", attempts, reason`

/** Makes the inboxes known; from then on their lists may be late. */
export async function registerInboxes(db: Db, inboxes: readonly Inbox[]): Promise<void> {
  await sql`
    insert into ops.stock_inbox (inbox) select unnest(${inboxes.map(({ key }) => key)}::text[])
    on conflict do nothing`.execute(db)
}

/** Records that the folder was read, at most once a minute, or why it could not be. */
export async function recordCheck(
  db: Db,
  inboxes: readonly Inbox[],
  problem: string | null,
): Promise<void> {
  const text = problem?.slice(0, 1000) ?? null
  await sql`
    update ops.stock_inbox
    set problem = ${text}, checked_at = case when ${text}::text is null then now() else checked_at end,
      problem_since = case when ${text}::text is null then null else coalesce(problem_since, now()) end
    where inbox = any(${inboxes.map(({ key }) => key)}) and (problem is distinct from ${text}::text
      or ${text}::text is null
        and coalesce(checked_at < now() - interval '1 minute', true))`.execute(db)
}

/** Stores what the folder holds and gives the records of its files, with the time for which each has not changed. */
export async function recordSeen(
  db: Db,
  folderId: string,
  { files }: FolderContent,
): Promise<ReadonlyMap<string, FileRecord>> {
  const names = files.map(({ name }) => name)
  await sql`
    insert into ops.stock_inbox_file as known (folder_id, inbox, name_bytes, file_name, byte_count, modified_ns)
    select ${folderId}, * from unnest(${files.map(({ inbox }) => inbox.key)}::text[], ${names}::bytea[],
      ${files.map(({ shown }) => shown)}::text[], ${files.map(({ size }) => String(size))}::bigint[],
      ${files.map(({ modifiedNs }) => String(modifiedNs))}::numeric[])
    on conflict (folder_id, name_bytes) where state = 'waiting' do update
    set inbox = excluded.inbox, byte_count = excluded.byte_count, modified_ns = excluded.modified_ns, unchanged_since = clock_timestamp()
    where (known.inbox, known.byte_count, known.modified_ns)
      is distinct from (excluded.inbox, excluded.byte_count, excluded.modified_ns)`.execute(db)
  const { rows } = await sql<FileRecord & { isThere: boolean }>`
    select ${columns}, name_bytes = any(${names}::bytea[]) as "isThere" from ops.stock_inbox_file
    where folder_id = ${folderId} and state = 'waiting'`.execute(db)
  const removed = rows.filter(({ isThere }) => !isThere).map(({ id }) => id)
  if (removed.length > 0)
    await sql`delete from ops.stock_inbox_file where file_id = any(${removed})`.execute(db)
  return new Map(
    rows.filter(({ isThere }) => isThere).map((row) => [nameKey(row.nameBytes), row] as const),
  )
}

/** The key of a name in the map of `recordSeen`. */
export function nameKey(name: Buffer): string {
  return name.toString('latin1')
}

/** Files that a process took and did not bring to an end. */
export async function unfinishedFiles(db: Db, folderId: string): Promise<readonly FileRecord[]> {
  const { rows } = await sql<FileRecord>`
    select ${columns} from ops.stock_inbox_file
    where folder_id = ${folderId} and state in ('taken', 'decided') order by file_id`.execute(db)
  return rows
}

/** Records that a file is about to be moved to working/ under a name of its own. */
export async function recordTaken(
  db: Db,
  { id }: FileRecord,
  { size, modifiedNs }: Pick<SeenFile, 'size' | 'modifiedNs'>,
  takenAs: string,
): Promise<FileRecord> {
  const { rows } = await sql<FileRecord>`
    update ops.stock_inbox_file set state = 'taken', taken_as = ${takenAs}, taken_at = clock_timestamp(),
      byte_count = ${String(size)}, modified_ns = ${String(modifiedNs)}
    where file_id = ${id} and state = 'waiting' returning ${columns}`.execute(db)
  return rows[0]!
}

/** The file was not moved: it is in the folder under its name, or nowhere. */
export async function recordNotTaken(db: Db, { id }: FileRecord): Promise<void> {
  await sql`delete from ops.stock_inbox_file where file_id = ${id}`.execute(db)
}

/** A taken file has changed: it must be unchanged for a while again before it is read. */
export async function recordChanged(
  db: Db,
  { id }: FileRecord,
  { size, modifiedNs }: Pick<SeenFile, 'size' | 'modifiedNs'>,
): Promise<void> {
  await sql`
    update ops.stock_inbox_file set state = 'taken', byte_count = ${String(size)},
      modified_ns = ${String(modifiedNs)}, unchanged_since = clock_timestamp(), attempts = 0, reason = null
    where file_id = ${id}`.execute(db)
  // What was imported of it is in core.stock_import; this content is to be imported too.
  await sql`delete from ops.stock_inbox_part where file_id = ${id}`.execute(db)
}

/** Counts an attempt before it begins, so that a file that kills its process is given up at some time; gives the count. */
export async function beginAttempt(db: Db, { id }: FileRecord): Promise<number> {
  const { rows } = await sql<{ attempts: number }>`
    update ops.stock_inbox_file
    set attempts = attempts + 1 where file_id = ${id} returning attempts`.execute(db)
  return rows[0]!.attempts
}

/** The attempt ended for a reason that is not the file's: it does not count. */
export async function forgetAttempt(db: Db, { id }: FileRecord): Promise<void> {
  await sql`update ops.stock_inbox_file set attempts = 0 where file_id = ${id}`.execute(db)
}

/** Nothing is left to import; `reason` says why the file as a whole was refused. A file that is not a list, such as a picture, is not the one
 *  that was expected. */
export async function recordDecided(
  db: Db,
  { id, inbox }: FileRecord,
  reason: string | null,
): Promise<void> {
  await sql`
    update ops.stock_inbox_file set state = 'decided', reason = ${reason === null ? null : storable(reason)}
    where file_id = ${id}`.execute(db)
  await sql`
    update ops.stock_inbox set arrived_at = greatest(arrived_at, file.seen_at)
    from ops.stock_inbox_file as file
    where stock_inbox.inbox = ${inbox} and file.file_id = ${id} and exists (
      select from ops.stock_inbox_part as part
      where part.file_id = file.file_id
        and part.result -> 'refusals' -> 0 ->> 'is' is distinct from 'unreadable')`.execute(db)
}

/** The end of a file. A failed one joins the alert of the one before it, unless that has been sent. One that was imported as the whole
 *  stock of a rooftop makes older lists of it obsolete that wait in the console. */
export async function recordEnd(
  db: Db,
  { id, inbox }: FileRecord,
  state: 'done' | 'failed' | 'gone',
  reason: string | null,
): Promise<void> {
  await sql`
    with obsolete as (
      delete from ops.stock_upload as upload
      using ops.stock_inbox_file as older, ops.stock_inbox_part as part, core.stock_import as newest
      where ${state}::text = 'done' and older.inbox = ${inbox}::text and older.file_id < ${id}::bigint
        and upload.inbox_file_id = older.file_id and upload.import_id is null
        and part.file_id = ${id}::bigint and part.rooftop_id = upload.rooftop_id
        and newest.import_id = part.import_id and newest.mode = 'snapshot')
    update ops.stock_inbox_file set state = ${state}::text, reason = ${reason}, ended_at = clock_timestamp(), name_bytes = '',
      alert_key = case when ${state}::text <> 'done' then coalesce((
        select open.alert_key from ops.stock_inbox_file as open
        where open.inbox = ${inbox}::text and open.state in ('failed', 'gone') and open.cleared_at is null
          and open.ended_at > now() - interval '1 hour'
          and not exists (select from ops.alert as sent where sent.alert_key = open.alert_key
            and (sent.told_at is not null or sent.resolved_at is not null))
        order by open.file_id desc limit 1), 'inbox/file/' || file_id) end
    where file_id = ${id}::bigint`.execute(db)
}

/** The failed files that a person may have removed meanwhile. */
export async function openFailures(
  db: Db,
  folderId: string,
): Promise<readonly { readonly id: number; readonly takenAs: string }[]> {
  const { rows } = await sql<{ id: number; takenAs: string }>`
    select file_id as id, taken_as as "takenAs" from ops.stock_inbox_file
    where folder_id = ${folderId} and state = 'failed' and cleared_at is null
    order by file_id desc limit 500`.execute(db)
  return rows
}

/** Records that no one is waiting for these files any more; nor do they wait in the console. */
export async function recordCleared(db: Db, ids: readonly number[]): Promise<void> {
  await sql`
    with obsolete as (delete from ops.stock_upload where inbox_file_id = any(${ids}::bigint[]) and import_id is null)
    update ops.stock_inbox_file
    set cleared_at = now() where file_id = any(${ids}::bigint[])`.execute(db)
}
