import { sql } from 'kysely'
import { UsageError } from '../errors.ts'
import type { Config, RooftopConfig } from '../config.ts'
import type { Db } from '../db/transaction.ts'
import type { RooftopRow } from '../values/rooftop.ts'

/** The rooftops of the config that a command is about; UsageError names one that is unknown. */
export function chooseRooftops(config: Config, uids: readonly string[]): readonly RooftopConfig[] {
  if (config.rooftops.length === 0) {
    throw new UsageError(
      `No rooftops are configured (${config.file ?? 'no forecourt.yaml here'}): write a config with "forecourt init" and list them under rooftops:.`,
    )
  }
  const unknown = uids.find((uid) => !config.rooftops.some((rooftop) => rooftop.uid === uid))
  if (unknown !== undefined) {
    const known = config.rooftops.map((rooftop) => rooftop.uid).join(', ')
    throw new UsageError(`--rooftop ${unknown} is not in the config; known are: ${known}.`)
  }
  return uids.length === 0
    ? config.rooftops
    : config.rooftops.filter((rooftop) => uids.includes(rooftop.uid))
}

/** The same without writing: a rooftop that no run has registered yet has the id 0, which no row has. */
export async function findRooftops(
  db: Db,
  rooftops: readonly RooftopConfig[],
): Promise<RooftopRow[]> {
  const rows = await db
    .selectFrom('core.rooftop')
    .select(['rooftop_uid', 'rooftop_id', 'group_id'])
    .execute()
  const byUid = new Map(rows.map((row) => [row.rooftop_uid, row]))
  return rooftops.map((rooftop) => {
    const row = byUid.get(rooftop.uid)
    return { ...described(rooftop), id: row?.rooftop_id ?? 0, groupId: row?.group_id ?? 0 }
  })
}

/** Brings core.rooftop to what the config says and returns the rooftops with their keys; writes only what differs. */
export async function registerRooftops(
  db: Db,
  rooftops: readonly RooftopConfig[],
): Promise<RooftopRow[]> {
  const standing = await readStanding(db, rooftops)
  const rows: RooftopRow[] = []
  for (const rooftop of rooftops) {
    const found = standing.get(rooftop.uid)
    if (found !== undefined && isAsConfigured(rooftop, found)) {
      rows.push({ ...described(rooftop), id: found.rooftop_id, groupId: found.group_id })
      continue
    }
    const groupId = await groupIdOf(db, rooftop.group)
    rows.push({ ...described(rooftop), id: await rooftopIdOf(db, rooftop, groupId), groupId })
  }
  return rows
}

/** All at once: each run asks, of thousands of rooftops that nobody has changed. */
async function readStanding(db: Db, rooftops: readonly RooftopConfig[]) {
  const uids = rooftops.map(({ uid }) => uid)
  const rows = await db
    .selectFrom('core.rooftop')
    .innerJoin('core.rooftop_group', 'core.rooftop_group.group_id', 'core.rooftop.group_id')
    .selectAll('core.rooftop')
    .select('group_code')
    .where('rooftop_uid', '=', sql<string>`any(${uids}::text[])`)
    .execute()
  return new Map(rows.map((row) => [row.rooftop_uid, row]))
}

type Standing =
  Awaited<ReturnType<typeof readStanding>> extends Map<string, infer Row> ? Row : never

function isAsConfigured(rooftop: RooftopConfig, found: Standing): boolean {
  return found.group_code === rooftop.group && !differs(rowOf(rooftop, found.group_id), found)
}

type RowValues = ReturnType<typeof rowOf>

function rowOf(rooftop: RooftopConfig, groupId: number) {
  return {
    rooftop_uid: rooftop.uid,
    dealer_id: rooftop.dealerId,
    group_id: groupId,
    rooftop_name: rooftop.name,
    region: rooftop.region,
    time_zone: rooftop.timezone,
    currency_code: rooftop.currency,
    odometer_unit: rooftop.odometerUnit,
  }
}

function differs(values: RowValues, found: { readonly [Name in keyof RowValues]: unknown }) {
  return Object.entries(values).some(([name, value]) => found[name as keyof RowValues] !== value)
}

function described(rooftop: RooftopConfig) {
  const { uid, name, dealerId, region, currency, odometerUnit } = rooftop
  return {
    uid,
    name,
    dealerId,
    keyName: rooftop.key,
    region,
    timeZone: rooftop.timezone,
    currency,
    odometerUnit,
  }
}

async function groupIdOf(db: Db, code: string): Promise<number> {
  const find = () =>
    db
      .selectFrom('core.rooftop_group')
      .select('group_id')
      .where('group_code', '=', code)
      .executeTakeFirst()
  const found = await find()
  if (found) return found.group_id
  await db
    .insertInto('core.rooftop_group')
    .values({ group_code: code })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return (await find())!.group_id
}

async function rooftopIdOf(db: Db, rooftop: RooftopConfig, groupId: number): Promise<number> {
  const values = rowOf(rooftop, groupId)
  const find = () =>
    db
      .selectFrom('core.rooftop')
      .selectAll()
      .where('rooftop_uid', '=', rooftop.uid)
      .executeTakeFirst()
  const found = await find()
  if (!found) {
    await db
      .insertInto('core.rooftop')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return (await find())!.rooftop_id
  }
  // The rooftop last: a move that is cut off is begun anew.
  if (found.group_id !== groupId) await moveToGroup(db, found.rooftop_id, groupId)
  if (differs(values, found))
    await db
      .updateTable('core.rooftop')
      .set(values)
      .where('rooftop_id', '=', found.rooftop_id)
      .execute()
  return found.rooftop_id
}

/** What was erased stays so: the suppression list goes by group, and is there before the evaluations are. */
async function copySuppressions(db: Db, rooftopId: number, groupId: number): Promise<void> {
  await sql`
    insert into pii.suppressed_evaluation as known (group_id, eval_id, scope, erasure_id, suppressed_at, digests, phrase_words)
    select ${groupId}, old.eval_id, old.scope, old.erasure_id, old.suppressed_at, old.digests, old.phrase_words
    from pii.suppressed_evaluation as old
    join core.rooftop as own on own.rooftop_id = ${rooftopId} and own.group_id = old.group_id
    where not exists (
      select from core.evaluation as other
      where other.group_id = old.group_id and other.eval_id = old.eval_id and other.rooftop_id <> own.rooftop_id)
    on conflict (group_id, eval_id) do update set
      scope = case when 'customer' in (known.scope, excluded.scope) then 'customer' else 'mention' end,
      digests = array(select distinct unnest(known.digests || excluded.digests)),
      phrase_words = array(select distinct unnest(known.phrase_words || excluded.phrase_words))`.execute(
    db,
  )
}

/** A check that the new group has already, through another of its rooftops, is the same one: it is kept once. Salespeople go
 *  by group too, and one may sell at rooftops of both. */
async function moveToGroup(db: Db, rooftopId: number, groupId: number): Promise<void> {
  await copySuppressions(db, rooftopId, groupId)
  await db
    .updateTable('core.evaluation')
    .set({ group_id: groupId })
    .where('rooftop_id', '=', rooftopId)
    .execute()
  await sql`
    with twice as (
      delete from core.vehicle_check as own using core.vehicle_check as other
      where own.rooftop_id = ${rooftopId} and other.group_id = ${groupId} and other.rooftop_id <> own.rooftop_id
        and other.check_kind = own.check_kind and other.check_ref = own.check_ref
      returning own.rooftop_id, own.eval_id, own.check_kind, own.check_ref
    )
    delete from pii.signed_link as link using twice
    where link.rooftop_id = twice.rooftop_id and link.eval_id = twice.eval_id
      and link.link_kind = twice.check_kind || '_pdf' and link.link_ref = twice.check_ref`.execute(
    db,
  )
  await db
    .updateTable('core.vehicle_check')
    .set({ group_id: groupId })
    .where('rooftop_id', '=', rooftopId)
    .execute()
  await sql`select core.move_people(${rooftopId}::int, ${groupId}::int)`.execute(db)
}
