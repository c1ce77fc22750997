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
  await tx.client.query(
    'delete from ops.data_quality where rooftop_id = $1 and stream = $2 and natural_key = any($3)',
    [rooftop.id, scope.stream, read],
  )
  if (warnings.length === 0) return
  // One warning per record and check is enough: the first.
  const distinct = [
    ...new Map(
      warnings.toReversed().map((each) => [`${each.naturalKey} ${each.check}`, each]),
    ).values(),
  ]
  await tx.client.query(
    `insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
     select $1, $2, key, check_name, detail, $6
     from unnest($3::text[], $4::text[], $5::text[]) as warning (key, check_name, detail)`,
    [
      rooftop.id,
      scope.stream,
      distinct.map(({ naturalKey }) => naturalKey),
      distinct.map(({ check }) => check),
      distinct.map(({ detail }) => storable(detail).slice(0, 300)),
      scope.runId,
    ],
  )
}
