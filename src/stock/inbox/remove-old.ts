import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { takenAt } from './file-names.ts'
import { FolderProblem } from './folder.ts'
import { folders, type Inbox } from './inbox.ts'

/**
 * Removes what has been in done/ for `keepDays`: lists, reports and rejected rows, by the time in their names. Where several inboxes have
 * the folder, the longest time counts. Other files in done/ are left alone. Gives how many were removed; FolderProblem when one may not be.
 */
export async function removeOld(
  folder: string,
  inboxes: readonly Pick<Inbox, 'keepDays'>[],
  now: Date,
): Promise<number> {
  const days = Math.max(...inboxes.map(({ keepDays }) => keepDays ?? Infinity))
  if (days === Infinity) return 0
  const done = join(folder, folders.done)
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
      `Files in ${done} that are older than keepDays (${days}) cannot be removed (${messageOf(cause)}): correct its rights, or remove them.`,
    )
  }
}
