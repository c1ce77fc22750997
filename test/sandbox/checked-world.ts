import type { CheckDraft } from '#src/sandbox/checks.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { ask, type AskAs } from './ask.ts'

export const now = new Date('2026-03-10T00:00:00Z')
export const dayMs = 86_400_000
const vin = 'JTMDFREV90D123456'
export const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs)

// A world of AU checks. Evaluation 1: in progress. 2: same VIN, other rooftop of the group. 3: same VIN, other group. 4: no VIN.
// 5: a short one. 6: vanished. 100 on: the sample VINs.
const vins: readonly (string | null)[] = [vin, vin, vin, null, 'SHORT']
export const rooftops = [
  aRooftop(),
  aRooftop({ uid: 'rooftop-2' }),
  aRooftop({ uid: 'rooftop-3', groupId: 'group-2', carHistory: false }),
  aRooftop({ uid: 'us', groupId: 'group-us', region: 'US' }),
]
export const evaluations = [
  ...vins.map((one, index) =>
    anEvaluation({
      evalId: index + 1,
      vin: one,
      completedAt: null,
      rooftopUid: ['rooftop-1', 'rooftop-2', 'rooftop-3'][index] ?? 'rooftop-1',
    }),
  ),
  anEvaluation({ evalId: 6, vanishedAt: daysAgo(1) }),
  ...Object.values(samples).map((sample, index) =>
    anEvaluation({ evalId: 100 + index, vin: sample.vin }),
  ),
]

/** Starts at `now`, with the clock frozen. */
export function start(options: SandboxOptions = {}) {
  const world = worldOf({ rooftops, evaluations })
  return startSandbox({ world, clock: new VirtualClock({ start: now, frozen: true }), ...options })
}

/** The evaluation with that sample VIN. */
export function sampleId(sample: { readonly vin: string }): number {
  return evaluations.find((evaluation) => evaluation.vin === sample.vin)!.evalId
}

export const search = (sandbox: Sandbox, evalid: unknown, as?: AskAs) =>
  ask(sandbox, '/ppsrsearch', { evalid }, as)

export async function watch(sandbox: Sandbox, evalid: number) {
  return (await ask(sandbox, '/ppsrwatch', { evalid })).json as {
    WatchStatus: string
    Checks: { ID: number; WatchStatus: string; CheckedAt: string }[]
  }
}

/** The items of a past-checks operation. */
export async function past(sandbox: Sandbox, path: string, evalid: number, as?: AskAs) {
  return (await ask(sandbox, path, { evalid }, as)).json as Record<string, unknown>[]
}

/** A PPSR search on evaluation 1, made a day before `now`. */
export function aCheck(draft: Partial<CheckDraft> = {}): CheckDraft {
  const base = { kind: 'ppsr', groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1 } as const
  return { ...base, vin, searchedAt: daysAgo(1), ...draft }
}
