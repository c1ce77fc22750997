import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText } from '../../errors.ts'
import { takenAt } from './file-names.ts'
import { FolderProblem } from './folder-problem.ts'
import type { Inbox } from './inbox.ts'
import type { OwnFolders } from './own-folders.ts'

/**
 * Removes what has been in done/ for `keepDays`: lists, reports and rejected rows, by the time in their names. Where several inboxes have
 * the folder, the longest time counts. Other files in done/ are left alone. Gives how many were removed; FolderProblem when one may not be.
 */
export async function removeOld(
  at: Pick<OwnFolders, 'done' | 'named'>,
  inboxes: readonly Pick<Inbox, 'keepDays'>[],
  now: Date,
): Promise<number> {
  const days = Math.max(...inboxes.map(({ keepDays }) => keepDays ?? Infinity))
  if (days === Infinity) return 0
  const done = `${at.done}/`
  const isOld = (name: string) => {
    const at = takenAt(name)
    return at !== null && at.getTime() < now.getTime() - days * 86_400_000
  }
  try {
    const old = (await readdir(done)).filter(isOld)
    for (const name of old) await rm(join(done, name), { force: true })
    return old.length
  } catch (cause) {
    throw new FolderProblem(
      `Files in ${at.named(done)} that are older than keepDays (${days}) cannot be removed (${at.named(errorText(cause))}): correct its rights, or remove them.`,
    )
  }
}
