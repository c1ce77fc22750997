import { basename } from 'node:path'
import type pg from 'pg'
import type { Mapping } from '../../csv/map/column-mapping.ts'
import { storableJson } from '../../values/text.ts'
import type { FileDigest } from './list-source.ts'
import type { OpenList } from './open-list.ts'
import type { RowCounts, UnitCounts } from './import-report.ts'
import type { ImportRequest } from './request.ts'
import type { RowRedaction } from './redact-rows.ts'
import type { TypedList } from './type-rows.ts'

interface Starting {
  readonly bytes: FileDigest
  readonly request: ImportRequest
  readonly screen: RowRedaction
}

/** Inserts the row of the import, which its rows refer to; `finishImport` adds the results. */
export async function startImport(
  client: pg.ClientBase,
  rooftopId: number,
  { csv }: OpenList,
  mapping: Mapping,
  { bytes: { sha256, bytes }, request: { file, mode, importedBy, now }, screen }: Starting,
): Promise<number> {
  const { dialect, preamble, head } = csv
  const { rows } = await client.query<{ import_id: number }>(
    `insert into core.stock_import (rooftop_id, file_name, sha256, byte_count, mode, encoding, delimiter, dialect,
       preamble, header, mapping, warnings, records, accepted, rejected, collapsed, skipped, added, updated, unchanged,
       removed, reappeared, imported_by, imported_at)
     values ($1, $2, $3, $4, $5, '', $6, $7, $8, $9, $10, '[]', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $11, $12)
     returning import_id`,
    [
      ...[
        rooftopId,
        screen.redactJson(basename(file).slice(-255)),
        sha256,
        bytes,
        mode,
        dialect.delimiter,
      ],
      ...[
        { ...dialect, bom: csv.encoding.bom, width: csv.width, head },
        preamble,
        csv.header,
        mapping.columns,
      ].map((value) => (value === null ? null : jsonText(screen.redactJson(value)))),
      ...[importedBy, now],
    ],
  )
  return rows[0]!.import_id
}

/** Adds the results to the row of the import. */
export async function finishImport(
  client: pg.ClientBase,
  importId: number,
  { encoding, warnings }: TypedList,
  rows: RowCounts,
  units: UnitCounts,
): Promise<void> {
  const { records, accepted, rejected, collapsed, skipped } = rows
  const { added, updated, unchanged, removed, reappeared } = units
  await client.query(
    `update core.stock_import set encoding = $2, warnings = $3, records = $4, accepted = $5, rejected = $6,
       collapsed = $7, skipped = $8, added = $9, updated = $10, unchanged = $11, removed = $12, reappeared = $13
     where import_id = $1`,
    [
      ...[importId, encoding.name, jsonText(warnings), records, accepted, rejected],
      ...[collapsed, skipped, added, updated, unchanged, removed, reappeared],
    ],
  )
}

function jsonText(value: unknown): string {
  return JSON.stringify(storableJson(value))
}
