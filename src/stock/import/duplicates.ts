import type pg from 'pg'
import type { CellIssue } from '../../csv/map/typing/issue.ts'
import type { Staging } from './stage.ts'

/** Fetched for the report, at most. */
const shown = 100

/** What the list says more than once. */
export interface Duplicates {
  readonly collapsed: number
  readonly rejected: number
  /** Rows whose VIN another stock number has too. */
  readonly sameVin: number
  readonly rejectedFirst: readonly CellIssue[]
  readonly sameVinFirst: readonly CellIssue[]
}

/**
 * Settles the stock numbers that several rows name: rows that say the same count once, rows that contradict each other
 * are all rejected, and their unit stays as it is. A VIN under several stock numbers is a warning.
 */
export async function settleDuplicates(
  client: pg.ClientBase,
  { rowsTable, importId, rooftopId }: Staging,
): Promise<Duplicates> {
  await client.query(
    `create temp table stock_twice on commit drop as
     select stock_no, array_agg(line_no order by line_no) as lines, count(distinct content_hash) = 1 as is_same
     from stock_stage where stock_no in (
       select stock_no from stock_stage where not is_rejected group by stock_no having count(*) > 1
     ) and not is_rejected group by stock_no`,
  )
  const collapsed = await collapse(client, rowsTable, importId)
  const rejected = await rejectContradictions(client)
  if (rejected.count > 0) {
    await takeBack(client, rooftopId, importId)
    await mark(client, rowsTable, importId, 'rejected')
  }
  const sameVin = await findSameVin(client)
  if (sameVin.count > 0) await mark(client, rowsTable, importId, null)
  return {
    collapsed,
    rejected: rejected.count,
    rejectedFirst: rejected.first,
    sameVin: sameVin.count,
    sameVinFirst: sameVin.first,
  }
}

/** Rows that repeat an earlier one leave the stage. */
async function collapse(
  client: pg.ClientBase,
  rowsTable: string,
  importId: number,
): Promise<number> {
  const { rows } = await client.query<{ lines: number[] | null }>(
    `with gone as (
       delete from stock_stage as own using stock_twice as twice
       where twice.is_same and not own.is_rejected and own.stock_no = twice.stock_no
         and own.line_no <> twice.lines[1]
       returning own.line_no
     ), marked as (
       update ${rowsTable} as kept set status = 'collapsed' from gone
       where kept.import_id = $1 and kept.line_no = gone.line_no
     )
     select array_agg(line_no) as lines from gone`,
    [importId],
  )
  return rows[0]!.lines?.length ?? 0
}

interface Found {
  readonly count: number
  readonly first: readonly CellIssue[]
}

async function rejectContradictions(client: pg.ClientBase): Promise<Found> {
  return await find(
    client,
    `update stock_stage as own set is_rejected = true from stock_twice as twice
     where not twice.is_same and not own.is_rejected and own.stock_no = twice.stock_no
     returning own.line_no, own.stock_no as text, twice.lines`,
    'primary-key',
    'error',
    (lines) =>
      `the rows at lines ${lines} have this stock number and say different things: keep one of them`,
  )
}

/** Units that were new, and whose rows contradict each other. */
async function takeBack(client: pg.ClientBase, rooftopId: number, importId: number): Promise<void> {
  for (const table of ['core.stock_unit', 'core.stock_unit_change'])
    await client.query(
      `delete from ${table} as added using stock_twice as twice
       where not twice.is_same and added.rooftop_id = $1 and added.import_id = $2
         and added.stock_no = twice.stock_no`,
      [rooftopId, importId],
    )
}

async function findSameVin(client: pg.ClientBase): Promise<Found> {
  return await find(
    client,
    `with twice as (
       select vin, array_agg(line_no order by line_no) as lines from stock_stage where not is_rejected and vin in (
         select vin from stock_stage where not is_rejected group by vin having count(*) > 1
       ) group by vin
     )
     select own.line_no, own.vin as text, twice.lines
     from stock_stage as own join twice using (vin) where not own.is_rejected`,
    'DUPLICATE_VIN',
    'warning',
    (lines) => `the rows at lines ${lines} have this VIN under different stock numbers`,
  )
}

/** Puts the rows that a query finds, with their issue, into stock_said. */
async function find(
  client: pg.ClientBase,
  query: string,
  code: string,
  severity: CellIssue['severity'],
  hint: (lines: string) => string,
): Promise<Found> {
  await client.query('drop table if exists stock_said')
  await client.query('create temp table stock_said (line_no int, issue jsonb) on commit drop')
  const [before, after] = hint('%').split('%')
  await client.query(
    `with found as (${query})
     insert into stock_said
     select line_no, jsonb_build_object('code', $1::text, 'severity', $2::text, 'line', line_no,
       'column', null, 'text', text, 'hint', $3::text || array_to_string(lines[:8], ', ') || $4::text)
     from found`,
    [code, severity, before, after],
  )
  const { rows } = await client.query<{ count: number; first: CellIssue[] }>(
    `select (select count(*)::int from stock_said) as count,
       coalesce((select jsonb_agg(issue) from (
         select issue from stock_said order by line_no limit ${shown}) as shown), '[]') as first`,
  )
  return rows[0]!
}

/** Tells the kept rows what stock_said holds. */
async function mark(
  client: pg.ClientBase,
  rowsTable: string,
  importId: number,
  status: 'rejected' | null,
): Promise<void> {
  await client.query(
    `update ${rowsTable} as kept
     set issues = kept.issues || said.issue, status = coalesce($2, kept.status)
     from stock_said as said where kept.import_id = $1 and kept.line_no = said.line_no`,
    [importId, status],
  )
}
