import { removePdf } from '../archive/archive.ts'
import type { Db } from '../db/transaction.ts'
import { messageOf } from '../errors.ts'

/** What became of the files that erasures have noted for removal. */
export interface FilesRemoved {
  readonly removed: number
  /** Files that are still to be removed, and why. */
  readonly pending: number
  readonly reason: string | null
}

/** Removes the files of the archive that erasures have noted, those of an earlier one that was cut short included. A file
 *  that another check has come to share stays. `folder` is null without an archive. */
export async function removeErasedFiles(db: Db, folder: string | null): Promise<FilesRemoved> {
  const noted = await db.selectFrom('pii.erasure_file').select('sha256').execute()
  let [removed, reason]: [number, string | null] = [0, null]
  for (const { sha256 } of noted) {
    const shared = await db
      .selectFrom('pii.archived_pdf')
      .select('sha256')
      .where('sha256', '=', sha256)
      .executeTakeFirst()
    if (shared === undefined) {
      if (folder === null) {
        reason = 'links.archive.folder is not set, so it is not known where they are'
        continue
      }
      try {
        await removePdf(folder, sha256)
        removed++
      } catch (error) {
        reason = messageOf(error)
        continue
      }
    }
    await db.deleteFrom('pii.erasure_file').where('sha256', '=', sha256).execute()
  }
  const left = await db
    .selectFrom('pii.erasure_file')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const pending = Number(left.count)
  if (pending === 0)
    await db
      .updateTable('pii.erasure')
      .set(({ fn }) => ({ done_at: fn<Date>('now') }))
      .where('done_at', 'is', null)
      .execute()
  return { removed, pending, reason: pending === 0 ? null : reason }
}
