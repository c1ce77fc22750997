import type pg from 'pg'
import type { CellIssue } from '../../csv/map/typing/issue.ts'
import type { StagedUnits, Staging } from './stage.ts'
import { unitColumns } from './unit-columns.ts'

/** How many are fetched for the report, at most. */
const shown = 100

/** Rows of the list that share a stock number or a VIN. */
export interface Duplicates {
  readonly collapsed: number
  readonly rejected: number
  /** Added units that were deleted again because their rows contradict each other. */
  readonly rolledBack: number
  /** Rows whose VIN also has another stock number. */
  readonly sameVin: number
  readonly rejectedFirst: readonly CellIssue[]
  readonly sameVinFirst: readonly CellIssue[]
}

/**
 * Resolves stock numbers with several rows: equal rows count once; rows that contradict each other
 * are all rejected, and their unit stays unchanged. A VIN with several stock numbers is a warning.
 */
export async function resolveDuplicates(
  client: pg.ClientBase,
  staging: Staging,
  staged: StagedUnits,
): Promise<Duplicates> {
  const { collapsed, rejected, rolledBack } =
    staged.staged === 0 ? none : await resolveStockNumbers(client, staging, staged)
  const sameVin = await findSameVin(client, staging, staged.duplicateVins)
  if (sameVin.count > 0) await addIssues(client, staging, null)
  return {
    collapsed,
    rolledBack,
    rejected: rejected.count,
    rejectedFirst: rejected.first,
    sameVin: sameVin.count,
    sameVinFirst: sameVin.first,
  }
}

interface Found {
  readonly count: number
  readonly first: readonly CellIssue[]
}

const nothing: Found = { count: 0, first: [] }
const none = { collapsed: 0, rejected: nothing, rolledBack: 0 }

/** Only units with a row in the stage can have two rows. */
async function resolveStockNumbers(
  client: pg.ClientBase,
  staging: Staging,
  { added }: StagedUnits,
): Promise<typeof none> {
  if (added > 0) await stageFirstRows(client, staging)
  await client.query(
    `create temp table stock_duplicate on commit drop as
     select stock_no, array_agg(line_no order by line_no) as lines, count(distinct content_hash) = 1 as is_same
     from stock_stage where stock_no in (
       select stock_no from stock_stage where not is_rejected group by stock_no having count(*) > 1
     ) and not is_rejected group by stock_no`,
  )
  const collapsed = await collapse(client, staging)
  const rejected = await rejectContradictions(client)
  const rolledBack = rejected.count > 0 ? await deleteAdded(client, staging) : 0
  if (rejected.count > 0) await addIssues(client, staging, 'rejected')
  if (added > 0) await unstageFirstRows(client, staging)
  return { collapsed, rejected, rolledBack }
}

/** Adds the first row of a new unit to the stage, beside its later rows. */
async function stageFirstRows(
  client: pg.ClientBase,
  { tables, rooftopId, importId }: Staging,
): Promise<void> {
  const content = [...unitColumns, 'content_hash']
  await client.query(
    `insert into stock_stage (line_no, is_rejected, has_left, ${content.join(', ')})
     select stored.line_no, false, false, ${content.map((name) => `unit.${name}`).join(', ')}
     from ${tables.units} as unit
     join ${tables.rows} as stored on stored.import_id = $2 and stored.stock_no = unit.stock_no and stored.status = 'accepted'
     where unit.rooftop_id = $1 and unit.import_id = $2
       and unit.stock_no in (select stock_no from stock_stage where not is_rejected)
       and not exists (select from stock_stage as stage where stage.line_no = stored.line_no)`,
    [rooftopId, importId],
  )
}

/** Removes those rows again: there is no older unit to compare them with. */
async function unstageFirstRows(
  client: pg.ClientBase,
  { tables, rooftopId, importId }: Staging,
): Promise<void> {
  await client.query(
    `delete from stock_stage as stage using ${tables.units} as unit
     where not stage.is_rejected and unit.rooftop_id = $1 and unit.import_id = $2 and unit.stock_no = stage.stock_no`,
    [rooftopId, importId],
  )
}

/** Deletes rows that repeat an earlier one from the stage. */
async function collapse(client: pg.ClientBase, { tables, importId }: Staging): Promise<number> {
  const { rows } = await client.query<{ lines: number[] | null }>(
    `with gone as (
       delete from stock_stage as own using stock_duplicate as duplicate
       where duplicate.is_same and not own.is_rejected and own.stock_no = duplicate.stock_no
         and own.line_no <> duplicate.lines[1]
       returning own.line_no
     ), marked as (
       update ${tables.rows} as stored set status = 'collapsed' from gone
       where stored.import_id = $1 and stored.line_no = gone.line_no
     )
     select array_agg(line_no) as lines from gone`,
    [importId],
  )
  return rows[0]!.lines?.length ?? 0
}

async function rejectContradictions(client: pg.ClientBase): Promise<Found> {
  return await findRows(
    client,
    `update stock_stage as own set is_rejected = true from stock_duplicate as duplicate
     where not duplicate.is_same and not own.is_rejected and own.stock_no = duplicate.stock_no
     returning own.line_no, own.stock_no as text, duplicate.lines`,
    'primary-key',
    'error',
    (lines) =>
      `the rows at lines ${lines} have this stock number but different content: keep one of them`,
  )
}

/** Deletes added units whose rows contradict each other. Returns their number. */
async function deleteAdded(
  client: pg.ClientBase,
  { tables, rooftopId, importId }: Staging,
): Promise<number> {
  const counts: number[] = []
  for (const table of [tables.units, tables.changes]) {
    const { rowCount } = await client.query(
      `delete from ${table} as added using stock_duplicate as duplicate
       where not duplicate.is_same and added.rooftop_id = $1 and added.import_id = $2
         and added.stock_no = duplicate.stock_no`,
      [rooftopId, importId],
    )
    counts.push(rowCount ?? 0)
  }
  return counts[0]!
}

async function findSameVin(
  client: pg.ClientBase,
  { tables, rooftopId, importId }: Staging,
  among: readonly string[] | null,
): Promise<Found> {
  if (among?.length === 0) return nothing
  // `offset 0` keeps the lookup by VIN: without statistics Postgres would read all units of the rooftop.
  const units = among
    ? `unnest($3::text[]) as asked cross join lateral (select * from ${tables.units} where vin = asked offset 0)`
    : tables.units
  const { rowCount } = await client.query({
    text: `create temp table stock_duplicate_vin on commit drop as
      select vin from (
        select vin from stock_stage where not is_rejected and vin is not null
        union all select vin from ${units} as unit where rooftop_id = $1 and import_id = $2 and vin is not null
      ) as named group by vin having count(*) > 1`,
    values: [rooftopId, importId, ...(among ? [among] : [])],
  })
  if (rowCount === 0) return nothing
  return await findRows(
    client,
    `with named as (
       select line_no, vin from stock_stage join stock_duplicate_vin using (vin) where not is_rejected
       union all select stored.line_no, unit.vin from ${tables.units} as unit join stock_duplicate_vin using (vin)
       join ${tables.rows} as stored on stored.import_id = ${importId} and stored.stock_no = unit.stock_no and stored.status = 'accepted'
       where unit.rooftop_id = ${rooftopId} and unit.import_id = ${importId}
     ), duplicate as (
       select vin, array_agg(line_no order by line_no) as lines from named group by vin
     )
     select named.line_no, named.vin as text, duplicate.lines from named join duplicate using (vin)`,
    'DUPLICATE_VIN',
    'warning',
    (lines) => `the rows at lines ${lines} have this VIN under different stock numbers`,
  )
}

/** Writes the rows that a query finds, with their issue, to stock_issues. */
async function findRows(
  client: pg.ClientBase,
  query: string,
  code: string,
  severity: CellIssue['severity'],
  hint: (lines: string) => string,
): Promise<Found> {
  await client.query('drop table if exists stock_issues')
  await client.query('create temp table stock_issues (line_no int, issue jsonb) on commit drop')
  const [before, after] = hint('%').split('%')
  await client.query(
    `with found as (${query})
     insert into stock_issues
     select line_no, jsonb_build_object('code', $1::text, 'severity', $2::text, 'line', line_no,
       'column', null, 'text', text, 'hint', $3::text || array_to_string(lines[:8], ', ') || $4::text)
     from found`,
    [code, severity, before, after],
  )
  const { rows } = await client.query<{ count: number; first: CellIssue[] }>(
    `select (select count(*)::int from stock_issues) as count,
       coalesce((select jsonb_agg(issue) from (
         select issue from stock_issues order by line_no limit ${shown}) as shown), '[]') as first`,
  )
  return rows[0]!
}

/** Adds the issues of stock_issues to the stored rows. */
async function addIssues(
  client: pg.ClientBase,
  { tables, importId }: Staging,
  status: 'rejected' | null,
): Promise<void> {
  await client.query(
    `update ${tables.rows} as stored
     set issues = stored.issues || found.issue, status = coalesce($2, stored.status)
     from stock_issues as found where stored.import_id = $1 and stored.line_no = found.line_no`,
    [importId, status],
  )
}
