import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Person } from './access/people.ts'

/** What an action was about: the page and the fields of the form. */
export interface ActionTarget {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** Writes down that a person does something, before it is done. Gives the id of the row. */
export async function startAction(
  db: Db,
  { email, role }: Person,
  action: string,
  { path, params, form }: ActionTarget,
): Promise<number> {
  const { action: _, count, ...rest } = form
  const shown = /^\d{1,9}$/.test(count ?? '') ? Number(count) : null
  const fields = Object.entries(rest).map(([field, value]) => [field, value.slice(0, 200)])
  // No field of the form takes the place of what the address names.
  const target = { ...Object.fromEntries(fields.slice(0, 50)), ...params, page: path }
  const { rows } = await sql<{ id: number }>`
    insert into ops.console_action (email, role, action, target, shown_count)
    values (${email}, ${role}, ${action.slice(0, 40)}, ${JSON.stringify(target)}::jsonb, ${shown})
    returning action_id as id`.execute(db)
  return rows[0]!.id
}

/** How an action ended. */
interface ActionEnd {
  readonly outcome: 'done' | 'refused' | 'failed'
  readonly runId?: number
  readonly message?: string
}

/** Writes down how it ended. */
export async function finishAction(
  db: Db,
  id: number,
  { outcome, runId, message }: ActionEnd,
): Promise<void> {
  await sql`
    update ops.console_action
    set outcome = ${outcome}, run_id = ${runId ?? null}, message = ${message?.slice(0, 400) ?? null}
    where action_id = ${id}`.execute(db)
}
