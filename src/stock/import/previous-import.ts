import type pg from 'pg'
import type { Mapping, RememberedMapping } from '../../csv/map/column-mapping.ts'
import { rememberedOf } from '../../csv/map/mapping.ts'
import type { CsvFile } from '../../csv/read/csv-file.ts'
import type { Db } from '../../db/transaction.ts'
import type { ColumnMapping } from '../../csv/map/column-mapping.ts'
import type { ImportRequest } from './request.ts'

/** The newest import of a rooftop. */
export interface NewestImport {
  readonly import_id: number
  readonly sha256: Buffer
  readonly mode: string
  readonly mapping: unknown
  readonly header: unknown
  readonly encoding: string
  readonly delimiter: string
  readonly records: number
  readonly accepted: number
  readonly rejected: number
  readonly collapsed: number
  readonly skipped: number
}

/** The newest import of the rooftop; undefined for the first list. */
export async function newestImport(db: Db, rooftopId: number): Promise<NewestImport | undefined> {
  return await db
    .selectFrom('core.stock_import')
    .select(['import_id', 'sha256', 'mode', 'mapping', 'header', 'encoding', 'delimiter'])
    .select(['records', 'accepted', 'rejected', 'collapsed', 'skipped'])
    .where('rooftop_id', '=', rooftopId)
    .orderBy('import_id', 'desc')
    .executeTakeFirst()
}

/** Whether the newest import had the same bytes, so that nothing would change. A delta that becomes a snapshot does change. */
export function isUnchangedFile(
  newest: NewestImport | undefined,
  sha256: Buffer,
  mode: ImportRequest['mode'],
): newest is NewestImport {
  if (!newest?.sha256.equals(sha256)) return false
  return newest.mode === mode || newest.mode === 'snapshot'
}

/** Whether the previous import read the file and its columns as now. Plain ASCII is the same in every detected encoding. */
export function isReadUnchanged(
  { mapping, encoding, delimiter }: NewestImport,
  { columns }: Mapping,
  csv: Pick<CsvFile, 'encoding' | 'dialect'>,
): boolean {
  const fields = (of: readonly ColumnMapping[]) => JSON.stringify(of.map(({ field }) => field))
  const isSameText = encoding === csv.encoding.name || csv.encoding.confidence === 'assumed'
  return (
    isSameText &&
    delimiter === csv.dialect.delimiter &&
    fields(mapping as ColumnMapping[]) === fields(columns)
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
export async function rememberMapping(
  client: pg.ClientBase,
  rooftopId: number,
  mapping: Mapping,
): Promise<void> {
  const { fingerprint, columns, absent } = rememberedOf(mapping)
  await client.query(
    `insert into ops.stock_mapping as stored (rooftop_id, fingerprint, columns, absent) values ($1, $2, $3, $4)
     on conflict (rooftop_id, fingerprint) do update
     set columns = excluded.columns, absent = excluded.absent, confirmed_at = now()
     where (stored.columns, stored.absent) is distinct from (excluded.columns, excluded.absent)`,
    [rooftopId, fingerprint, JSON.stringify(columns), JSON.stringify(absent)],
  )
}
