import { errorText } from '../../errors.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { removePdf } from '../../web/archive/archive.ts'

/** The result of removing the files that erasures recorded. */
export interface FilesRemoved {
  readonly removed: number
  /** Files that could not be removed yet. */
  readonly pending: number
  readonly reason: string | null
}

/** Removes the archive's files that erasures recorded, also those of an interrupted one. A file
 *  that another check now shares stays. `folder` is null without an archive. */
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
        reason = 'links.archive.folder is not set, so their location is unknown'
        continue
      }
      try {
        await removePdf(folder, sha256)
        removed++
      } catch (error) {
        reason = errorText(error)
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
