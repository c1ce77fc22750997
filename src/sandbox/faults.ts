import { type SeededRandom, seededRandom } from './seeded-random.ts'

/** The part of a list that a silent cap returns. */
export type CapOrder = 'newest' | 'oldest' | 'arbitrary'

/** A fault. `slow` and `listCap` still give the answer; the others replace it. */
export type Fault =
  | {
      readonly kind: 'status'
      readonly status: number
      /** Sent as JSON, text as it is; default `{ error }`. */
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  /** 429; `retryAfter` in seconds or as a date, none when left out or null. */
  | { readonly kind: 'tooMany'; readonly retryAfter?: number | Date | null }
  /** Cuts the connection without an answer. */
  | { readonly kind: 'reset' }
  /** Waits (real milliseconds, and no longer than the rule is in force), then answers. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** The first half of the answer, with its own content-length and status 200. */
  | { readonly kind: 'truncate' }
  /** A maintenance page with status 200. */
  | { readonly kind: 'html' }
  /** Status 200 and no byte. */
  | { readonly kind: 'empty' }
  /** Cuts the list of `/getevallist` without a sign; matches no other path. */
  | { readonly kind: 'listCap'; readonly cap: number; readonly order: CapOrder }
  /** The answer, padded with spaces to this many bytes (sent in chunks, no content-length). */
  | { readonly kind: 'oversize'; readonly bytes: number }

/** The requests to which a rule applies; a condition that is left out matches anything. */
export interface FaultMatch {
  /** Without `/v1`, e.g. `/geteval`. */
  readonly path?: string
  readonly rooftopUid?: string
  /** Name of the key. */
  readonly key?: string
  /** `evalid` of the request body. */
  readonly evalId?: number
  /** Numbers of the matching requests to which the rule applies; the first is 1. */
  readonly nth?: readonly number[]
}

/** A fault and the requests that it hits. */
export interface FaultRule {
  readonly match?: FaultMatch
  /** Maximum number of hits; default: no limit. */
  readonly times?: number
  /** Seeded; default 1. */
  readonly probability?: number
  readonly fault: Fault
}

/** A rule that is in force. */
export interface FaultHandle {
  /** Number of hits, including requests that still wait for their answer. */
  readonly hits: number
  /** Removes the rule; requests that it delays are answered at once. */
  remove(): void
}

/** The fault that hits a request. */
export interface FaultHit {
  readonly fault: Fault
  /** Aborted when the rule is removed. */
  readonly removed: AbortSignal
}

/** The facts of a request with which rules are compared. */
export interface FaultTarget {
  readonly path: string
  readonly rooftopUid: string | null
  readonly key: string | null
  readonly evalId: unknown
}

interface ActiveRule {
  readonly rule: FaultRule
  readonly random: SeededRandom
  readonly lift: AbortController
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
    const active: ActiveRule = { rule, random, lift, matched: 0, struck: 0 }
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
      const { match = {}, times, probability = 1, fault } = active.rule
      if (!matches(match, fault, target)) continue
      active.matched++
      if (match.nth !== undefined && !match.nth.includes(active.matched)) continue
      if (times !== undefined && active.struck >= times) continue
      if (probability < 1 && !active.random.chance(probability)) continue
      active.struck++
      return { fault, removed: active.lift.signal }
    }
    return undefined
  }
}

function matches(match: FaultMatch, fault: Fault, target: FaultTarget): boolean {
  if (fault.kind === 'listCap' && target.path !== '/getevallist') return false
  return (
    (match.path === undefined || withoutVersion(match.path) === target.path) &&
    (match.rooftopUid === undefined || match.rooftopUid === target.rooftopUid) &&
    (match.key === undefined || match.key === target.key) &&
    (match.evalId === undefined || match.evalId === target.evalId)
  )
}

function withoutVersion(path: string): string {
  return path.startsWith('/v1/') ? path.slice(3) : path
}
