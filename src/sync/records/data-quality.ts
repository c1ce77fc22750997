import { sql } from 'kysely'
import type { RecordWarning } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'

/** A record that was loaded, but contradicts itself or the document. */
export interface Warning extends RecordWarning {
  readonly naturalKey: string
}

/** Replaces the warnings of the records that were read. A record that was corrected has no warning any more. */
export async function recordWarnings(
  tx: Tx,
  scope: { readonly stream: string; readonly runId: number },
  rooftop: RooftopRow,
  read: readonly string[],
  warnings: readonly Warning[],
): Promise<void> {
  if (read.length === 0) return
  await sql`
    delete from ops.data_quality
    where rooftop_id = ${rooftop.id} and stream = ${scope.stream}
      and natural_key = any(${read})`.execute(tx.db)
  if (warnings.length === 0) return
  // One warning per record and check is enough: the first.
  const distinct = [
    ...new Map(
      warnings.toReversed().map((each) => [`${each.naturalKey} ${each.check}`, each]),
    ).values(),
  ]
  await sql`
    insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
    select ${rooftop.id}, ${scope.stream}, key, check_name, detail, ${scope.runId}
    from unnest(${distinct.map(({ naturalKey }) => naturalKey)}::text[], ${distinct.map(({ check }) => check)}::text[],
      ${distinct.map(({ detail }) => storable(detail).slice(0, 300))}::text[])
      as warning (key, check_name, detail)`.execute(tx.db)
}
