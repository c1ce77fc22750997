import type { Db } from '../../warehouse/db/transaction.ts'

const logged = new WeakMap<Db, Set<string>>()

/** Whether a message is the first about its subject in a run of this process: each slice would log the same sentence. */
export function isFirstOfRun({ db }: { readonly db: Db }, runId: number, subject: string): boolean {
  const subjects = logged.get(db) ?? new Set()
  logged.set(db, subjects)
  const name = `${runId} ${subject}`
  return !subjects.has(name) && subjects.add(name).has(name)
}
