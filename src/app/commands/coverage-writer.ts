import { sql } from 'kysely'
import { errorText } from '../../errors.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** Why coverage could not be changed, and which logins could. */
export interface CoverageRefused {
  readonly login: string
  readonly reason: string
  /** A few of them; empty: the server takes no writes. */
  readonly logins: readonly string[]
}

const insufficientPrivilege = '42501'
const readOnlyTransaction = '25006'

/** Takes windows out of coverage and stores what was found, as far as the login may write: `verify` reports it either way. */
export class CoverageWriter {
  readonly #db: Db
  refused: CoverageRefused | null = null

  constructor(db: Db) {
    this.#db = db
  }

  async write(change: (db: Db) => Promise<void>): Promise<void> {
    if (this.refused !== null) return
    try {
      await change(this.#db)
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== insufficientPrivilege && code !== readOnlyTransaction) throw error
      this.refused = await explainRefusal(this.#db, errorText(error), code)
    }
  }
}

async function explainRefusal(db: Db, reason: string, code: string): Promise<CoverageRefused> {
  const { rows } = await sql<{ login: string; logins: string[] }>`
    select current_user::text as login, array(
      select rolname::text from pg_roles
      where rolcanlogin and has_schema_privilege(oid, 'ops', 'usage') and has_table_privilege(oid, 'ops.coverage', 'update')
      order by rolsuper, rolname limit 5) as logins`.execute(db)
  const { login, logins } = rows[0]!
  return { login, reason, logins: code === readOnlyTransaction ? [] : logins }
}
