import type { StockDoor } from '../console/stock/stock-door.ts'
import type { Context } from '../context.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import { UsageError } from '../errors.ts'
import { fieldChoices } from '../stock/upload/plain-words.ts'
import { StockUploads } from '../stock/upload/stock-uploads.ts'
import { allStreams } from '../streams/all.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import type { BackgroundRuns } from './background-runs.ts'
import { exportOriginal, exportRejected } from './export-view.ts'

/** What the console asks of the stock. */
export function stockDoor(context: Context, runs: BackgroundRuns): StockDoor {
  const { pool, config, signal } = context
  const uploads = new StockUploads({ warehouse: { pool, config }, signal })
  return {
    fields: fieldChoices,
    add: (list) => uploads.add(list),
    check: (id, options) => uploads.check(id, options),
    map: (id, chosen) => uploads.map(id, chosen),
    import: (id, by) => uploads.import(id, by),
    drop: (id) => uploads.drop(id),
    textOf: (importId, rows) => uploads.textOf(importId, rows),
    exportOriginal,
    exportRejected,
    reprice: async (uid) => await reprice(context, runs, uid),
    forgetMapping: async (rooftopId, fingerprint) => {
      await pool.query('delete from ops.stock_mapping where rooftop_id = $1 and fingerprint = $2', [
        rooftopId,
        fingerprint,
      ])
    },
  }
}

async function reprice({ config }: Context, runs: BackgroundRuns, uid: string): Promise<number> {
  if (config.vehicleData.apiKey === null)
    throw new UsageError(
      'Nothing can be priced: the config has no vehicleData.apiKey. An engineer sets it.',
    )
  const from = toUnixSeconds(config.sync.start)
  const plan = { command: 'reprice', mode: 'reprice', from, until: null } as const
  const streams = allStreams.filter(({ name }) => name === 'stock-prices')
  return await runs.start({ plan, streams, rooftops: chooseRooftops(config, [uid]) })
}
