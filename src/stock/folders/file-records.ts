import type pg from 'pg'
import { storable } from '../../values/text.ts'
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

const columns = `file_id as id, inbox, name_bytes as "nameBytes", file_name as name, state, byte_count::text as bytes,
  modified_ns::text as "modifiedNs", seen_at as "seenAt",
  extract(epoch from clock_timestamp() - unchanged_since)::float8 as "unchangedSeconds",
  taken_as as "takenAs", attempts, reason`

/** Makes the inboxes known; from then on their lists may be late. */
export async function registerInboxes(pool: pg.Pool, inboxes: readonly Inbox[]): Promise<void> {
  await pool.query(
    'insert into ops.stock_inbox (inbox) select unnest($1::text[]) on conflict do nothing',
    [inboxes.map(({ key }) => key)],
  )
}

/** Records that the folder was read, at most once a minute, or why it could not be. */
export async function recordCheck(
  pool: pg.Pool,
  inboxes: readonly Inbox[],
  problem: string | null,
): Promise<void> {
  await pool.query(
    `update ops.stock_inbox set problem = $2, checked_at = case when $2::text is null then now() else checked_at end,
       problem_since = case when $2::text is null then null else coalesce(problem_since, now()) end
     where inbox = any($1) and (problem is distinct from $2 or $2 is null and coalesce(checked_at < now() - interval '1 minute', true))`,
    [inboxes.map(({ key }) => key), problem?.slice(0, 1000) ?? null],
  )
}

/** Stores what the folder holds and gives the records of its files, with the time for which each has not changed. */
export async function recordSeen(
  pool: pg.Pool,
  folderId: string,
  { files }: FolderContent,
): Promise<ReadonlyMap<string, FileRecord>> {
  const values = [
    folderId,
    files.map(({ inbox }) => inbox.key),
    files.map(({ name }) => name),
    files.map(({ shown }) => shown),
    files.map(({ size }) => String(size)),
    files.map(({ modifiedNs }) => String(modifiedNs)),
  ]
  await pool.query(
    `insert into ops.stock_inbox_file as known (folder_id, inbox, name_bytes, file_name, byte_count, modified_ns)
     select $1, * from unnest($2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::numeric[])
     on conflict (folder_id, name_bytes) where state = 'waiting' do update
     set inbox = excluded.inbox, byte_count = excluded.byte_count, modified_ns = excluded.modified_ns, unchanged_since = clock_timestamp()
     where (known.inbox, known.byte_count, known.modified_ns) is distinct from (excluded.inbox, excluded.byte_count, excluded.modified_ns)`,
    values,
  )
  const { rows } = await pool.query<FileRecord & { isThere: boolean }>(
    `select ${columns}, name_bytes = any($2::bytea[]) as "isThere" from ops.stock_inbox_file
     where folder_id = $1 and state = 'waiting'`,
    [folderId, files.map(({ name }) => name)],
  )
  const removed = rows.filter(({ isThere }) => !isThere).map(({ id }) => id)
  if (removed.length > 0)
    await pool.query('delete from ops.stock_inbox_file where file_id = any($1)', [removed])
  return new Map(
    rows.filter(({ isThere }) => isThere).map((row) => [nameKey(row.nameBytes), row] as const),
  )
}

/** The key of a name in the map of `recordSeen`. */
export function nameKey(name: Buffer): string {
  return name.toString('latin1')
}

/** Files that a process took and did not bring to an end. */
export async function unfinishedFiles(
  pool: pg.Pool,
  folderId: string,
): Promise<readonly FileRecord[]> {
  const { rows } = await pool.query<FileRecord>(
    `select ${columns} from ops.stock_inbox_file where folder_id = $1 and state in ('taken', 'decided') order by file_id`,
    [folderId],
  )
  return rows
}

/** Records that a file is about to be moved to working/ under a name of its own. */
export async function recordTaken(
  pool: pg.Pool,
  { id }: FileRecord,
  { size, modifiedNs }: Pick<SeenFile, 'size' | 'modifiedNs'>,
  takenAs: string,
): Promise<FileRecord> {
  const { rows } = await pool.query<FileRecord>(
    `update ops.stock_inbox_file set state = 'taken', taken_as = $2, taken_at = clock_timestamp(), byte_count = $3, modified_ns = $4
     where file_id = $1 and state = 'waiting' returning ${columns}`,
    [id, takenAs, String(size), String(modifiedNs)],
  )
  return rows[0]!
}

/** The file was not moved: it is in the folder under its name, or nowhere. */
export async function recordNotTaken(pool: pg.Pool, { id }: FileRecord): Promise<void> {
  await pool.query('delete from ops.stock_inbox_file where file_id = $1', [id])
}

/** A taken file has changed: it must be unchanged for a while again before it is read. */
export async function recordChanged(
  pool: pg.Pool,
  { id }: FileRecord,
  { size, modifiedNs }: Pick<SeenFile, 'size' | 'modifiedNs'>,
): Promise<void> {
  await pool.query(
    `update ops.stock_inbox_file set state = 'taken', byte_count = $2, modified_ns = $3, unchanged_since = clock_timestamp(),
       attempts = 0, reason = null
     where file_id = $1`,
    [id, String(size), String(modifiedNs)],
  )
  // What was imported of it is in core.stock_import; this content is to be imported too.
  await pool.query('delete from ops.stock_inbox_part where file_id = $1', [id])
}

/** Counts an attempt before it begins, so that a file that kills its process is given up at some time; gives the count. */
export async function beginAttempt(pool: pg.Pool, { id }: FileRecord): Promise<number> {
  const { rows } = await pool.query<{ attempts: number }>(
    'update ops.stock_inbox_file set attempts = attempts + 1 where file_id = $1 returning attempts',
    [id],
  )
  return rows[0]!.attempts
}

/** The attempt ended for a reason that is not the file's: it does not count. */
export async function forgetAttempt(pool: pg.Pool, { id }: FileRecord): Promise<void> {
  await pool.query('update ops.stock_inbox_file set attempts = 0 where file_id = $1', [id])
}

/** Nothing is left to import; `reason` says why the file as a whole was refused. */
export async function recordDecided(
  pool: pg.Pool,
  { id, inbox }: FileRecord,
  reason: string | null,
): Promise<void> {
  await pool.query(
    `update ops.stock_inbox_file set state = 'decided', reason = $2 where file_id = $1`,
    [id, reason === null ? null : storable(reason)],
  )
  await pool.query(
    `update ops.stock_inbox set arrived_at = greatest(arrived_at, file.seen_at)
     from ops.stock_inbox_file as file where stock_inbox.inbox = $1 and file.file_id = $2`,
    [inbox, id],
  )
}

/** The end of a file. A failed one joins the alert of the one before it, unless that has been sent. One that was imported as the whole
 *  stock of a rooftop makes older lists of it obsolete that wait in the console. */
export async function recordEnd(
  pool: pg.Pool,
  { id, inbox }: FileRecord,
  state: 'done' | 'failed' | 'gone',
  reason: string | null,
): Promise<void> {
  await pool.query(
    `with obsolete as (
       delete from ops.stock_upload as upload
       using ops.stock_inbox_file as older, ops.stock_inbox_part as part, core.stock_import as newest
       where $2::text = 'done' and older.inbox = $4::text and older.file_id < $1::bigint
         and upload.inbox_file_id = older.file_id and upload.import_id is null
         and part.file_id = $1::bigint and part.rooftop_id = upload.rooftop_id
         and newest.import_id = part.import_id and newest.mode = 'snapshot')
     update ops.stock_inbox_file set state = $2::text, reason = $3, ended_at = clock_timestamp(), name_bytes = '',
       alert_key = case when $2::text <> 'done' then coalesce((
         select open.alert_key from ops.stock_inbox_file as open
         where open.inbox = $4::text and open.state in ('failed', 'gone') and open.cleared_at is null
           and open.ended_at > now() - interval '1 hour'
           and not exists (select from ops.alert as sent where sent.alert_key = open.alert_key
             and (sent.told_at is not null or sent.resolved_at is not null))
         order by open.file_id desc limit 1), 'inbox/file/' || file_id) end
     where file_id = $1::bigint`,
    [id, state, reason, inbox],
  )
}

/** The failed files that a person may have removed meanwhile. */
export async function openFailures(
  pool: pg.Pool,
  folderId: string,
): Promise<readonly { readonly id: number; readonly takenAs: string }[]> {
  const { rows } = await pool.query<{ id: number; takenAs: string }>(
    `select file_id as id, taken_as as "takenAs" from ops.stock_inbox_file
     where folder_id = $1 and state = 'failed' and cleared_at is null order by file_id desc limit 500`,
    [folderId],
  )
  return rows
}

/** Records that no one is waiting for these files any more; nor do they wait in the console. */
export async function recordCleared(pool: pg.Pool, ids: readonly number[]): Promise<void> {
  await pool.query(
    `with obsolete as (delete from ops.stock_upload where inbox_file_id = any($1::bigint[]) and import_id is null)
     update ops.stock_inbox_file set cleared_at = now() where file_id = any($1::bigint[])`,
    [ids],
  )
}
