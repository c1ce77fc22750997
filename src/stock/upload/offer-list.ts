import type { RooftopConfig } from '../../app/config/read.ts'
import { UsageError } from '../../errors.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import { openDb } from '../../warehouse/db/transaction.ts'
import type { ImportServices } from '../import/request.ts'
import { safeFileName } from './file-name.ts'
import { asFound, newestOf, StockUploads, sha256Of, type UploadOptions } from './stock-uploads.ts'

/** A list that a drop folder did not import. */
interface OfferedList extends Pick<UploadOptions, 'mode' | 'sheet'> {
  /** Of `ops.stock_inbox_file`. */
  readonly fileId: number
  readonly rooftop: RooftopConfig
  readonly fileName: string
  readonly content: Buffer
}

/** How many days such a list waits. */
export const offeredDays = 7
/** Lists of one rooftop that wait: the newest. */
const mostOffered = 5

/** Stores a list that a drop folder refused, so that a person goes on with it at its columns, and gives its id: the same one for the same
 *  file. null: it is no list, or is imported already. */
export async function offerList(
  services: ImportServices,
  { fileId, rooftop, fileName, content, mode, sheet }: OfferedList,
): Promise<string | null> {
  const { pool } = services.warehouse
  const [registered] = await registerRooftops(openDb(pool), [rooftop])
  const options: UploadOptions = { ...asFound, mode, maps: [], sheet }
  const { rows } = await pool.query<{ id: string }>(
    `insert into ops.stock_upload (rooftop_id, email, file_name, sha256, byte_count, content, options, newest_import_id, inbox_file_id, ends_at)
     values ($1::int, 'drop folder', $2, $3, $4, $5, $6, ${newestOf('$1')}, $7, now() + interval '${offeredDays} days')
     on conflict (inbox_file_id) where inbox_file_id is not null do update set inbox_file_id = excluded.inbox_file_id
     returning upload_id as id`,
    [
      ...[registered!.id, safeFileName(fileName), sha256Of(content), content.length],
      ...[content, JSON.stringify(options), fileId],
    ],
  )
  const { id } = rows[0]!
  services.crashPoint?.('offer-stored')
  await pool.query(
    `delete from ops.stock_upload where upload_id in (
       select upload_id from ops.stock_upload where rooftop_id = $1 and inbox_file_id is not null and import_id is null
       order by inbox_file_id desc offset ${mostOffered})`,
    [registered!.id],
  )
  const uploads = new StockUploads(services)
  const isList = await uploads.check(id).then(
    ({ state }) => state !== 'same',
    (error: unknown) => {
      if (error instanceof UsageError) return false
      throw error
    },
  )
  if (isList) return id
  await uploads.drop(id)
  return null
}
