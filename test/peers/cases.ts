import { seededRandom } from '#src/sandbox/seeded-random.ts'
import type { Difference } from './compare.ts'
import type { NightChanges, NightFigures, Run } from './course.ts'
import type { WorldPlan } from './world.ts'

/** What a run found: a column each. Numbers of several runs are shown as median and range. */
export type Figures = Readonly<Record<string, number | string | null>>

/** Makes a run with a fresh database. */
type NewRun = () => Promise<Run>

export interface Case {
  readonly name: string
  readonly what: string
  /** Counted, not timed: measured once. */
  readonly once?: true
  plan(size: number): WorldPlan
  measure(newRun: NewRun, size: number): Promise<Figures>
}

const usual = { rooftops: 5, days: 28, keys: 'one', nights: 1 } as const
const share = (size: number, of: number, least = 20) => Math.max(least, Math.round(size * of))

/** A night measured and compared; what the nights before it used does not count. */
async function oneNight(
  newRun: NewRun,
  night: number,
  changes: NightChanges = {},
): Promise<Figures> {
  await using run = await newRun()
  for (let before = 0; before < night; before += 1) {
    await run.open(before, changes)
    await run.night()
  }
  await run.open(night, changes)
  const figures = await run.night()
  return { ...nightFigures(figures), ...differences(await run.compare()) }
}

/** The differences of each morning, from the first to the last. */
async function nights(newRun: NewRun, count: number, changes: NightChanges): Promise<Figures> {
  await using run = await newRun()
  const mornings: Difference[] = []
  const figures: NightFigures[] = []
  for (let night = 0; night < count; night += 1) {
    await run.open(night, changes)
    figures.push(await run.night())
    mornings.push(await run.compare())
  }
  const list = (name: 'missing' | 'stale' | 'extra' | 'doubled') =>
    mornings.map((morning) => morning[name]).join(' ')
  const later = figures.slice(1)
  const sum = (pick: (one: NightFigures) => number) =>
    later.reduce((total, one) => total + pick(one), 0)
  return {
    exits: figures.map(({ exit }) => exit).join(' '),
    ...{ missing: list('missing'), stale: list('stale'), extra: list('extra') },
    doubled: list('doubled'),
    'requests of the nights after the first': sum(({ requests }) => countRequests(requests)),
    'rows rewritten in them': sum(({ postgres }) => postgres.updated + postgres.deleted),
    examples: mornings.at(-1)!.examples.join('; '),
  }
}

const timedNight = (daily: NonNullable<WorldPlan['daily']>) => (size: number) => ({
  ...{ ...usual, evaluations: size, nights: 2, daily },
})
const quietNight = timedNight({})
const usualNight = timedNight({ created: 0.01, edited: 0.01 })
const life = (size: number): WorldPlan => ({
  ...{ ...usual, evaluations: share(size, 0.1), nights: 12, late: 0.1 },
  daily: { created: 1 / 28, edited: 0.02, deleted: 0.005, moved: 0.005 },
})

const kills = 12
const maxRecoveries = 3

export const cases: readonly Case[] = [
  {
    name: 'first-load',
    what: 'a first load',
    plan: (size) => ({ ...usual, evaluations: size }),
    measure: (newRun) => oneNight(newRun, 0),
  },
  {
    name: 'first-load-100ms',
    what: 'a first load from a source that takes 100 ms for an answer',
    plan: (size) => ({ ...usual, evaluations: size }),
    measure: (newRun) => oneNight(newRun, 0, { faults: [{ fault: { kind: 'slow', ms: 100 } }] }),
  },
  {
    name: 'empty-night',
    what: 'a night in which nothing has happened: what the start costs',
    plan: quietNight,
    measure: (newRun) => oneNight(newRun, 1),
  },
  {
    name: 'night',
    what: 'a night after a day with 1 % new and 1 % edited, of any age',
    plan: usualNight,
    measure: (newRun) => oneNight(newRun, 1),
  },
  {
    name: 'night-plain-list',
    what: 'the same where items of the list have no UpdatedAt',
    plan: usualNight,
    measure: (newRun) => oneNight(newRun, 1, { listShowsUpdates: false }),
  },
  {
    name: 'twelve-nights',
    what: '12 nights of late completions, edits, deletes and moves; each morning from the first to the last',
    once: true,
    plan: life,
    measure: (newRun) => nights(newRun, 12, {}),
  },
  {
    name: 'twelve-nights-plain-list',
    what: 'the same where items of the list have no UpdatedAt',
    once: true,
    plan: life,
    measure: (newRun) => nights(newRun, 12, { listShowsUpdates: false }),
  },
  {
    name: 'cut-list',
    what: 'a list is cut at 400 of 20,000 without a sign; a rooftop with all of them in two weeks',
    once: true,
    plan: (size) => ({ ...usual, rooftops: 1, days: 14, evaluations: size }),
    measure: (newRun, size) => {
      const cap = Math.max(4, Math.round(size * 0.02))
      return oneNight(newRun, 0, { faults: [{ fault: { kind: 'listCap', cap, order: 'newest' } }] })
    },
  },
  {
    name: 'kills',
    what: 'a first load that is killed at 12 places, then the same command until it ends with 0, at most three times',
    once: true,
    plan: (size) => ({ ...usual, evaluations: share(size, 0.1) }),
    measure: killAndRecover,
  },
  {
    name: 'broken-record',
    what: '1 of 1,000 evaluations is broken: cut answer, 400, or fields of another type; only the others are compared',
    once: true,
    plan: (size) => ({ ...usual, evaluations: size }),
    measure: (newRun, size) =>
      oneNight(newRun, 0, { brokenEvery: Math.min(1000, Math.floor(share(size, 1) / 4)) }),
  },
  {
    name: 'faults',
    what: '1 % of the answers are 500, 1 % are 429 with Retry-After 1',
    plan: (size) => ({ ...usual, evaluations: share(size, 0.25) }),
    measure: (newRun) =>
      oneNight(newRun, 0, {
        faults: [
          { probability: 0.01, fault: { kind: 'status', status: 500 } },
          { probability: 0.01, fault: { kind: 'tooMany', retryAfter: 1 } },
        ],
      }),
  },
  {
    name: 'hard-limit',
    what: 'at most 40 requests a second, beyond them 429 with Retry-After 1',
    plan: (size) => ({ ...usual, evaluations: share(size, 0.1, 200) }),
    measure: (newRun) =>
      oneNight(newRun, 0, {
        faults: [{ beyondPerSecond: 40, fault: { kind: 'tooMany', retryAfter: 1 } }],
      }),
  },
  {
    name: 'dead-key',
    what: 'one of five keys is dead; only the other rooftops are compared',
    once: true,
    plan: (size) => ({ ...usual, keys: 'each', evaluations: share(size, 0.25) }),
    measure: (newRun) => oneNight(newRun, 0, { deadKey: 2 }),
  },
  {
    name: 'big-day',
    what: 'a rooftop with three times as many in one day',
    plan: (size) => ({ ...usual, rooftops: 1, days: 1, evaluations: size * 3 }),
    measure: (newRun) => oneNight(newRun, 0),
  },
]

/** Kills at the same shares of the requests for every peer. */
async function killAndRecover(newRun: NewRun): Promise<Figures> {
  const total = await requestsOfCleanRun(newRun)
  const random = seededRandom(1, 'kills')
  const found: { recoveries: number; seconds: number; difference: Difference }[] = []
  for (let nth = 0; nth < kills; nth += 1) {
    await using run = await newRun()
    await run.open(0)
    await run.night({ killAfter: Math.max(1, Math.floor((total * (nth + random.next())) / kills)) })
    let [recoveries, seconds, exit] = [0, 0, 1]
    while (exit !== 0 && recoveries < maxRecoveries) {
      const figures = await run.night()
      exit = figures.exit
      seconds += figures.seconds
      recoveries += 1
    }
    found.push({ recoveries, seconds, difference: await run.compare() })
  }
  const sum = (pick: (one: Difference) => number) =>
    found.reduce((total, { difference }) => total + pick(difference), 0)
  const seconds = found.map((one) => one.seconds).sort((a, b) => a - b)
  return {
    lost: sum(({ missing }) => missing),
    doubled: sum(({ doubled }) => doubled),
    wrong: sum(({ extra, stale }) => extra + stale),
    'seconds to recover, median': seconds[Math.floor(kills / 2)]!,
    'seconds to recover, longest': seconds.at(-1)!,
    'recovery commands': found.map(({ recoveries }) => recoveries).join(' '),
    examples: found.flatMap(({ difference }) => difference.examples.slice(0, 1)).join('; '),
  }
}

async function requestsOfCleanRun(newRun: NewRun): Promise<number> {
  await using run = await newRun()
  await run.open(0)
  return countRequests((await run.night()).requests)
}

function countRequests(requests: Readonly<Record<string, number>>, pattern = /./): number {
  return Object.entries(requests).reduce(
    (sum, [name, count]) => sum + (pattern.test(name) ? count : 0),
    0,
  )
}

function nightFigures({ requests, postgres, ...used }: NightFigures): Figures {
  return {
    ...{ exit: used.exit, seconds: used.seconds, 'CPU s': used.cpuSeconds },
    ...{ 'memory MB': used.memoryMb, ...postgres },
    lists: countRequests(requests, /^\/getevallist /),
    reads: countRequests(requests, /^\/geteval /),
    'refused %': (100 * countRequests(requests, / 429$/)) / Math.max(1, countRequests(requests)),
    ...{ requests: JSON.stringify(requests), log: used.log },
  }
}

function differences({ examples, ...counts }: Difference): Figures {
  return { ...counts, examples: examples.join('; ') }
}
