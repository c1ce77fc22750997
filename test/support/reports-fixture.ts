import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RooftopConfig } from '#src/app/config/read.ts'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { importStock } from '#src/stock/import/import-stock.ts'
import { allStreams } from '#src/streams/all.ts'
import { stockPrices } from '#src/streams/stock-prices/stock-prices.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { dayMs, type Fixture, openLoadedFixture, runNight } from './fixture.ts'
import { temporaryFolder } from './temporary-folder.ts'

const march = new Date('2026-03-10T02:00:00Z')
const weekMs = 7 * dayMs

/**
 * A start from which the last list comes in within the last eight days, for pages that go by the clock of the machine. What the
 * sandbox generates depends on the day of the week and on the hour: this is always a Thursday at 03:00, so that each run has the
 * same vehicles.
 */
export function recentThursday(): Date {
  return new Date(Math.floor((Date.now() - 16 * dayMs) / weekMs) * weekMs + 3 * 3_600_000)
}

/** A warehouse that the product itself has loaded, as a user's is: two months of six rooftops, all streams, three stock lists each. */
export async function reportedFixture(seed = 7, evaluations = 300, now = march): Promise<Fixture> {
  const options = {
    sandbox: { seed, evaluations, days: 60, now },
    sync: { start: new Date(now.getTime() - 60 * dayMs).toISOString() },
    streams: allStreams,
  }
  const name = `reports_${seed}_${evaluations}_${now.getTime()}`
  return await openLoadedFixture(name, options, async (fixture) => {
    await fixture.night()
    for (const week of [0, 1, 2]) {
      for (const rooftop of fixture.config.rooftops) await importList(fixture, rooftop, week)
      fixture.sandbox.clock.advance((week === 2 ? 1 : 7) * dayMs)
      await runNight(fixture.context, [stockPrices])
    }
  })
}

/** Every third vehicle that was appraised comes in; prices are cut week by week, and some vehicles go. */
async function importList(fixture: Fixture, rooftop: RooftopConfig, week: number): Promise<void> {
  await using folder = await temporaryFolder()
  const file = join(folder.path, `stock-${rooftop.uid}-${week}.csv`)
  const units = boughtBy(fixture, rooftop.uid).filter((_, index) => week < 2 || index % 7 !== 0)
  const lines = units.map((unit, index) => lineOf(unit, index, week))
  await writeFile(
    file,
    ['Stock No,VIN,Make,Model,Year,Price,Date In Stock', ...lines, ''].join('\r\n'),
  )
  await importStock(
    {
      warehouse: {
        pool: fixture.database.pool,
        db: openDb(fixture.database.pool),
        config: fixture.config,
      },
      signal: neverAborted,
    },
    {
      ...{ file, rooftop, mode: 'snapshot', dryRun: false, maps: [], rejects: null },
      ...{
        allowMassRemoval: true,
        allowMassChange: true,
        importedBy: 'test',
        now: fixture.sandbox.clock.now(),
      },
    },
  )
}

const neverAborted = new AbortController().signal

function boughtBy({ sandbox }: Fixture, uid: string): Evaluation[] {
  return [...sandbox.world.evaluations()]
    .filter((evaluation) => evaluation.rooftopUid === uid && evaluation.completedAt !== null)
    .filter(({ vin }, index) => index % 3 === 0 && vin?.length === 17)
}

function lineOf(unit: Evaluation, index: number, week: number): string {
  const price = Math.round((unit.finalPrice ?? 20_000) * (1.15 - 0.02 * week * (index % 3)))
  const cameIn = new Date(unit.completedAt!.getTime() + 2 * dayMs).toISOString().slice(0, 10)
  return [`S${1000 + index}`, unit.vin, unit.make, unit.model, unit.year, price, cameIn].join(',')
}
