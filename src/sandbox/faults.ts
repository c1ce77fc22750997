import { type SeededRandom, seededRandom } from './seeded-random.ts'

/** Which part of a list a silent cap keeps. */
export type CapOrder = 'newest' | 'oldest' | 'arbitrary'

/** What goes wrong. `slow` and `listCap` still answer; the others take the answer's place. */
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
  /** Cuts the list of `/getevallist` and says nothing of it; matches no other path. */
  | { readonly kind: 'listCap'; readonly cap: number; readonly order: CapOrder }
  /** The answer, padded with blanks to so many bytes (sent in pieces, no content-length). */
  | { readonly kind: 'oversize'; readonly bytes: number }

/** Which requests a rule is about; what is left out matches anything. */
export interface FaultMatch {
  /** Without `/v1`, e.g. `/geteval`. */
  readonly path?: string
  readonly rooftopUid?: string
  /** Name of the key. */
  readonly key?: string
  /** `evalid` of the request body. */
  readonly evalId?: number
  /** Of the requests that match the rest, only these; the first is 1. */
  readonly nth?: readonly number[]
}

/** A fault and when it strikes. */
export interface FaultRule {
  readonly match?: FaultMatch
  /** How often it strikes at most; default: no limit. */
  readonly times?: number
  /** Seeded; default 1. */
  readonly probability?: number
  readonly fault: Fault
}

/** A rule that is in force. */
export interface FaultHandle {
  /** How often it has struck; a request that still waits for its answer counts. */
  readonly hits: number
  /** Whom it holds up is answered at once. */
  remove(): void
}

/** What strikes a request. */
export interface FaultHit {
  readonly fault: Fault
  /** Aborted when the rule is in force no more. */
  readonly removed: AbortSignal
}

/** What a rule is held against. */
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

/** The rules in force, tried in order; the first that strikes decides. */
export class FaultPlan {
  #active: ActiveRule[] = []
  #added = 0
  readonly #seed: number

  constructor(rules: readonly FaultRule[] = [], seed = 1) {
    this.#seed = seed
    for (const rule of rules) this.add(rule)
  }

  /** Puts a rule behind those in force. */
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

  /** The fault that strikes this request, if any; asking counts as a request. */
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
