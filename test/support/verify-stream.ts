import type { Config } from '#src/config/read.ts'
import type { Db } from '#src/db/transaction.ts'
import { type Verification, verifyStreams } from '#src/pipeline/verify.ts'
import type { WindowedRecords } from '#src/pipeline/windowed-records.ts'
import type { RooftopRow } from '#src/values/rooftop.ts'

/** The verification of one rooftop. */
export async function verifyStream(
  db: Db,
  records: WindowedRecords,
  rooftop: RooftopRow,
  sync: Config['sync'],
  now = new Date(),
): Promise<Verification> {
  return (await verifyStreams(db, records, [rooftop], sync, now))[0]!
}
