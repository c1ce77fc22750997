import type { Config } from '../../app/config/read.ts'
import type { Log } from '../../log.ts'
import { fromUnixSeconds, toUnixSeconds } from '../../values/unix-seconds.ts'
import { embeddedStatus } from '../../warehouse/db/embedded.ts'
import { assertSchemaCurrent, migrationStatus } from '../../warehouse/db/migrate.ts'
import { connectWarehouse, embeddedFolder } from '../../warehouse/warehouse.ts'
import type { DueReason } from '../windows/due-windows.ts'
import { findRooftops } from './rooftops.ts'
import type { Run } from './run-ledger.ts'
import { planUntilNow, type RunRequest } from './start-run.ts'
import type { CallPlan } from './stream.ts'

/** What a run would do with a stream of a rooftop. */
export interface PlannedWork {
  readonly stream: string
  readonly rooftop: string
  /** Windows that are not settled, and how many of them were never listed. */
  readonly gap: number
  readonly unlisted: number
  readonly recheck: number
  readonly deep: number
  readonly expectedLists: number
  /** null: not known, as nothing was listed yet. */
  readonly expectedReads: number | null
  /** Newest first, the first `mostShown`; ISO. */
  readonly windows: readonly { from: string; until: string; reason: DueReason }[]
  /** How many more there are; left out when that is all. */
  readonly windowsOmitted?: number
}

const maxShown = 1000

/**
 * The plan of a run: windows by reason and the calls to expect, from what earlier windows held. Calls nothing and writes
 * nothing; it uses our clock instead of the source's. `isNew`: the warehouse does not exist yet, so nothing is covered.
 */
export async function planRun(
  config: Config,
  log: Log,
  request: RunRequest,
): Promise<{ readonly plan: readonly PlannedWork[]; readonly isNew: boolean }> {
  await using warehouse = await findWarehouse(config, log)
  const db = warehouse?.db ?? null
  const now = toUnixSeconds(new Date())
  const begins = { runId: -1, status: 'running', startedAt: new Date(), sourceStart: now } as const
  const run: Run = { lane: 'foreground', ...planUntilNow(request.plan, now), ...begins }
  const known = db ? await findRooftops(db, config.rooftops) : []
  const plan: PlannedWork[] = []
  for (const stream of request.streams) {
    for (const { uid } of request.rooftops) {
      const rooftop = known.find((one) => one.uid === uid && one.id !== 0) ?? null
      const group = known.filter((one) => one.groupId === rooftop?.groupId)
      const siblings = group.map(({ id }) => id)
      const calls = await stream.plan({ db, config, run, rooftop, siblings })
      plan.push(plannedWork(stream.name, uid, calls))
    }
  }
  return { plan, isNew: db === null }
}

/** The warehouse as it is; null when it does not exist yet or has no tables. UsageError when its schema is an older one. */
async function findWarehouse(config: Config, log: Log) {
  if (config.warehouse.url === null && !(await embeddedStatus(embeddedFolder(config))).initialised)
    return null
  const warehouse = await connectWarehouse(config, log)
  try {
    const { version } = await migrationStatus(warehouse.pool)
    if (version > 0) {
      await assertSchemaCurrent(warehouse.pool)
      return warehouse
    }
  } catch (error) {
    await warehouse[Symbol.asyncDispose]()
    throw error
  }
  await warehouse[Symbol.asyncDispose]()
  return null
}

function plannedWork(
  stream: string,
  rooftop: string,
  { lists, reads, windows = [], unlisted = 0 }: CallPlan,
): PlannedWork {
  const count = (reason: DueReason) => windows.filter((window) => window.reason === reason).length
  return {
    ...{ stream, rooftop, gap: count('gap'), recheck: count('recheck'), deep: count('deep') },
    ...{ unlisted, expectedLists: lists, expectedReads: reads },
    windows: windows.slice(0, maxShown).map(({ from, until, reason }) => ({
      from: fromUnixSeconds(from).toISOString(),
      until: fromUnixSeconds(until).toISOString(),
      reason,
    })),
    ...(windows.length > maxShown ? { windowsOmitted: windows.length - maxShown } : {}),
  }
}
