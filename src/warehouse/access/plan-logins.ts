import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'
import pg from 'pg'
import type { AccessRole } from '../../app/config/access.ts'
import type { Config } from '../../app/config/read.ts'
import { UsageError } from '../../errors.ts'
import { nameHint } from '../../values/nearest-name.ts'
import type { LoginState, ServerState } from './login-state.ts'
import type { Plan, Step } from './step.ts'

/** A login as the config names it. */
type Login = Config['access']['logins'][number]

/** Whether this is the login's password. Used if the stored verifier cannot be read. */
export type PasswordCheck = (name: string, password: string) => Promise<boolean>

const { escapeIdentifier: quoted, escapeLiteral: literal } = pg

/** The steps that the config's logins need. UsageError for a name that must not be used, or an unknown group. */
export async function planLogins(
  logins: readonly Login[],
  server: ServerState,
  configuredGroups: readonly string[],
  tryPassword: PasswordCheck,
): Promise<Plan> {
  for (const login of logins) {
    assertFree(login, server)
    assertGroups(login, [...new Set([...configuredGroups, ...server.groupCodes])])
  }
  const steps: Step[] = []
  for (const login of logins) {
    const state = server.logins.get(login.name)
    steps.push(...attributeSteps(login, state, server))
    steps.push(...(await passwordSteps(login, state, tryPassword)))
    steps.push(...membershipSteps(login, state, server), ...settingSteps(login, state, server))
    steps.push(...recordSteps(login, state))
  }
  const loaders = logins.filter((login) => lacksBypass(login, server))
  const withoutPassword = logins.filter(
    ({ name, password }) => !password && !server.logins.has(name),
  )
  return {
    steps,
    notes: [
      ...loaders.map((login) => bypassNote(login, server)),
      ...withoutPassword.map(
        ({ name }) =>
          `The login ${name} has no password, so no one can log in with it: set its variable and run "forecourt grant" again.`,
      ),
    ],
  }
}

/** UsageError for a role that has other rights, or that grant did not create: it must not be changed. */
function assertFree({ name, role }: Login, { user, owners, logins }: ServerState): void {
  const state = logins.get(name)
  const excessRights = state?.excessRights ?? []
  const why =
    name === user || owners.includes(name)
      ? 'owns the warehouse or is your connected user'
      : excessRights.length > 0
        ? `exists with other rights (${excessRights.join(', ')})`
        : state !== undefined && state.madeAs === null && state.memberOf.length === 0
          ? `exists already and was not created by grant (if it is the right one, run: grant ${role} to ${quoted(name)})`
          : null
  if (why !== null)
    throw new UsageError(
      `The role ${name} ${why}, so it cannot be a login of access.logins: choose another name.`,
    )
}

function assertGroups({ name, groups }: Login, known: readonly string[]): void {
  const unknown = groups.find((code) => !known.includes(code))
  if (unknown === undefined) return
  throw new UsageError(
    `The login ${name} has the dealer group "${unknown}", which neither rooftops[].group nor the warehouse has (${nameHint(unknown, known)}): correct access.logins.`,
  )
}

function attributeSteps(login: Login, state: LoginState | undefined, server: ServerState): Step[] {
  const limit = login.connectionLimit ?? (login.role === 'forecourt_writer' ? -1 : 20)
  const bypasses = login.role === 'forecourt_writer'
  const attributes = [
    state?.canLogin === true ? '' : 'login',
    (state?.connectionLimit ?? -1) === limit ? '' : `connection limit ${limit}`,
    bypasses && !state?.bypassesRowSecurity && server.mayBypassRowSecurity ? 'bypassrls' : '',
    !bypasses && state?.bypassesRowSecurity ? 'nobypassrls' : '',
  ].filter((attribute) => attribute !== '')
  if (attributes.length === 0) return []
  const verb = state === undefined ? 'create' : 'alter'
  const what = state === undefined ? 'is made' : 'is changed'
  return [
    {
      what: `login ${login.name} ${what}: ${attributes.join(', ')}`,
      statement: `${verb} role ${quoted(login.name)} ${attributes.join(' ')}`,
    },
  ]
}

async function passwordSteps(
  { name, password }: Login,
  state: LoginState | undefined,
  tryPassword: PasswordCheck,
): Promise<Step[]> {
  if (password === null || password === '') return []
  const isSet =
    state !== undefined &&
    (state.verifier === undefined
      ? await tryPassword(name, password)
      : verifiesPassword(state.verifier, password))
  if (isSet) return []
  const statement = (verifier: string) => `alter role ${quoted(name)} password ${verifier}`
  return [
    {
      what: `login ${name} has the password of the config`,
      statement: statement(literal(scramVerifier(password))),
      shown: `-- the password of ${name} is not shown: "forecourt grant" sets it`,
    },
  ]
}

function membershipSteps(
  { name, role }: Login,
  state: LoginState | undefined,
  { hasInheritOption }: ServerState,
): Step[] {
  const memberOf = state?.memberOf ?? []
  const others = memberOf.filter((other) => other !== role)
  const [roleSql, login] = [quoted(role), quoted(name)]
  return [
    ...others.map((other) => ({
      what: `login ${name} is no longer in ${other}`,
      statement: `revoke ${quoted(other)} from ${login}`,
    })),
    ...(memberOf.includes(role)
      ? []
      : [
          {
            what: `login ${name} is in ${role}`,
            statement: `grant ${roleSql} to ${login}${hasInheritOption ? ' with inherit true, set true' : ''}`,
          },
        ]),
  ]
}

const paths: Readonly<Record<AccessRole, string | null>> = {
  bi_reader: 'mart',
  bi_tenant: 'mart_scoped',
  bi_pii_reader: 'mart, mart_pii',
  forecourt_writer: null,
}

/** Defaults, not protection: a user may change all of them for the session. */
function wantedSettings({
  role,
  statementTimeoutSeconds,
}: Login): Readonly<Record<string, string | null>> {
  const isReader = role !== 'forecourt_writer'
  const timeout = statementTimeoutSeconds ?? (isReader ? 120 : null)
  return {
    default_transaction_read_only: isReader ? 'on' : null,
    statement_timeout: timeout === null ? null : `${timeout}s`,
    idle_in_transaction_session_timeout: isReader ? '60s' : null,
    // A working day: frees the connections of abandoned sessions without ending one during a lunch break.
    idle_session_timeout: isReader ? '8h' : null,
    search_path: paths[role],
    timezone: isReader ? 'UTC' : null,
    // Our views join and sort much; to compile such a query takes longer than to run it.
    jit: isReader ? 'off' : null,
    work_mem: isReader ? '32MB' : null,
  }
}

function settingSteps(
  login: Login,
  state: LoginState | undefined,
  { database }: ServerState,
): Step[] {
  const role = `alter role ${quoted(login.name)} in database ${quoted(database)}`
  return Object.entries(wantedSettings(login)).flatMap(([name, value]) => {
    if ((state?.settings[name] ?? null) === value) return []
    // A list of schemas must not be quoted as one value.
    const text = name === 'search_path' ? value : literal(value ?? '')
    return [
      {
        what: `login ${login.name} starts with ${name} ${value ?? 'as the server default'}`,
        statement: value === null ? `${role} reset ${name}` : `${role} set ${name} to ${text}`,
      },
    ]
  })
}

function recordSteps({ name, role, groups }: Login, state: LoginState | undefined): Step[] {
  const current = state?.groups ?? []
  const [login, codes] = [literal(name), [...new Set(groups)].sort()]
  const isSame = codes.length === current.length && codes.every((code) => current.includes(code))
  const list = `array[${codes.map(literal).join(', ')}]::text[]`
  const record = {
    what: `login ${name} is recorded as a login of this warehouse`,
    statement: `insert into ops.bi_login (role_name, member_of) values (${login}, ${literal(role)}) on conflict (role_name) do update set member_of = excluded.member_of, granted_at = now()`,
  }
  const groupStep = {
    what: `login ${name} sees the groups ${codes.join(', ') || '(none)'}`,
    statement: `delete from ops.bi_access where role_name = ${login} and group_code <> all (${list}); insert into ops.bi_access (role_name, group_code) select ${login}, unnest(${list}) on conflict do nothing`,
  }
  return [...(state?.madeAs === role ? [] : [record]), ...(isSame ? [] : [groupStep])]
}

function lacksBypass({ name, role }: Login, server: ServerState): boolean {
  const has = server.logins.get(name)?.bypassesRowSecurity === true
  return role === 'forecourt_writer' && !has && !server.mayBypassRowSecurity
}

function bypassNote({ name }: Login, { user, owners }: ServerState): string {
  return (
    `The login ${name} cannot load yet: only its owner and roles with BYPASSRLS may COPY into a table with row-level security, and ${user} may not give BYPASSRLS. ` +
    `Let the loader connect as ${owners.at(-1)}, or have a superuser run: alter role ${quoted(name)} bypassrls;`
  )
}

// Like libpq's PQencryptPasswordConn: the password itself is in no statement, so it is in no server log.
const iterations = 4096

/** The verifier that Postgres stores for a password (RFC 5803), for `alter role … password`. ASCII passwords need no SASLprep. */
export function scramVerifier(
  password: string,
  salt: Buffer = randomBytes(16),
  rounds = iterations,
): string {
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256')
  const clientKey = hmac(salted, 'Client Key')
  const storedKey = createHash('sha256').update(clientKey).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${rounds}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

/** Whether the stored verifier belongs to the password. false for none, and for another kind of verifier. */
export function verifiesPassword(stored: string | null, password: string): boolean {
  const [, rounds, salt] = /^SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$/.exec(stored ?? '') ?? []
  if (stored === null || rounds === undefined || salt === undefined) return false
  const made = Buffer.from(scramVerifier(password, Buffer.from(salt, 'base64'), Number(rounds)))
  const known = Buffer.from(stored)
  return made.length === known.length && timingSafeEqual(made, known)
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
