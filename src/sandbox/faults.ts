import { z } from 'zod'
import { instant } from '../api/contract/fields.ts'
import { type LoggedRequest, loggedPath } from './request-log.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'

const maxBytes = 2 ** 31

/** Faults. `slow` and `listCap` still give the answer; the others replace it. */
const fault = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(200).max(599),
    /** Sent as JSON, text as it is; default `{ error }`. */
    body: z.unknown().exactOptional(),
    headers: z.record(z.string(), z.string()).exactOptional(),
  }),
  // 429, with `retryAfter` in seconds or as a date; none when left out or null.
  z.strictObject({
    kind: z.literal('tooMany'),
    retryAfter: z
      .union([z.number().min(0), instant.transform((iso) => new Date(iso))])
      .nullable()
      .exactOptional(),
  }),
  // Cuts the connection without an answer.
  z.strictObject({ kind: z.literal('reset') }),
  // Waits (real milliseconds, and no longer than the rule is in force), then answers.
  z.strictObject({ kind: z.literal('slow'), ms: z.int().min(0).max(600_000) }),
  // The first half of the answer, with its own content-length and status 200.
  z.strictObject({ kind: z.literal('truncate') }),
  // A maintenance page with status 200; status 200 and no byte.
  z.strictObject({ kind: z.literal('html') }),
  z.strictObject({ kind: z.literal('empty') }),
  // Cuts the list of `/getevallist` without a sign; matches no other path.
  z.strictObject({
    kind: z.literal('listCap'),
    cap: z.int().min(0),
    order: z.enum(['newest', 'oldest', 'arbitrary']),
  }),
  // The answer, padded with spaces to this many bytes (sent in chunks, no content-length).
  z.strictObject({ kind: z.literal('oversize'), bytes: z.int().min(1).max(maxBytes) }),
])
export type Fault = z.output<typeof fault>

/** Every kind of fault, with the names of its settings. */
export const faultKinds = fault.options.map(({ shape: { kind, ...settings } }) => ({
  kind: kind.value,
  settings: Object.keys(settings),
}))

/** A fault and the requests that it hits. A condition that is left out matches anything. */
export const faultRule = z.strictObject({
  match: z
    .strictObject({
      /** Without `/v1`, e.g. `/geteval`. */
      path: z.string().startsWith('/').exactOptional(),
      rooftopUid: z.string().exactOptional(),
      /** Name of the key. */
      key: z.string().exactOptional(),
      /** `evalid` of the request body. */
      evalId: z.int().exactOptional(),
      /** Numbers of the matching requests to which the rule applies; the first is 1. */
      nth: z.array(z.int().min(1)).readonly().exactOptional(),
    })
    .exactOptional(),
  /** Maximum number of hits; default: no limit. */
  times: z.int().min(0).exactOptional(),
  /** Seeded; default 1. */
  probability: z.number().min(0).max(1).exactOptional(),
  /** A hard limit: hits only matching requests beyond this number in any second of real time. */
  beyondPerSecond: z.int().min(1).exactOptional(),
  fault,
})
export type FaultRule = z.output<typeof faultRule>

/** A rule that is in force. */
interface FaultHandle {
  /** Number of hits, including requests that still wait for their answer. */
  readonly hits: number
  /** Removes the rule; requests that it delays are answered at once. */
  remove(): void
}

/** The fault that hits a request. */
interface FaultHit {
  readonly fault: Fault
  /** Aborted when the rule is removed. */
  readonly removed: AbortSignal
}

/** The facts of a request with which rules are compared. */
interface FaultTarget extends Pick<LoggedRequest, 'path' | 'rooftopUid' | 'key'> {
  readonly evalId: unknown
}

interface ActiveRule {
  readonly rule: FaultRule
  readonly random: SeededRandom
  readonly lift: AbortController
  /** performance.now() of the requests of the last second that a limit let through. */
  passed: number[]
  matched: number
  struck: number
}

/** The rules in force, tried in order; the first that hits decides. */
export class FaultPlan {
  #active: ActiveRule[] = []
  #added = 0
  readonly #seed: number

  constructor(rules: readonly FaultRule[] = [], seed = 1) {
    this.#seed = seed
    for (const rule of rules) this.add(rule)
  }

  /** Adds a rule after those in force. */
  add(rule: FaultRule): FaultHandle {
    const random = seededRandom(this.#seed, `fault ${this.#added++}`)
    const lift = new AbortController()
    const active: ActiveRule = { rule, random, lift, passed: [], matched: 0, struck: 0 }
    this.#active.push(active)
    return {
      get hits() {
        return active.struck
      },
      remove: () => {
        this.#active = this.#active.filter((other) => other !== active)
        lift.abort()
      },
    }
  }

  clear(): void {
    const lifted = this.#active
    this.#active = []
    for (const { lift } of lifted) lift.abort()
  }

  /** The fault that hits this request, if any. Each call counts as a request. */
  nextFault(target: FaultTarget): FaultHit | undefined {
    for (const active of this.#active) {
      const { match = {}, times, probability = 1, beyondPerSecond, fault } = active.rule
      if (!matches(match, fault, target)) continue
      active.matched++
      if (match.nth !== undefined && !match.nth.includes(active.matched)) continue
      if (times !== undefined && active.struck >= times) continue
      if (probability < 1 && !active.random.chance(probability)) continue
      if (beyondPerSecond !== undefined && passesLimit(active, beyondPerSecond)) continue
      active.struck++
      return { fault, removed: active.lift.signal }
    }
    return undefined
  }
}

function matches(
  match: NonNullable<FaultRule['match']>,
  fault: Fault,
  target: FaultTarget,
): boolean {
  if (fault.kind === 'listCap' && target.path !== '/getevallist') return false
  return (
    (match.path === undefined || loggedPath(match.path) === target.path) &&
    (match.rooftopUid === undefined || match.rooftopUid === target.rooftopUid) &&
    (match.key === undefined || match.key === target.key) &&
    (match.evalId === undefined || match.evalId === target.evalId)
  )
}

function passesLimit(active: ActiveRule, perSecond: number): boolean {
  const now = performance.now()
  active.passed = active.passed.filter((at) => now - at < 1000)
  if (active.passed.length >= perSecond) return false
  active.passed.push(now)
  return true
}
