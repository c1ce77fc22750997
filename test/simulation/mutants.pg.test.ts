import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { someOf } from '../support/cases.ts'
import { createTestDatabase } from '../support/postgres.ts'
import type { MutantName } from './mutants.ts'
import type { SimulationPlan } from './simulation.ts'
import { type Outcome, runInProcess } from './spawn.ts'
import { worldOf } from './world.ts'

const seed = 7
const timeoutMs = 600_000
// Each one is a process.
vi.setConfig({ maxConcurrency: 2 })
const plant = fileURLToPath(new URL('plant-mutant.ts', import.meta.url))

type Stage = Pick<SimulationPlan, 'settingsIndex' | 'worlds' | 'nights' | 'crash'>

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Worlds, of the first hundreds, in which a worker freezes. */
function haunted(count: number, nights: number): number[] {
  return range(400)
    .filter((index) => {
      const { zombieNight, rooftops, cap } = worldOf(seed, index, nights, true)
      return zombieNight !== null && rooftops === 1 && cap === null
    })
    .slice(0, count)
}

/** The world with the most early evaluations. Alone in its warehouse, each night has one slice with data to lose. */
function busiest(nights: number): number[] {
  const lives = (index: number) =>
    worldOf(seed, index, nights, false).lives.filter(({ completes }) => (completes ?? 1) < 0.1)
      .length
  return [range(100).reduce((best, index) => (lives(index) > lives(best) ? index : best))]
}

/** The smallest simulation that must detect each mutant; `settingsIndex` chooses the settings of its warehouse (settings.ts). */
const stages: Readonly<Record<Exclude<MutantName, 'nothing changed'>, Stage>> = {
  'no second of overlap': { settingsIndex: 2, worlds: range(8), nights: 10 },
  'checkpoint before rows': {
    ...{ settingsIndex: 2, worlds: busiest(12), nights: 12 },
    crash: { point: 'rows-written', nth: 1 },
  },
  'no lookback': { settingsIndex: 1, worlds: range(8), nights: 12 },
  'unfenced completion': { settingsIndex: 0, worlds: haunted(3, 8), nights: 8 },
  'children not replaced': { settingsIndex: 0, worlds: range(8), nights: 10 },
}

async function played(stage: Stage, mutant: MutantName): Promise<Outcome> {
  await using database = await createTestDatabase()
  const plan = { url: database.url, seed, ...stage }
  return await runInProcess(plan, {
    node: ['--import', plant],
    env: { FORECOURT_MUTANT: mutant },
  })
}

const planted = someOf(Object.keys(stages) as (keyof typeof stages)[], 1)

for (const name of planted)
  test.concurrent(
    `the simulation notices: ${name}`,
    async () => {
      const { code, report, stderr } = await played(stages[name], name)

      expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
      const [finding] = report!.findings
      expect(finding!.what).toMatch(
        /is missing|must not be stored|instead of|does not end|verify reports/,
      )
      // A mutant that cannot run is noticed for the wrong reason.
      expect(finding!.what).not.toMatch(/is not defined|is not a function/)
      console.log(`${name}: night ${finding!.night}: ${finding!.what.slice(0, 200)}`)
    },
    timeoutMs,
  )

/** Simulations in which a worker freezes, or every night crashes. These guards are tested in every run of the tests. */
const isLong = Number(process.env['FORECOURT_SIM_WORLDS'] ?? 0) >= 100
const guarded = isLong
  ? planted
  : someOf(['checkpoint before rows', 'unfenced completion'] as const, 1)

for (const name of guarded)
  test.concurrent(
    `a mutant that changes nothing is not noticed where this one is: ${name}`,
    async () => {
      const { code, report, stderr } = await played(stages[name], 'nothing changed')

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(report!.findings).toEqual([])
      if (name === 'unfenced completion') expect(report!.counts.fenced).toBeGreaterThan(0)
      if (name === 'checkpoint before rows') expect(report!.counts.deaths).toBe(stages[name].nights)
    },
    timeoutMs,
  )
