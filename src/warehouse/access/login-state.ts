import { sql } from 'kysely'
import { type AccessRole, accessRoles } from '../../app/config/access.ts'
import type { Db } from '../db/transaction.ts'

/** The present state of a login role. */
export interface LoginState {
  readonly name: string
  readonly canLogin: boolean
  /** Rights that our logins must not have, e.g. `createrole`. */
  readonly excessRights: readonly string[]
  readonly bypassesRowSecurity: boolean
  readonly connectionLimit: number
  /** Our roles that it is a member of. */
  readonly memberOf: readonly AccessRole[]
  /** Settings in this database, by lower-case name. */
  readonly settings: Readonly<Record<string, string>>
  /** Dealer groups in ops.bi_access. */
  readonly groups: readonly string[]
  /** The role recorded in ops.bi_login; null: not created by grant. */
  readonly madeAs: AccessRole | null
  /** The stored verifier of its password; undefined: the present user may not read it. */
  readonly verifier: string | null | undefined
}

/** The database, its owners and the existing logins. */
export interface ServerState {
  readonly database: string
  readonly user: string
  /** Roles that own the database or the warehouse. */
  readonly owners: readonly string[]
  readonly mayBypassRowSecurity: boolean
  /** Postgres 16 and newer have options for each membership. */
  readonly hasInheritOption: boolean
  readonly groupCodes: readonly string[]
  readonly logins: ReadonlyMap<string, LoginState>
}

/** Reads the named logins, those in our roles, and the server's state. */
export async function readServerState(db: Db, names: readonly string[]): Promise<ServerState> {
  const { rows } = await serverQuery.execute(db)
  const { readsPasswords, ...surroundings } = rows[0]!
  const logins = await loginsQuery(names, readsPasswords).execute(db)
  const known = logins.rows.map((row) => [row.name, { ...row, settings: asRecord(row.settings) }])
  return { ...surroundings, logins: new Map(known as [string, LoginState][]) }
}

const serverQuery = sql<Omit<ServerState, 'logins'> & { readsPasswords: boolean }>`
  select current_database() as database, current_user as user,
    array[pg_get_userbyid(d.datdba)::text, pg_get_userbyid(n.nspowner)::text] as owners,
    me.rolsuper or (me.rolbypassrls and version >= 160000) as "mayBypassRowSecurity",
    version >= 160000 as "hasInheritOption",
    has_table_privilege('pg_catalog.pg_authid', 'select') as "readsPasswords",
    array(select group_code::text from core.rooftop_group order by 1) as "groupCodes"
  from pg_roles as me
  cross join (select current_setting('server_version_num')::int as version) as server
  join pg_database as d on d.datname = current_database()
  join pg_namespace as n on n.nspname = 'core'
  where me.rolname = current_user`

const loginsQuery = (names: readonly string[], readsPasswords: boolean) => sql<
  LoginState & { settings: readonly string[] }
>`
  with role as (
    select r.*, array(
      select parent.rolname::text from pg_auth_members as m join pg_roles as parent on parent.oid = m.roleid
      where m.member = r.oid and parent.rolname = any (${accessRoles}::text[]) order by 1) as member_of
    from pg_roles as r
  )
  select r.rolname::text as name, r.rolcanlogin as "canLogin", r.rolbypassrls as "bypassesRowSecurity", r.rolconnlimit as "connectionLimit",
    array_remove(array[case when r.rolsuper then 'superuser' end, case when r.rolcreaterole then 'createrole' end,
      case when r.rolcreatedb then 'createdb' end, case when r.rolreplication then 'replication' end], null) as "excessRights",
    r.member_of as "memberOf",
    coalesce((select s.setconfig from pg_db_role_setting as s join pg_database as d on d.oid = s.setdatabase
      where s.setrole = r.oid and d.datname = current_database()), '{}') as settings,
    array(select group_code::text from ops.bi_access as a where a.role_name = r.rolname order by 1) as groups,
    (select member_of from ops.bi_login as l where l.role_name = r.rolname) as "madeAs"
    ${readsPasswords ? sql`, (select rolpassword from pg_authid as a where a.oid = r.oid) as verifier` : sql``}
  from role as r
  where r.rolname = any (${names}::text[]) or (r.rolcanlogin and r.member_of <> '{}')
  order by 1`

function asRecord(settings: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    settings.map((setting) => {
      const at = setting.indexOf('=')
      return [setting.slice(0, at).toLowerCase(), setting.slice(at + 1)]
    }),
  )
}
