import { sql } from 'kysely'
import type pg from 'pg'
import { UsageError } from '../../errors.ts'
import { type Db, openDb } from '../db/transaction.ts'
import { planRights, runSteps } from './step.ts'

/** Gives new and rebuilt views and tables their owners, policies and rights, if access was granted in this database before. */
export async function restoreAccess(db: Db): Promise<void> {
  if (await isGranted(db)) await runSteps(db, (await planRights(db)).steps)
}

async function isGranted(db: Db): Promise<boolean> {
  const { rows } = await sql<{ granted: boolean }>`
    select exists (
      select from pg_namespace as n cross join aclexplode(n.nspacl) as acl join pg_roles as r on r.oid = acl.grantee
      where n.nspname = 'mart' and r.rolname = 'bi_reader'
    ) as granted`.execute(db)
  return rows[0]?.granted === true
}

/** UsageError unless the present user owns the schema, or there is none yet. `lacking` names what `migrate` would add. */
export async function assertMayMigrate(pool: pg.Pool, lacking: string): Promise<void> {
  const other = await foreignOwner(pool)
  if (other !== null)
    throw new UsageError(
      `The warehouse lacks ${lacking}, and ${other.user} may not change its schema: ` +
        `run "forecourt migrate" as the owner (${other.owner}), then this again.`,
    )
}

/** UsageError unless the present user owns the warehouse. */
export async function assertMayGrant(pool: pg.Pool): Promise<void> {
  const other = await foreignOwner(pool)
  if (other !== null)
    throw new UsageError(
      `${other.user} does not own the warehouse, so it cannot grant access: run "forecourt grant" as the owner (${other.owner}).`,
    )
}

/** The owner of the warehouse, if it is not the present user. */
async function foreignOwner(pool: pg.Pool): Promise<{ user: string; owner: string } | null> {
  const { rows } = await sql<{ user: string; owner: string }>`
    select current_user as user, r.rolname as owner
    from pg_namespace as n join pg_roles as r on r.oid = n.nspowner
    where n.nspname = 'ops'
      and not pg_has_role(current_user, n.nspowner, 'usage')`.execute(openDb(pool))
  return rows[0] ?? null
}
