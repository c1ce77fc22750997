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
