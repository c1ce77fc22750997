import type pg from 'pg'
import { expect } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { allStreams } from '#src/streams/all.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { duplicateIds, isProved } from '#src/sync/verify/verify.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import type { ChildFixture } from './child-fixture.ts'
import { verifyStream } from './verify-stream.ts'

/** What `verify` proves, in this process: 0 gaps, 0 overlaps, sums that hold, nothing twice. Gives the number of windows. */
export async function provedWindows(pool: pg.Pool, { sandbox }: ChildFixture): Promise<number> {
  const config = makeConfig({ ...sandbox.clientConfig() }, '/nowhere')
  const db = openDb(pool)
  const rooftops = await registerRooftops(db, config.rooftops)
  let windows = 0
  for (const records of allStreams.flatMap((stream) => stream.records ?? []))
    for (const rooftop of rooftops) {
      const found = await verifyStream(db, records, rooftop, config.sync, new Date())
      expect(found, JSON.stringify(found)).toSatisfy(isProved)
      windows += found.windows
    }
  expect(await duplicateIds(db)).toEqual([])
  return windows
}
