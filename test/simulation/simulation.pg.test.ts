import pLimit from 'p-limit'
import { expect, test } from 'vitest'
import { caseCount } from '../support/cases.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { allSettings } from './settings.ts'
import type { SimulationPlan } from './simulation.ts'
import { type Outcome, runInProcess } from './spawn.ts'
import { worldOf } from './world.ts'

/** `npm run test:faults` sets the count; `npm test` uses a few worlds. */
const worlds = Number(process.env['FORECOURT_SIM_WORLDS'] ?? caseCount(12, 2))
const isLong = worlds >= 100
const given = process.env['FORECOURT_SIM_NIGHTS']
/** Many worlds for two weeks, and a twentieth of them for two months: seven minutes on two cores. */
const passes =
  isLong && given === undefined
    ? [
        { worlds, nights: 15 },
        { worlds: Math.ceil(worlds / 20), nights: 60 },
      ]
    : [{ worlds, nights: Number(given ?? caseCount(15, 6)) }]
const seed = Number(process.env['FORECOURT_SEED'] ?? (isLong ? Date.now() % 1_000_000_000 : 1))
/** Replays one world alone, reduced to what its failure needs. */
const only = process.env['FORECOURT_SIM_WORLD']

type Plan = Omit<SimulationPlan, 'url'>

/** The number of a world decides its settings, so that it can be replayed alone. */
const settingsOf = (world: number) => world % allSettings.length

const replayOf = (world: number, nights: number) =>
  `FORECOURT_SEED=${seed} FORECOURT_SIM_NIGHTS=${nights} FORECOURT_SIM_WORLD=${world}`

async function play(plan: Plan): Promise<Outcome> {
  await using database = await createTestDatabase()
  return await runInProcess({ ...plan, url: database.url })
}

/** The first difference of each failed world, with the command to replay it; empty when all mornings were as expected. */
function complaints({ code, report, stderr }: Outcome, nights: number): string[] {
  if (report === null) return [`a process ended with ${code}: ${stderr}`]
  return report.findings.map(
    ({ world, night, what }) => `${replayOf(world, nights)}: night ${night}: ${what}`,
  )
}

test.runIf(only === undefined).each(passes)(
  'the warehouse is as expected every morning of $nights nights, in $worlds worlds',
  async ({ worlds, nights }) => {
    console.log(`the simulation has FORECOURT_SEED=${seed}`)
    const atOnce = pLimit(isLong ? 4 : 2)
    const plans = allSettings.keys().map((settingsIndex) => ({
      ...{ seed, settingsIndex, nights },
      worlds: Array.from({ length: worlds }, (_, world) => world).filter(
        (world) => settingsOf(world) === settingsIndex,
      ),
    }))

    const outcomes = await Promise.all(
      [...plans].map((plan) => atOnce(async () => await play(plan))),
    )

    expect(outcomes.flatMap((outcome) => complaints(outcome, nights))).toEqual([])
    for (const { report } of outcomes) console.log(JSON.stringify(report!.counts))
    expect(outcomes.map(({ report }) => report!.counts.nights)).toEqual(
      allSettings.map(() => nights),
    )
    if (isLong) for (const { report } of outcomes) expect(report!.counts.deaths).toBeGreaterThan(0)
  },
  isLong ? 3_600_000 : 600_000,
)

test.runIf(only !== undefined)(
  `world ${only} alone is as promised every morning`,
  async () => {
    const [world, nights] = [Number(only), passes.at(-1)!.nights]
    const plan = { seed, settingsIndex: settingsOf(world), worlds: [world], nights }
    const outcome = await play(plan)
    const found = complaints(outcome, nights)

    if (found.length > 0) found.push(await smaller(plan, nights))
    expect(found).toEqual([])
  },
  3_600_000,
)

/** Reduces a failing world: leaves lives out one by one, as long as it still fails. */
async function smaller(plan: Plan, nights: number): Promise<string> {
  const { lives } = worldOf(seed, plan.worlds[0]!, nights, true)
  let without: number[] = []
  let last = ''
  for (const place of lives.keys()) {
    const tried = [...without, place]
    const [complaint] = complaints(await play({ ...plan, without: tried }), nights)
    if (complaint === undefined) continue
    without = tried
    last = complaint
  }
  const left = lives.filter((_, place) => !without.includes(place))
  return `it still fails with these lives alone: ${JSON.stringify(left)}; ${last}`
}
