import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { MetaData } from './delta-actions.ts'
import { ownerSetting } from './lake-state.ts'
import { monthColumn } from './paths.ts'
import type { LakeTable } from './tables.ts'

interface LakeSettings {
  readonly warehouse: string
  readonly martVersion: string
  readonly keepHours: number
  readonly at: number
}

/** The metadata of a table when it differs from the last one; null: it is the same. */
export function changedMetaData(
  table: LakeTable,
  last: MetaData | null,
  { warehouse, martVersion, keepHours, at }: LakeSettings,
): MetaData | null {
  const columns = table.columns.map(({ name, deltaType, comment }) =>
    field(name, deltaType, comment),
  )
  const month = field(
    monthColumn,
    'string',
    'Month of the row (YYYY-MM), for engines that leave files out',
  )
  const isPartitioned = table.month !== null
  const retention = `interval ${keepHours} hours`
  const next = {
    id: last?.id ?? randomUUID(),
    name: table.name,
    description: table.comment,
    schemaString: JSON.stringify({
      type: 'struct',
      fields: isPartitioned ? [...columns, month] : columns,
    }),
    partitionColumns: isPartitioned ? [monthColumn] : [],
    configuration: {
      'delta.logRetentionDuration': retention,
      'delta.deletedFileRetentionDuration': retention,
      'delta.dataSkippingStatsColumns': table.columns
        .filter(({ statistic }) => statistic !== null)
        .map(({ name }) => name)
        .join(','),
      'forecourt.martVersion': martVersion,
      [ownerSetting]: warehouse,
    },
    createdTime: last?.createdTime ?? at,
  }
  return isDeepStrictEqual(next, last === null ? null : withoutNulls(last)) ? null : next
}

/** A checkpoint gives back what it has with more fields than were written. */
function withoutNulls({ id, name, description, ...rest }: MetaData) {
  const { schemaString, partitionColumns, configuration, createdTime } = rest
  return {
    ...{ id, name, description: description ?? null },
    ...{ schemaString, partitionColumns, configuration, createdTime },
  }
}

/** Nullable, since a view promises nothing: only the statistics say what a file has. */
function field(name: string, type: string, comment: string | null) {
  return { name, type, nullable: true, metadata: comment === null ? {} : { comment } }
}
