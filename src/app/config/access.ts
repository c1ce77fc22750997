import { z } from 'zod'
import { group, orNull, reporter, whole } from './values.ts'

/** Roles for logins; sql/access defines what each sees. */
export const accessRoles = ['bi_reader', 'bi_tenant', 'bi_pii_reader', 'forecourt_writer'] as const
/** One of `accessRoles`. */
export type AccessRole = (typeof accessRoles)[number]

const reservedNames =
  /^(pg_.*|public|none|forecourt_console|mart_owner|mart_scoped_owner|mart_pii_owner)$/

/** Printable ASCII only: every driver sends it alike. */
const password = z
  .string()
  .min(12, 'is shorter than 12 characters')
  .max(200)
  .regex(/^[\x20-\x7e]*$/, 'has characters that are not printable ASCII')

const login = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,62}$/, {
      error: 'is not a role name: lower-case letters, digits and _, starting with a letter',
      abort: true,
    })
    .refine(
      (name) => !reservedNames.test(name) && !accessRoles.some((role) => role === name),
      'is already the name of a role of Postgres or Forecourt',
    ),
  role: z
    .enum(accessRoles)
    .describe('bi_tenant sees only its groups; bi_pii_reader also sees customers'),
  groups: z
    .array(z.string().min(1, 'is empty').max(130))
    .default([])
    .describe('Dealer groups of a bi_tenant, as in rooftops[].group: at least one'),
  password: orNull(z.union([z.literal(''), password])).describe(
    'Take it from the environment: only grant needs it; null or empty: the password of the role does not change',
  ),
  connectionLimit: orNull(whole(1, 10_000)).describe(
    'Connections at once; default: 20, for forecourt_writer no limit',
  ),
  statementTimeoutSeconds: orNull(whole(1, 86_400)).describe(
    'A longer query is stopped; default: 120, for forecourt_writer never',
  ),
})

/** The logins that read the warehouse. */
export const accessSettings = group({
  logins: z.array(login).superRefine(checkContradictions).default([]),
})

function checkContradictions(
  logins: readonly {
    readonly name: string
    readonly role: AccessRole
    readonly groups: readonly string[]
  }[],
  context: z.RefinementCtx,
): void {
  for (const [index, { name, role, groups }] of logins.entries()) {
    const report = reporter(context, index)
    if (logins.findIndex((other) => other.name === name) < index)
      report('name', 'is listed twice: list every login once')
    if (role !== 'bi_tenant' && groups.length > 0)
      report('groups', `is only for bi_tenant: ${role} sees every group, so leave it out`)
    if (role === 'bi_tenant' && groups.length === 0)
      report('role', 'is bi_tenant, which sees nothing without groups: list its dealer groups')
  }
}
