import { openContext } from '#src/open-context.ts'
import { allStreams } from '#src/streams/all.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { dayMs, type Fixture, openFixture, runNight } from '../support/fixture.ts'
import { type ConsoleFixture, openConsole } from '../web/console/console-fixture.ts'
import { fillScale } from './fill/fill.ts'
import { rooftops } from './fill/step.ts'

/** While pages are worked on: the url of an empty database, which is filled once and used again. */
const reused = process.env['FORECOURT_SCALE_DATABASE'] ?? ''

/** A console over 50 rooftops of 25 dealer groups, or as many as are set, with a million evaluations. */
export async function openScale(): Promise<ConsoleFixture> {
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const start = new Date(now.getTime() - 2 * 365 * dayMs).toISOString()
  const fixture = await openFixture({
    sandbox: { seed: 7, rooftops, evaluations: Math.round(7500 / rooftops), days: 8, now },
    sync: { start, windowHours: 744 },
    streams: allStreams,
  })
  const filled = reused === '' ? fixture : await withDatabase(fixture, reused)
  const { rows } = await filled.database.pool.query(
    `select to_regclass('scale.place') is not null as "isFilled"`,
  )
  if (rows[0].isFilled !== true) {
    const startedAt = performance.now()
    // The first night registers the rooftops, and loads a few rows as they come from the source.
    await filled.night()
    await fillScale(filled.database.pool)
    console.log(`Filled in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  }
  return await openConsole({ fixture: filled })
}

async function withDatabase(fixture: Fixture, url: string): Promise<Fixture> {
  const config = { ...fixture.config, warehouse: { ...fixture.config.warehouse, url } }
  const context = await openContext(config, fixture.context.log)
  const pool = await openPool(url, { applicationName: 'test' })
  return {
    ...{ ...fixture, config, context },
    night: async () => await runNight(context, allStreams),
    database: { ...fixture.database, url, pool },
    [Symbol.asyncDispose]: async () => {
      await context[Symbol.asyncDispose]()
      await pool.end()
      await fixture[Symbol.asyncDispose]()
    },
  }
}
