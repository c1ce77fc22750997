import { sql } from 'kysely'
import { openServices } from '../../api/sources/open-services.ts'
import { errorText } from '../../errors.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { Stream } from '../run/stream.ts'
import { uncover } from './verify.ts'
import { type DeepVerification, verifyDeep } from './verify-deep.ts'
import { compareDifferences, saveFound, saveFullRound } from './verify-round.ts'
import { type RowScope, verifyRows } from './verify-rows.ts'
import { valueComparisons, valueDifferences } from './verify-values.ts'
import { recordVerification, uncoverFaults, verifyWarehouse } from './verify-warehouse.ts'

/**
 * Verifies the rooftops, takes windows out of coverage and stores what was found, as far as the login may write: it reports what it
 * finds either way. `isDeep`: every window is listed again at the source. `scope`: the rows whose values are compared; null: none.
 */
export async function verifyAndStore(
  warehouse: Warehouse,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  { isDeep, scope }: { readonly isDeep: boolean; readonly scope: RowScope | null },
  signal: AbortSignal,
) {
  const { db, config, log } = warehouse
  let refused = null as CoverageRefused | null
  const write = async (change: () => Promise<unknown>) => {
    if (refused === null)
      await change().catch(async (error: unknown) => {
        refused = await explainRefusal(db, error)
      })
  }
  const found = await verifyWarehouse(warehouse, streams, rooftops, config.sync)
  await write(() => uncoverFaults(db, streams, rooftops, found))
  const deep: DeepVerification[] = []
  if (isDeep) {
    await using services = openServices(config, log, ['read'])
    const { appraisal, client } = services
    for (const stream of streams.flatMap(({ records }) => records ?? []))
      for (const rooftop of rooftops) {
        const context = { ...warehouse, appraisal, services: client, signal }
        const relisted = await verifyDeep(context, stream, rooftop)
        deep.push(relisted)
        await write(() => uncover(db, stream, rooftop, relisted.doubtful))
      }
  }
  const values = valueComparisons(streams)
  await write(() => compareDifferences(warehouse, values, rooftops))
  const since = new Date()
  const rows =
    scope &&
    (await verifyRows(warehouse, streams, rooftops, scope, signal, async (slice) => {
      const differences = valueDifferences(slice.found)
      await write(() => saveFound(db, { ...slice, kind: 'values', found: differences }))
    }))
  const compared = values.map(({ stream }) => stream)
  if (scope?.sample === null && scope.days === null)
    await write(() => saveFullRound(db, { kind: 'values', streams: compared }, rooftops, since))
  await write(() => recordVerification(db, rooftops, found))
  return { found, deep, rows, refused }
}

/** Why coverage could not be changed, and which logins could. */
export interface CoverageRefused {
  readonly login: string
  readonly reason: string
  /** A few of them; empty: the server takes no writes. */
  readonly logins: readonly string[]
}

const insufficientPrivilege = '42501'
const readOnlyTransaction = '25006'

async function explainRefusal(db: Db, error: unknown): Promise<CoverageRefused> {
  const { code } = error as { code?: string }
  if (code !== insufficientPrivilege && code !== readOnlyTransaction) throw error
  const { rows } = await sql<{ login: string; logins: string[] }>`
    select current_user::text as login, array(
      select rolname::text from pg_roles
      where rolcanlogin and has_schema_privilege(oid, 'ops', 'usage') and has_table_privilege(oid, 'ops.coverage', 'update')
      order by rolsuper, rolname limit 5) as logins`.execute(db)
  const { login, logins } = rows[0]!
  const reason = errorText(error)
  return { login, reason, logins: code === readOnlyTransaction ? [] : logins }
}
