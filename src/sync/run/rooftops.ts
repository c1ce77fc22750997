import { type Selectable, sql } from 'kysely'
import type { Config, RooftopConfig } from '../../app/config/read.ts'
import { BusyError, UsageError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { holdLock, lockSql } from '../../warehouse/db/locks.ts'
import { isOfConfig } from '../../warehouse/db/run-source.ts'
import { refreshSums } from '../../warehouse/db/sums.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** Finds the rooftops without writing. A rooftop that no run has registered yet has the id 0, which no row has. The settings that its
 *  rows were calculated with are the stored ones: a change in the config holds from the next run on. */
export async function findRooftops(
  db: Db,
  rooftops: readonly RooftopConfig[],
): Promise<RooftopRow[]> {
  type Known = 'uid' | 'id' | 'groupId' | 'timeZone' | 'currency' | 'odometerUnit'
  const { rows } = await sql<Pick<RooftopRow, Known>>`
    select rooftop_uid as uid, rooftop_id as id, group_id as "groupId", time_zone as "timeZone",
      currency_code as currency, odometer_unit as "odometerUnit"
    from core.rooftop`.execute(db)
  const stored = new Map(rows.map((row) => [row.uid, row]))
  return rooftops.map((rooftop) => ({
    ...{ ...described(rooftop), id: 0, groupId: 0 },
    ...stored.get(rooftop.uid),
  }))
}

/** Updates core.rooftop from the config and returns the rooftops with their ids; writes only what differs. A new time zone
 *  recalculates local days and sums in the same statement. UsageError when a change would relabel loaded rows, or store an evaluation
 *  twice in a dealer group; BusyError when a run still uses an old zone or dealer group; then nothing is written. */
export async function registerRooftops(
  db: Db,
  rooftops: readonly RooftopConfig[],
  log?: Log,
): Promise<RooftopRow[]> {
  const stored = await readStored(db, rooftops)
  const refused = await refusedChanges(db, rooftops, stored)
  if (refused.length > 0) throw new UsageError(refused.join('\n'))
  // Here too, so that no rooftop before the refused one is changed.
  for (const rooftop of rooftops) {
    const found = stored.get(rooftop.uid)
    if (found && isMoved(rooftop, found)) await requireNoRun(db, found.group_id, rooftop)
  }
  const rows: RooftopRow[] = []
  for (const rooftop of rooftops) {
    const found = stored.get(rooftop.uid)
    if (found !== undefined && isAsConfigured(rooftop, found)) {
      rows.push({ ...described(rooftop), id: found.rooftop_id, groupId: found.group_id })
      continue
    }
    const groupId = await registerGroup(db, rooftop.group)
    rows.push({ ...described(rooftop), id: await registerRooftop(db, rooftop, groupId), groupId })
    if (found && found.time_zone !== rooftop.timezone)
      log?.warn(
        { rooftop: rooftop.uid, from: found.time_zone, to: rooftop.timezone },
        'time zone changed: local days and sums recalculated; restart workers, scheduler and serve, which still use the old zone',
      )
  }
  return rows
}

/** Records which rooftops the whole config no longer names, but not those that a config with other services runs on the same
 *  warehouse. `registerRooftops` takes it back for those that it names again. */
export async function recordRetiredRooftops(db: Db, config: Config): Promise<void> {
  const uids = config.rooftops.map(({ uid }) => uid)
  await sql`
    update core.rooftop set left_config_at = now()
    where left_config_at is null and rooftop_uid <> all(${uids}::text[]) and coalesce((
      select coalesce(${isOfConfig('run.source_id', config)}, false)
      from ops.run_stream join ops.run using (run_id) where run_stream.rooftop_id = rooftop.rooftop_id
      order by run_id desc limit 1), true)`.execute(db)
}

/** Whether the config has another time zone or dealer group than the rooftop's rows, which a running process relies on. */
function isMoved(rooftop: RooftopConfig, found: StoredRooftop): boolean {
  return found.time_zone !== rooftop.timezone || found.group_code !== rooftop.group
}

/** BusyError when another process has changed the time zone or dealer group of a rooftop since this one registered it. Called under the
 *  lock of starting a run, under which they are changed too. */
export async function requireRegistered(db: Db, rooftops: readonly RooftopConfig[]): Promise<void> {
  const stored = await readStored(db, rooftops)
  const moved = rooftops.find((rooftop) => {
    const found = stored.get(rooftop.uid)
    return found !== undefined && isMoved(rooftop, found)
  })
  if (moved !== undefined)
    throw new BusyError(
      `Another process has just changed the time zone or dealer group of rooftop ${moved.uid}; nothing was started. ` +
        'Give every host the same config, then start it again.',
    )
}

/** Settings that define the meaning of loaded values, by column. */
const fixedSettings = {
  currency_code: 'currency',
  odometer_unit: 'odometerUnit',
  region: 'region',
} as const

/** One sentence for each change of the config that would relabel loaded evaluations or stock, or store an evaluation twice in a group. */
export async function refusedChanges(
  db: Db,
  rooftops: readonly RooftopConfig[],
  known?: ReadonlyMap<string, StoredRooftop>,
): Promise<string[]> {
  const stored = known ?? (await readStored(db, rooftops))
  const changes = rooftops.flatMap((rooftop) => {
    const found = stored.get(rooftop.uid)
    if (found === undefined) return []
    const values = rooftopColumns(rooftop, found.group_id)
    const columns = Object.keys(fixedSettings) as (keyof typeof fixedSettings)[]
    return columns
      .filter((column) => values[column] !== found[column])
      .map((column) => ({
        ...{ id: found.rooftop_id, column },
        text:
          `Rooftop ${rooftop.uid} (${rooftop.name}) has rows loaded with ${fixedSettings[column]} ${found[column]}, ` +
          `and the config says ${values[column]}: set it back to ${found[column]}. Where ${found[column]} was wrong ` +
          'from the start, load the rooftop into a new warehouse (warehouse.url).',
      }))
  })
  const doubles = await refusedMoves(db, rooftops, stored)
  if (changes.length === 0) return doubles
  const loaded = await findLoaded(
    db,
    changes.map(({ id }) => id),
  )
  // A unit relabels only readings: at a new service they are empty until their name is known.
  const relabels = ({ id, column }: (typeof changes)[number]) =>
    column === 'odometer_unit' ? loaded.get(id)?.hasReadings : loaded.has(id)
  return [...changes.filter(relabels).map(({ text }) => text), ...doubles]
}

/** The rooftops with evaluations or stock, by id. */
async function findLoaded(db: Db, ids: readonly number[]) {
  const { rows } = await sql<{ id: number; hasReadings: boolean }>`
    select id, exists (select from core.evaluation as e where e.rooftop_id = id and odometer is not null)
      or exists (select from core.evaluation_version as v where v.rooftop_id = id and odometer is not null)
      or exists (select from core.stock_unit as s where s.rooftop_id = id and odometer_km is not null) as "hasReadings"
    from unnest(${ids}::int[]) as id
    where exists (select from core.evaluation as e where e.rooftop_id = id)
      or exists (select from core.stock_unit as s where s.rooftop_id = id)`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Throws BusyError while a run works on a rooftop of the group. Its process uses the zones and the group that it started with, also
 *  for records of this rooftop that a list of another one shows. */
async function requireNoRun(db: Db, groupId: number, { uid }: RooftopConfig): Promise<void> {
  const { rows } = await sql<{ runId: number }>`
    select run_id as "runId" from ops.run join ops.run_stream using (run_id) join core.rooftop using (rooftop_id)
    where run.status = 'running' and group_id = ${groupId} and run_stream.status in ('waiting', 'running')
      and (is_detached or not ${lockSql.try('run', sql`run_id`)})
    limit 1`.execute(db)
  if (rows[0] !== undefined)
    throw new BusyError(
      `Run ${rows[0].runId} is at work on the dealer group of rooftop ${uid}, whose time zone or group has changed in the config; nothing was started. ` +
        'Wait for it to end ("forecourt status" shows it), or stop or pause it.',
    )
}

/** One sentence for the first rooftop that would move to a dealer group in which another one has the same evaluation: a group stores it once. */
async function refusedMoves(
  db: Db,
  rooftops: readonly RooftopConfig[],
  stored: ReadonlyMap<string, StoredRooftop>,
): Promise<string[]> {
  const moving = rooftops.filter(({ uid, group }) => {
    const found = stored.get(uid)
    return found !== undefined && found.group_code !== group
  })
  if (moving.length === 0) return []
  const { rows } = await sql<{ uid: string; other: string; evalId: number; count: number }>`
    with configured as (
      select * from unnest(${rooftops.map(({ uid }) => uid)}::text[], ${rooftops.map(({ group }) => group)}::text[]) as own (uid, code)
    )
    select own.rooftop_uid as uid, other.rooftop_uid as other, min(eval_id)::float8 as "evalId", count(*)::int as count
    from core.rooftop as own join configured on configured.uid = own.rooftop_uid
    join core.evaluation as moved using (rooftop_id)
    join core.evaluation as same using (eval_id) join core.rooftop as other on other.rooftop_id = same.rooftop_id
    join core.rooftop_group as at on at.group_id = other.group_id
    left join configured as wanted on wanted.uid = other.rooftop_uid
    where own.rooftop_uid = any(${moving.map(({ uid }) => uid)}::text[]) and other.rooftop_id <> own.rooftop_id
      and configured.code in (at.group_code, wanted.code)
    group by 1, 2 order by 1, 2 limit 1`.execute(db)
  const [double] = rows
  if (double === undefined) return []
  const { uid, other, evalId, count } = double
  const [{ group }, before] = [moving.find((one) => one.uid === uid)!, stored.get(uid)!.group_code]
  return [
    `Rooftop ${uid} cannot move to dealer group ${group}: ${other} has ${count === 1 ? 'one evaluation' : `${count} evaluations`} of it too ` +
      `(e.g. ${evalId}), and a group stores an evaluation once. Set its group: back to ${before}, or load both rooftops ` +
      'into a new warehouse (warehouse.url) with the same group:.',
  ]
}

/** One query for all rooftops: every run needs it, and there may be thousands. */
async function readStored(db: Db, rooftops: readonly RooftopConfig[]) {
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

type StoredRooftop =
  Awaited<ReturnType<typeof readStored>> extends Map<string, infer Row> ? Row : never

function isAsConfigured(rooftop: RooftopConfig, found: StoredRooftop): boolean {
  return (
    found.group_code === rooftop.group && !differs(rooftopColumns(rooftop, found.group_id), found)
  )
}

type RowValues = ReturnType<typeof rooftopColumns>

function rooftopColumns(rooftop: RooftopConfig, groupId: number) {
  return {
    rooftop_uid: rooftop.uid,
    dealer_id: rooftop.dealerId,
    group_id: groupId,
    rooftop_name: rooftop.name,
    region: rooftop.region,
    time_zone: rooftop.timezone,
    currency_code: rooftop.currency,
    odometer_unit: rooftop.odometerUnit,
    left_config_at: null,
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

async function registerGroup(db: Db, code: string): Promise<number> {
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

async function registerRooftop(db: Db, rooftop: RooftopConfig, groupId: number): Promise<number> {
  const values = rooftopColumns(rooftop, groupId)
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
  if (differs(values, found))
    await db
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (transaction) => {
        if (found.time_zone !== values.time_zone || found.group_id !== values.group_id) {
          // No run starts between this check and the commit.
          await sql`select ${lockSql.wait('startRun')}`.execute(transaction)
          await requireNoRun(transaction, found.group_id, rooftop)
        }
        await updateRooftop(transaction, found, values)
      })
  return found.rooftop_id
}

/** Evaluations whose sums are recalculated by one statement. */
const summedAtOnce = 5_000

/** Updates a rooftop's row, and what follows from its dealer group and its time zone: the rows of its evaluations, and their sums. */
async function updateRooftop(
  db: Db,
  {
    rooftop_id: id,
    group_id: groupBefore,
    time_zone: zoneBefore,
  }: Selectable<Tables['core.rooftop']>,
  values: RowValues,
): Promise<void> {
  const { group_id: groupId, time_zone: zone } = values
  if (groupId !== groupBefore) await moveToGroup(db, id, groupId)
  const isZoneChanged = zone !== zoneBefore
  const change = { previous_time_zone: zoneBefore, time_zone_changed_at: sql<Date>`now()` }
  await db
    .updateTable('core.rooftop')
    .set({ ...values, ...(isZoneChanged ? change : {}) })
    .where('rooftop_id', '=', id)
    .execute()
  if (groupId === groupBefore && !isZoneChanged) return
  const moved = await sql<{ id: number }>`
    update core.evaluation
    set created_date_local = (created_at at time zone ${zone})::date, completed_date_local = (completed_at at time zone ${zone})::date
    where rooftop_id = ${id} and (created_date_local, completed_date_local) is distinct from
      ((created_at at time zone ${zone})::date, (completed_at at time zone ${zone})::date)
    returning eval_id as id`.execute(db)
  const { rows } =
    groupId === groupBefore
      ? moved
      : await sql<{ id: number }>`
          select eval_id as id from core.evaluation where rooftop_id = ${id}`.execute(db)
  const evalIds = rows.map((row) => row.id)
  // In parts, as a rooftop may have a million. Loads wait, so that the locks have one order.
  await sql`lock table core.agg_appraisal in exclusive mode`.execute(db)
  for (let from = 0; from < evalIds.length; from += summedAtOnce)
    await refreshSums(db, [groupBefore, groupId], evalIds.slice(from, from + summedAtOnce))
}

/** Copies the suppression list, which is per group, before the evaluations move, so that erased customers stay erased. */
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

/** Moves a rooftop's rows to another group. A check that the new group has already, from another of its rooftops, is stored once.
 *  Salespeople are per group too, and one may work at rooftops of both groups. */
async function moveToGroup(db: Db, rooftopId: number, groupId: number): Promise<void> {
  await holdLock(db, 'checks', groupId)
  await copySuppressions(db, rooftopId, groupId)
  await db
    .updateTable('core.evaluation')
    .set({ group_id: groupId })
    .where('rooftop_id', '=', rooftopId)
    .execute()
  await deleteDuplicateChecks(db, rooftopId, groupId)
  await db
    .updateTable('core.vehicle_check')
    .set({ group_id: groupId })
    .where('rooftop_id', '=', rooftopId)
    .execute()
  await sql`select core.move_people(${rooftopId}::int, ${groupId}::int)`.execute(db)
}

/** Deletes the checks that the new group has already, with their links and archived PDFs. Files that no other check has are recorded
 *  for removal. Their watch statuses go with them, by a foreign key. */
async function deleteDuplicateChecks(db: Db, rooftopId: number, groupId: number): Promise<void> {
  const { rows } = await sql<{ evalId: number; kind: string; ref: string }>`
    delete from core.vehicle_check as own using core.vehicle_check as other
    where own.rooftop_id = ${rooftopId} and other.group_id = ${groupId} and other.rooftop_id <> own.rooftop_id
      and other.check_kind = own.check_kind and other.check_ref = own.check_ref
    returning own.eval_id as "evalId", own.check_kind || '_pdf' as kind, own.check_ref as ref`.execute(
    db,
  )
  const isDuplicate = sql`rooftop_id = ${rooftopId} and (eval_id, link_kind, link_ref) in (
    select * from unnest(${rows.map(({ evalId }) => evalId)}::bigint[], ${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ ref }) => ref)}::text[]))`
  await sql`delete from pii.signed_link where ${isDuplicate}`.execute(db)
  const { rows: pdfs } = await sql<{ sha256: Buffer }>`
    delete from pii.archived_pdf where ${isDuplicate} returning sha256`.execute(db)
  await sql`
    insert into pii.erasure_file (sha256)
    select distinct sha256 from unnest(${pdfs.map(({ sha256 }) => sha256)}::bytea[]) as gone (sha256)
    where not exists (select from pii.archived_pdf as stored where stored.sha256 = gone.sha256)
    on conflict do nothing`.execute(db)
}
