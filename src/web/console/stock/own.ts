import { sql } from 'kysely'
import type { Config, RooftopConfig } from '../../../app/config/read.ts'
import type { RowCounts, UnitCounts } from '../../../stock/import/request.ts'
import { StockUploads, type UploadRow } from '../../../stock/upload/stock-uploads.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import type { Person } from '../access/people.ts'
import { martSchema } from '../access/scope.ts'
import { type ActionRequest, NothingHere, type PageRequest, parseId } from '../page.ts'

// What a person may change: the one place that decides it. What belongs to another rooftop is as if it did not exist.

/** The rooftops for which a person may import lists, by name. */
export function personRooftops(config: Config, { rooftops }: Person): readonly RooftopConfig[] {
  return config.rooftops
    .filter(({ uid }) => rooftops === null || rooftops.includes(uid))
    .toSorted((a, b) => a.name.localeCompare(b.name))
}

/** One of them. NothingHere: it is not theirs, or does not exist. */
export function personRooftop({ config, person }: ActionRequest, uid: string): RooftopConfig {
  const found = personRooftops(config, person).find((one) => one.uid === uid)
  if (found === undefined) throw new NothingHere(`There is no rooftop ${uid} of ${person.email}.`)
  return found
}

/** A list that a person uploaded. */
export interface Upload extends Omit<UploadRow, 'sha256' | 'content' | 'corrects'> {
  readonly id: string
  readonly uid: string
  readonly zone: string
  readonly email: string
  readonly bytes: number
  /** The newest import when it was checked; 0: none. */
  readonly checkedAgainst: number
  readonly madeAt: Date
  readonly endsAt: Date
}

/** An upload of the person's rooftops. null: there is none, or it has expired. An action reads as the program, a page as the person. */
export async function findUpload(
  { db, person }: Pick<PageRequest, 'db' | 'person'>,
  id: string,
  as: 'page' | 'action',
): Promise<Upload | null> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return null
  const { rows } = await sql<Upload>`
    select upload_id as id, rooftop_id as "rooftopId", r.rooftop_uid as uid, r.rooftop_name as rooftop, r.time_zone as zone, email,
      file_name as "fileName", byte_count as bytes, options, result, newest_import_id::int as "checkedAgainst",
      (select coalesce(max(i.import_id), 0)::int from core.stock_import as i where i.rooftop_id = u.rooftop_id) as newest,
      made_at as "madeAt", ends_at as "endsAt",
      import_id::int as "importId"
    from ops.stock_upload as u join ${personSchema(person, as)}.dim_rooftop as r using (rooftop_id)
    where upload_id = ${id}::uuid and (ends_at > now() or u.import_id is not null) and ${isOwn(person)}`.execute(
    db as Db,
  )
  return rows[0] ?? null
}

/** The upload of an action. NothingHere: it is not theirs, or does not exist. */
export async function personUpload(request: ActionRequest): Promise<Upload> {
  const upload = await findUpload(request, request.params['id']!, 'action')
  if (upload === null) throw new NothingHere('There is no such upload of this person.')
  return upload
}

/** The lists that wait, for an action that has found its own. */
export function stockUploads({ context }: ActionRequest): StockUploads {
  return new StockUploads({ warehouse: context, signal: context.signal })
}

/** The numbers of an import, or of what one would do. */
export type ImportCounts = RowCounts & UnitCounts

/** An imported list. */
export interface StockImport extends ImportCounts {
  readonly id: number
  readonly rooftopId: number
  readonly uid: string
  readonly rooftop: string
  readonly zone: string
  readonly fileName: string
  readonly mode: 'snapshot' | 'delta'
  readonly by: string
  readonly at: Date
}

/** The columns of `StockImport`, of `core.stock_import as i` and `dim_rooftop as r`. */
export const importColumns = sql`
  i.import_id::int as id, i.rooftop_id as "rooftopId", r.rooftop_uid as uid, r.rooftop_name as rooftop, r.time_zone as zone,
  i.file_name as "fileName", i.mode, i.imported_by as by, i.imported_at as at, i.records, i.accepted, i.rejected,
  i.collapsed, i.skipped, i.added, i.updated, i.unchanged, i.removed, i.reappeared`

/** An import of the person's rooftops; null: there is none. */
export async function findImport(
  { db, person, params }: Pick<PageRequest, 'db' | 'person' | 'params'>,
  as: 'page' | 'action',
): Promise<StockImport | null> {
  const id = parseId(params)
  if (id === null) return null
  const { rows } = await sql<StockImport>`
    select ${importColumns} from core.stock_import as i join ${personSchema(person, as)}.dim_rooftop as r using (rooftop_id)
    where i.import_id = ${id}::bigint and ${isOwn(person)}`.execute(db)
  return rows[0] ?? null
}

/** The import of an action. NothingHere: it is not theirs, or does not exist. */
export async function personImport(request: ActionRequest): Promise<StockImport> {
  const found = await findImport(request, 'action')
  if (found === null) throw new NothingHere('There is no such import of this person.')
  return found
}

function personSchema(person: Person, as: 'page' | 'action') {
  return as === 'page' ? martSchema(person) : sql.raw('mart')
}

function isOwn({ rooftops }: Person) {
  return rooftops === null ? sql`true` : sql`r.rooftop_uid = any(${[...rooftops]}::text[])`
}
