import { parquetReadObjects, type SchemaElement } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { z } from 'zod'

// The transaction log of one table: https://github.com/delta-io/delta/blob/master/PROTOCOL.md. Reader version 1 and writer
// version 2 are what every engine knows.

const texts = z.record(z.string(), z.string())
const add = z.object({
  /** Below the folder of the table. */
  path: z.string(),
  partitionValues: z.record(z.string(), z.string().nullable()),
  size: z.number(),
  modificationTime: z.number(),
  dataChange: z.boolean(),
  /** JSON: rows, and of each column the nulls, the least and the greatest value. */
  stats: z.string().nullish(),
  tags: texts.nullish(),
})
const remove = z.object({ path: z.string(), deletionTimestamp: z.number().nullish() })
const metaData = z.object({
  id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  schemaString: z.string(),
  partitionColumns: z.array(z.string()),
  configuration: texts,
  createdTime: z.number().nullish(),
})
export const action = z.object({
  add: add.nullish(),
  remove: remove.nullish(),
  metaData: metaData.nullish(),
  protocol: z.object({ minReaderVersion: z.number(), minWriterVersion: z.number() }).nullish(),
  commitInfo: z.object({ engineInfo: z.string().nullish(), txnId: z.string().nullish() }).nullish(),
})

/** A data file of a table. */
export type AddedFile = Readonly<z.infer<typeof add>>
/** Schema, partition columns and settings of a table. */
export type MetaData = Readonly<z.infer<typeof metaData>>
export type Action = Readonly<z.infer<typeof action>>

/** The format is the same for all tables. */
export function withFormat(one: Action) {
  if (!one.metaData) return one
  return { metaData: { ...one.metaData, format: { provider: 'parquet', options: {} } } }
}

// A classic checkpoint of version 1 (PROTOCOL.md, Checkpoint Schema): one row for each action, its other columns null. Spark's
// order of columns, since an engine once failed over another.

const optional = { repetition_type: 'OPTIONAL' } as const
const text = (name: string, repetition: 'OPTIONAL' | 'REQUIRED' = 'OPTIONAL'): SchemaElement => ({
  ...{ name, repetition_type: repetition, type: 'BYTE_ARRAY', converted_type: 'UTF8' },
})
const long = (name: string): SchemaElement => ({ ...optional, name, type: 'INT64' })
const int = (name: string): SchemaElement => ({ ...optional, name, type: 'INT32' })
const flag = (name: string): SchemaElement => ({ ...optional, name, type: 'BOOLEAN' })
/** `fields` has the elements of each field: a field of its own is a list of several. */
const group = (name: string, ...fields: readonly (readonly SchemaElement[])[]): SchemaElement[] => [
  { ...optional, name, num_children: fields.length },
  ...fields.flat(),
]
const map = (name: string): SchemaElement[] => [
  { ...optional, name, num_children: 1, converted_type: 'MAP' },
  { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
  text('key', 'REQUIRED'),
  text('value'),
]
const list = (name: string): SchemaElement[] => [
  { ...optional, name, num_children: 1, converted_type: 'LIST' },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  text('element'),
]

const columns: Readonly<Record<string, readonly SchemaElement[]>> = {
  txn: group('txn', [text('appId')], [long('version')], [long('lastUpdated')]),
  add: group(
    'add',
    ...[[text('path')], map('partitionValues'), [long('size')], [long('modificationTime')]],
    ...[[flag('dataChange')], map('tags'), [text('stats')]],
  ),
  remove: group(
    'remove',
    ...[[text('path')], [long('deletionTimestamp')], [flag('dataChange')]],
    ...[[flag('extendedFileMetadata')], map('partitionValues'), [long('size')]],
  ),
  metaData: group(
    'metaData',
    ...[[text('id')], [text('name')], [text('description')]],
    group('format', [text('provider')], map('options')),
    ...[[text('schemaString')], list('partitionColumns'), map('configuration')],
    [long('createdTime')],
  ),
  protocol: group('protocol', [int('minReaderVersion')], [int('minWriterVersion')]),
}
const names = Object.keys(columns)
const schema: SchemaElement[] = [
  { name: 'spark_schema', num_children: names.length },
  ...Object.values(columns).flat(),
]
const longs = ['size', 'modificationTime', 'deletionTimestamp', 'createdTime']

/** The bytes of a checkpoint. */
export function writeCheckpoint(actions: readonly Action[]): Uint8Array {
  const rows = actions.map((one) => withFormat(one) as Record<string, Record<string, unknown>>)
  const columnData = names.map((name) => ({
    name,
    data: rows.map((row) => (row[name] == null ? null : withLongs(row[name]))),
  }))
  return new Uint8Array(parquetWriteBuffer({ columnData, schema }))
}

function withLongs(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(row).map(([key, value]) => [
    key,
    longs.includes(key) && typeof value === 'number' ? BigInt(value) : value,
  ])
  return Object.fromEntries(entries)
}

/** The actions of a checkpoint as the log writes them. */
export async function readCheckpoint(bytes: Uint8Array): Promise<readonly unknown[]> {
  const buffer = new Uint8Array(bytes).buffer
  const rows = await parquetReadObjects({ file: buffer })
  return rows.map((row) => plain(row))
}

/** Numbers instead of bigints, and maps as objects. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
}
