import { basename } from 'node:path'
import { sql } from 'kysely'
import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import { storableJson } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { ColumnMapping, Mapping, RememberedMapping } from '../csv/map/column-mapping.ts'
import { toRemembered } from '../csv/map/mapping.ts'
import { fields } from '../csv/map/stock-fields.ts'
import type { CsvFile } from '../csv/read/csv-file.ts'
import { type ChosenRows, rejectsText } from './rejects.ts'
import type { FileDigest, ImportRequest, RowCounts, UnitCounts } from './request.ts'
import { isSameFilter, type RowFilter } from './row-filter.ts'
import { type Staging, stockTables } from './stage.ts'
import type { RowRedaction, TypedList } from './type-rows.ts'

/** The newest import of a rooftop. */
export type NewestImport = NonNullable<Awaited<ReturnType<typeof newestImport>>>

/** The newest import of the rooftop; undefined for the first list. */
export async function newestImport(db: Db, rooftopId: number) {
  return await db
    .selectFrom('core.stock_import')
    .select(['import_id', 'sha256', 'mode', 'mapping', 'encoding', 'delimiter'])
    .select(sql<string | null>`dialect ->> 'sheet'`.as('sheet'))
    .select(sql<RowFilter | null>`dialect -> 'only'`.as('only'))
    .select(['records', 'accepted', 'rejected', 'collapsed', 'skipped'])
    .where('rooftop_id', '=', rooftopId)
    .orderBy('import_id', 'desc')
    .executeTakeFirst()
}

/** Whether the newest import had the same bytes and read them and their columns as now, so that nothing would change. A delta
 *  that becomes a snapshot does change; plain ASCII is the same in every detected encoding. */
export function isUnchanged(
  newest: NewestImport | undefined,
  { sha256 }: FileDigest,
  { mode, only }: Pick<ImportRequest, 'mode' | 'only'>,
  { columns }: Mapping,
  csv: Pick<CsvFile, 'encoding' | 'dialect' | 'origin'>,
): newest is NewestImport {
  if (!newest?.sha256.equals(sha256)) return false
  if (!isSameFilter(newest.only ?? undefined, only)) return false
  const fields = (of: readonly ColumnMapping[]) =>
    JSON.stringify(of.map(({ field, readings = [] }) => [field, ...readings]))
  return (
    (newest.mode === mode || newest.mode === 'snapshot') &&
    (newest.encoding === csv.encoding.name || csv.encoding.confidence === 'assumed') &&
    newest.delimiter === csv.dialect.delimiter &&
    newest.sheet === (csv.origin?.sheet ?? null) &&
    fields(newest.mapping as ColumnMapping[]) === fields(columns)
  )
}

/** The stored mapping of a header for the rooftop; null for a new header. */
export async function rememberedMapping(
  db: Db,
  rooftopId: number,
  fingerprint: string,
): Promise<RememberedMapping | null> {
  const row = await db
    .selectFrom('ops.stock_mapping')
    .select(['columns', 'absent'])
    .where('rooftop_id', '=', rooftopId)
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
  if (!row) return null
  const { columns, absent } = row as Pick<RememberedMapping, 'columns' | 'absent'>
  return { fingerprint, columns, absent }
}

/** Stores the mapping of an imported header, unless it is already stored. */
export async function rememberMapping(db: Db, rooftopId: number, mapping: Mapping): Promise<void> {
  const { fingerprint, columns, absent } = toRemembered(mapping)
  await sql`
    insert into ops.stock_mapping as stored (rooftop_id, fingerprint, columns, absent)
    values (${rooftopId}, ${fingerprint}, ${JSON.stringify(columns)}, ${JSON.stringify(absent)})
    on conflict (rooftop_id, fingerprint) do update
    set columns = excluded.columns, absent = excluded.absent, confirmed_at = now()
    where (stored.columns, stored.absent)
      is distinct from (excluded.columns, excluded.absent)`.execute(db)
}

/** Records that the list came again with the same content: the stock is still that of the import. */
export async function confirmImport({ db, importId, now }: Staging): Promise<void> {
  await sql`
    update core.stock_import set confirmed_at = ${now} where import_id = ${importId}`.execute(db)
}

/** What an import begins with. */
export interface StartedImport {
  readonly rooftopId: number
  readonly request: ImportRequest
  readonly digest: FileDigest
  readonly csv: CsvFile
  readonly mapping: Mapping
}

/** Inserts the row of the import, which its rows refer to; `finishImport` adds the results. */
export async function startImport(
  db: Db,
  { rooftopId, request, digest, csv, mapping }: StartedImport,
  { redactJson }: RowRedaction,
): Promise<number> {
  const { file, mode, importedBy, now, only } = request
  const { dialect, preamble, head, header } = csv
  const json = (value: unknown) => (value === null ? null : jsonText(redactJson(value)))
  const { rows } = await sql<{ import_id: number }>`
    insert into core.stock_import (rooftop_id, file_name, sha256, byte_count, mode, encoding, delimiter, dialect,
      preamble, header, mapping, warnings, records, accepted, rejected, collapsed, skipped, added, updated, unchanged,
      removed, reappeared, imported_by, imported_at)
    values (${rooftopId}, ${redactJson(basename(file).slice(-255))}, ${digest.sha256}, ${digest.bytes}, ${mode}, '',
      ${dialect.delimiter}, ${json({ ...dialect, ...csv.origin, bom: csv.encoding.bom, width: csv.width, head, only })},
      ${json(preamble)}, ${json(header)}, ${json(mapping.columns)}, '[]', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ${importedBy}, ${now})
    returning import_id`.execute(db)
  return rows[0]!.import_id
}

/** Adds the results to the row of the import. */
export async function finishImport(
  db: Db,
  importId: number,
  { encoding, warnings, corrects }: Pick<TypedList, 'encoding' | 'warnings' | 'corrects'>,
  counts: RowCounts & UnitCounts,
): Promise<void> {
  await db
    .updateTable('core.stock_import')
    .set({
      ...{ encoding: encoding.name, warnings: jsonText(warnings), ...counts },
      dialect: sql`dialect || jsonb_strip_nulls(jsonb_build_object('corrects', ${corrects}::bigint))`,
    })
    .where('import_id', '=', importId)
    .execute()
}

function jsonText(value: unknown): string {
  return JSON.stringify(storableJson(value))
}

/** The stored rows by status. Each count is counted by itself, never from the others, so that a lost row is found. */
export async function countRows(
  { db, tables, importId }: Staging,
  records: number,
): Promise<RowCounts> {
  const { rows } = await sql<Omit<RowCounts, 'records'>>`
    select ${sql.join(
      ['accepted', 'rejected', 'collapsed', 'skipped'].map(
        (status) => sql`count(*) filter (where status = ${status})::int as ${sql.ref(status)}`,
      ),
    )}
    from ${sql.table(tables.rows)} where import_id = ${importId}`.execute(db)
  return { records, ...rows[0]! }
}

/** The units that the import has written, with their changes. A stock number that now belongs to another vehicle counts as
 *  removed, too. */
export async function countWritten({
  db,
  rooftopId,
  importId,
}: Staging): Promise<Omit<UnitCounts, 'unchanged'>> {
  const count = (change: string) => sql`count(*) filter (where change = ${change})::int`
  const { rows } = await sql<Omit<UnitCounts, 'unchanged'>>`
    select ${count('added')} as added, ${count('updated')} as updated, ${count('reappeared')} as reappeared,
      ${count('removed')} + count(*) filter (where is_reused and was_on_hand)::int as removed
    from core.stock_unit_change as written join core.stock_unit as unit using (rooftop_id, stock_no)
    left join stock_diff as diff using (stock_no, change)
    where rooftop_id = ${rooftopId} and written.import_id = ${importId} and case change
      when 'removed' then coalesce(unit.missing_since, unit.off_stock_at) is not null
      else unit.import_id = ${importId} end`.execute(db)
  return rows[0]!
}

/** Throws, which undoes the import, if a row has no outcome or a change of the list was not written. */
export function assertNothingLost(
  { records, accepted, rejected, collapsed, skipped }: RowCounts,
  { added, updated, unchanged, reappeared, removed }: UnitCounts,
  plannedRemovals: number,
): void {
  const sums = [
    ['records of the file', records, accepted + rejected + collapsed + skipped],
    ['accepted rows', accepted, added + updated + unchanged + reappeared],
    ['removed units', plannedRemovals, removed],
  ] as const
  const wrong = sums.filter(([, expected, found]) => expected !== found)
  if (wrong.length === 0) return
  const texts = wrong.map(([what, expected, found]) => `${expected} ${what}, ${found} stored`)
  throw new Error(
    `The import lost data (${texts.join('; ')}): nothing was imported. This is a fault of Forecourt or of the warehouse; please report it.`,
  )
}

const stored = z.object({
  delimiter: z.string().min(1),
  header: z.object({ names: z.array(z.string()) }).nullable(),
  mapping: z.array(z.object({ index: z.number(), field: z.enum(fields).nullable().catch(null) })),
})

/** Rows of an import as a list that can be imported again, in the form of `--rejects`: what the dealer wrote, with the problems that
 *  its cells no longer show. UsageError when there is no such import. */
export async function* storedListText(
  db: Db,
  importId: number,
  chosen: ChosenRows,
): AsyncGenerator<string> {
  const { rows } = await sql`
    select delimiter, header, mapping
    from core.stock_import where import_id = ${importId}`.execute(db)
  if (rows.length === 0) throw new UsageError(`There is no import ${importId}.`)
  const { delimiter, header, mapping: columns } = stored.parse(rows[0])
  const source = { rowsTable: stockTables.rows, importId, delimiter, columns }
  yield* rejectsText(db, { ...source, names: header?.names ?? null }, chosen)
}
