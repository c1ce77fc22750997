import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { HiddenValue } from '../../../sync/records/mask-payload.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { columnFedBy } from '../evaluation/columns-fed.ts'
import { evaluationRecords } from '../evaluation/payloads.ts'
import { maskRecord } from '../payload/mask.ts'

export type News = 'new' | 'vanished' | 'missing' | 'undocumented'

/** A path of the answers that is not as the documents say, or not as it was, and that no column holds. */
export interface FieldNews {
  readonly stream: string
  readonly path: string
  /** The JSON types that were seen there. */
  readonly types: readonly string[]
  readonly news: News
  readonly isDocumented: boolean
  /** The column that holds its values, by the documents or by `wire`; null: they are in the payload alone. */
  readonly column: string | null
  /** Paths below it, which are not listed themselves. */
  readonly below: number
  /** A value with each letter as A or a and each digit as 9; null: hidden, or none in the newest records. */
  readonly example: string | null
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly seen: number
}

type PathRow = Omit<FieldNews, 'column' | 'below' | 'example'>

/** Paths with news that are read at most. */
const maxPaths = 5000

/** The fields with news, the new and vanished ones first, then those that came most often. A first load sees every field for
 *  the first time: that is not news. A path that a column holds is news only when it is new, missing or vanished. */
export async function readFieldNews(
  db: Db,
  { wire }: Config,
  limit: number,
): Promise<{ readonly fields: readonly FieldNews[]; readonly hasMore: boolean }> {
  const { rows } = await sql<PathRow>`
    with span as (
      select stream, min(first_seen_at) as began_at, max(last_seen_at) as ended_at from ops.field_drift group by stream
    ), judged as (
      select *, case
          when last_seen_at < ended_at - interval '30 days' and classification <> 'missing' then 'vanished'
          when first_seen_at > greatest(began_at + interval '1 day', now() - interval '30 days') then 'new'
          when classification <> 'documented' then classification end as news
      from ops.field_drift join span using (stream)
    )
    select stream, json_path as path, array_agg(json_type order by seen desc, json_type) as types, news,
      bool_and(classification = 'documented') as "isDocumented", min(first_seen_at) as "firstSeenAt",
      max(last_seen_at) as "lastSeenAt", sum(seen)::float8 as seen
    from judged where news is not null
    group by stream, json_path, news
    order by array_position(array['new', 'vanished', 'missing', 'undocumented'], news),
      case when news in ('new', 'vanished') then greatest(min(first_seen_at), max(last_seen_at)) end desc,
      sum(seen) desc, stream, json_path
    limit ${maxPaths + 1}`.execute(db)
  const columns = rows.map((row) => ({ ...row, column: findColumn(row, wire) }))
  const listed = columns.filter(({ news, column }) => news !== 'undocumented' || column === null)
  const tops = withoutPathsBelow(listed)
  const shown = tops.slice(0, limit)
  const findExample = await readExamples(db, wire)
  return {
    fields: shown.map((field) => ({ ...field, example: findExample(field) })),
    hasMore: tops.length > shown.length || rows.length > maxPaths,
  }
}

function findColumn({ stream, path }: PathRow, wire: Config['wire']): string | null {
  if (stream !== evaluationRecords.name) return null
  return columnFedBy(path.replaceAll('[]', ''), wire.appraisal)
}

/** The fields without those below another one of the same news, which counts them. */
function withoutPathsBelow<F extends PathRow>(fields: readonly F[]): (F & { below: number })[] {
  const tops = new Map(fields.map((field) => [pathKey(field), { ...field, below: 0 }]))
  for (const field of fields) {
    const above = parentPaths(field.path).map((path) => tops.get(pathKey({ ...field, path })))
    const top = above.find((found) => found !== undefined)
    if (top === undefined) continue
    top.below += 1
    tops.delete(pathKey(field))
  }
  return [...tops.values()]
}

function pathKey({ stream, news, path }: Pick<PathRow, 'stream' | 'news' | 'path'>): string {
  return JSON.stringify([stream, news, path])
}

/** The paths that hold a path, the outermost first: `a` and `a.b` of `a.b[]`. */
function parentPaths(path: string): string[] {
  return [...path.matchAll(/\.|\[\]/g)].map(({ index }) => path.slice(0, index))
}

/** Rooftops, and of each the newest evaluations, whose payloads are read for an example. */
const exampleRooftops = 20
const exampleRecords = 5
const maxExampleBytes = 100_000

/** Reads a few of the newest payloads; the function gives a masked value of a path in them. */
async function readExamples(db: Db, wire: Config['wire']) {
  const { name: stream, endpoint } = evaluationRecords
  const { rows } = await sql<{ naturalKey: string; body: string }>`
    select newest.eval_id::text as "naturalKey", payload.body::text as body
    from (select rooftop_id from core.rooftop order by rooftop_id limit ${exampleRooftops}) as rooftop
    cross join lateral (
      select eval_id from core.evaluation where rooftop_id = rooftop.rooftop_id order by entry_at desc limit ${exampleRecords}
    ) as newest
    cross join lateral (
      select body from raw.payload where rooftop_id = rooftop.rooftop_id and endpoint = ${endpoint} and natural_key = newest.eval_id::text
      order by fetched_at desc limit 1
    ) as payload
    where octet_length(payload.body::text) < ${maxExampleBytes}`.execute(db)
  const records = rows.map(({ naturalKey, body }) =>
    evaluationRecords.findRecord(
      maskRecord(JSON.parse(body), { stream, naturalKey }, wire.appraisal, { showsUnknown: true }),
      Number(naturalKey),
    ),
  )
  return ({ stream: rowStream, path }: PathRow): string | null => {
    if (rowStream !== stream) return null
    for (const record of records)
      for (const value of valuesAt(record, path)) {
        const example = maskedForm(value)
        if (example !== null) return example
      }
    return null
  }
}

/** The values at a path of ops.field_drift: `[]` is each item of a list, `*` each field. */
function valuesAt(record: unknown, path: string): unknown[] {
  let values = [record]
  for (const part of path.replaceAll('[]', '.[]').split('.'))
    values = values.flatMap((value) => {
      if (value === null || typeof value !== 'object' || value instanceof HiddenValue) return []
      if (part === '[]') return Array.isArray(value) ? value : []
      if (part === '*') return Object.values(value)
      return Object.hasOwn(value, part) ? [(value as Record<string, unknown>)[part]] : []
    })
  return values
}

/** The form of a value without its content; null: it is empty or hidden. */
function maskedForm(value: unknown): string | null {
  if (value === null || value === '' || value instanceof HiddenValue) return null
  if (Array.isArray(value)) return `list of ${value.length}`
  if (typeof value === 'object') return `object of ${Object.keys(value).length}`
  if (typeof value === 'boolean') return 'true or false'
  return String(value)
    .slice(0, 24)
    .replaceAll(/\p{Lu}/gu, 'A')
    .replaceAll(/\p{L}/gu, (letter) => (letter === 'A' ? 'A' : 'a'))
    .replaceAll(/\p{N}/gu, '9')
}
