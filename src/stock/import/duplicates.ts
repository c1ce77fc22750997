import { type RawBuilder, sql } from 'kysely'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import { deleteAdded, type StagedUnits, type Staging, stageAdded } from './stage.ts'

/** How many are fetched for the report, at most. */
const shown = 100

/** Rows with an issue, and the first of them. */
interface Found {
  readonly count: number
  readonly first: readonly CellIssue[]
}

/** Rows of the list that share a stock number or a VIN. */
interface Duplicates {
  readonly rejected: Found
  /** Rows whose VIN also has another stock number. */
  readonly sameVin: Found
}

const nothing: Found = { count: 0, first: [] }

/**
 * Resolves stock numbers with several rows: equal rows count once; rows that contradict each other
 * are all rejected, and their unit stays unchanged. A VIN with several stock numbers is a warning.
 */
export async function resolveDuplicates(
  staging: Staging,
  staged: StagedUnits,
): Promise<Duplicates> {
  const rejected = staged.staged === 0 ? nothing : await resolveStockNumbers(staging, staged)
  const sameVin = await findSameVin(staging, staged.duplicateVins)
  if (sameVin.count > 0) await addIssues(staging, null)
  return { rejected, sameVin }
}

/** The rejected rows. Only units with a row in the stage can have two rows. */
async function resolveStockNumbers(staging: Staging, { added }: StagedUnits): Promise<Found> {
  const { db } = staging
  // The first row of a new unit was added; it is compared with the later ones, which are in the stage.
  if (added > 0)
    await stageAdded(
      staging,
      sql`unit.stock_no in (select stock_no from stock_stage where not is_rejected)
       and not exists (select from stock_stage as stage where stage.line_no = stored.line_no)`,
    )
  await sql`
    create temp table stock_duplicate on commit drop as
    select stock_no, array_agg(line_no order by line_no) as lines, count(distinct content_hash) = 1 as is_same
    from stock_stage where not is_rejected group by stock_no having count(*) > 1`.execute(db)
  await collapse(staging)
  const rejected = await rejectContradictions(staging)
  if (rejected.count > 0) {
    await deleteAdded(staging, sql`select stock_no from stock_duplicate where not is_same`)
    await addIssues(staging, 'rejected')
  }
  // There is no older unit to compare an added one with.
  if (added > 0)
    await sql`
      delete from stock_stage as stage using ${sql.table(staging.tables.units)} as unit
      where not stage.is_rejected and unit.rooftop_id = ${staging.rooftopId} and unit.import_id = ${staging.importId}
        and unit.stock_no = stage.stock_no`.execute(db)
  return rejected
}

/** Deletes rows that repeat an earlier one from the stage. */
async function collapse({ db, tables, importId }: Staging): Promise<void> {
  await sql`
    with gone as (
      delete from stock_stage as own using stock_duplicate as duplicate
      where duplicate.is_same and not own.is_rejected and own.stock_no = duplicate.stock_no
        and own.line_no <> duplicate.lines[1]
      returning own.line_no
    )
    update ${sql.table(tables.rows)} as stored set status = 'collapsed' from gone
    where stored.import_id = ${importId} and stored.line_no = gone.line_no`.execute(db)
}

async function rejectContradictions(staging: Staging): Promise<Found> {
  return await findRows(
    staging,
    sql`update stock_stage as own set is_rejected = true from stock_duplicate as duplicate
     where not duplicate.is_same and not own.is_rejected and own.stock_no = duplicate.stock_no
     returning own.line_no, own.stock_no as text, duplicate.lines`,
    { code: 'primary-key', severity: 'error' },
    'have this stock number but different content: keep one of them',
  )
}

async function findSameVin(staging: Staging, among: readonly string[] | null): Promise<Found> {
  if (among?.length === 0) return nothing
  const { db, tables, rooftopId, importId } = staging
  const table = sql.table(tables.units)
  // `offset 0` keeps the lookup by VIN: without statistics Postgres would read all units of the rooftop.
  const units = among
    ? sql`unnest(${among}::text[]) as asked cross join lateral (select * from ${table} where vin = asked offset 0)`
    : table
  await sql`create temp table stock_duplicate_vin (vin varchar(40)) on commit drop`.execute(db)
  const { numAffectedRows } = await sql`
    insert into stock_duplicate_vin
    select vin from (
      select vin from stock_stage where not is_rejected and vin is not null
      union all select vin from ${units} as unit
      where rooftop_id = ${rooftopId} and import_id = ${importId} and vin is not null
    ) as named group by vin having count(*) > 1`.execute(db)
  if (numAffectedRows === 0n) return nothing
  return await findRows(
    staging,
    sql`with named as (
       select line_no, vin from stock_stage join stock_duplicate_vin using (vin) where not is_rejected
       union all select stored.line_no, unit.vin from ${table} as unit join stock_duplicate_vin using (vin)
       join ${sql.table(tables.rows)} as stored on stored.import_id = ${importId} and stored.stock_no = unit.stock_no and stored.status = 'accepted'
       where unit.rooftop_id = ${rooftopId} and unit.import_id = ${importId}
     ), duplicate as (
       select vin, array_agg(line_no order by line_no) as lines from named group by vin
     )
     select named.line_no, named.vin as text, duplicate.lines from named join duplicate using (vin)`,
    { code: 'DUPLICATE_VIN', severity: 'warning' },
    'have this VIN under different stock numbers',
  )
}

/** Writes the rows that a query finds, with their issue, to stock_issues. */
async function findRows(
  { db }: Staging,
  query: RawBuilder<unknown>,
  { code, severity }: Pick<CellIssue, 'code' | 'severity'>,
  hint: string,
): Promise<Found> {
  await sql`drop table if exists stock_issues`.execute(db)
  await sql`create temp table stock_issues (line_no int, issue jsonb) on commit drop`.execute(db)
  await sql`
    with found as (${query})
    insert into stock_issues
    select line_no, jsonb_build_object('code', ${code}::text, 'severity', ${severity}::text, 'line', line_no, 'column', null,
      'text', text, 'hint', format('the rows at lines %s %s', array_to_string(lines[:8], ', '), ${hint}::text))
    from found`.execute(db)
  const { rows } = await sql<{ count: number; first: CellIssue[] }>`
    select (select count(*)::int from stock_issues) as count,
      coalesce((select jsonb_agg(issue) from (
        select issue from stock_issues
        order by line_no limit ${shown}) as shown), '[]') as first`.execute(db)
  return rows[0]!
}

/** Adds the issues of stock_issues to the stored rows. */
async function addIssues(
  { db, tables, importId }: Staging,
  status: 'rejected' | null,
): Promise<void> {
  await sql`
    update ${sql.table(tables.rows)} as stored
    set issues = stored.issues || found.issue, status = coalesce(${status}, stored.status)
    from stock_issues as found
    where stored.import_id = ${importId} and stored.line_no = found.line_no`.execute(db)
}
