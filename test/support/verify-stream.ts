import type { Config } from '#src/app/config/read.ts'
import { type Verification, verifyStreams } from '#src/sync/verify/verify.ts'
import type { WindowedRecords } from '#src/sync/windows/windowed-records.ts'
import type { RooftopRow } from '#src/values/rooftop.ts'
import type { Db } from '#src/warehouse/db/transaction.ts'

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
