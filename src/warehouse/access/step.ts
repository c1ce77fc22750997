import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { errorText, UsageError } from '../../errors.ts'
import { sqlFolder } from '../db/migration-files.ts'
import type { Db } from '../db/transaction.ts'

/** One change that the roles or rights need. */
export interface Step {
  /** The state afterwards, for people. */
  readonly what: string
  readonly statement: string
  /** The statement without its secret, where it has one. */
  readonly shown?: string
}

/** The steps of a grant, in a valid order. */
export interface Plan {
  readonly steps: readonly Step[]
  /** Changes that the present user may not make, and who can make them. */
  readonly notes: readonly string[]
}

/** The changes that the roles' rights need in this database, in a valid order: the rows of sql/access. Writes nothing. */
export async function planRights(db: Db): Promise<Plan> {
  const folder = sqlFolder('access')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const steps: Step[] = []
  const notes: string[] = []
  for (const file of files) {
    const query = sql.raw<Step & { may: boolean }>(await readFile(join(folder, file), 'utf8'))
    const { rows } = await query.execute(db)
    for (const { may, what, statement } of rows)
      if (may) steps.push({ what, statement })
      else notes.push(`Not done: ${what}. Its owner, or a superuser, must run: ${statement};`)
  }
  return { steps, notes }
}

/** Runs the steps in the open transaction. UsageError if the present user may not. */
export async function runSteps(db: Db, steps: readonly Step[]): Promise<void> {
  for (const { what, statement } of steps) {
    try {
      await sql.raw(statement).execute(db)
    } catch (cause) {
      if ((cause as { code?: string }).code !== '42501') throw cause
      throw new UsageError(
        `Postgres refused a step (${what}: ${errorText(cause)}), and nothing was granted: ` +
          'run "forecourt grant" as a role that owns the warehouse and has CREATEROLE, or have a superuser run what "forecourt grant --dry-run" prints.',
        { cause },
      )
    }
  }
}
