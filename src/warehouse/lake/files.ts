/** The rows of one file: of a rooftop and month, or of a whole table (both null). */
export interface Partition {
  readonly rooftop: number | null
  /** YYYY-MM */
  readonly month: string | null
}

/** As Hive writes a partition without a value. */
const noMonth = '__HIVE_DEFAULT_PARTITION__'

/** The path of a file; the name is the beginning of its digest, so that a changed file never replaces one that is being read. */
export function pathOf(table: string, { rooftop, month }: Partition, sha256: string): string {
  const name = `${sha256.slice(0, 24)}.parquet`
  if (rooftop === null) return `${table}/${name}`
  return `${table}/rooftop=${rooftop}/month=${month ?? noMonth}/${name}`
}

/** Whether an export has written a file with that path (below the prefix of the lake). */
export function isOwnFile(path: string): boolean {
  return /^[a-z\d_]+\/(rooftop=\d+\/month=(\d{4,}-\d\d|__HIVE_DEFAULT_PARTITION__)\/)?[\da-f]{24}\.parquet$/.test(
    path,
  )
}

/** One text for each partition. */
export function keyOf({ rooftop, month }: Partition): string {
  return `${rooftop ?? ''}/${month ?? ''}`
}
