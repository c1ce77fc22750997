import {
  addEvents,
  advance,
  noAnswers,
  type RateEvent,
  type RateState,
  rateAt,
  unlimited,
} from '#src/api/sources/rate-law.ts'
import { seededRandom } from '#src/sandbox/seeded-random.ts'

/** Whether a call that arrives at `now` (ms) is answered; `inFlight` counts it too. */
export type Source = (now: number, inFlight: number) => boolean

/** A number of calls in every window of a second. */
export function fixedWindow(perSecond: number, offsetMs = 0): Source {
  let window = -1
  let used = 0
  return (now) => {
    const current = Math.floor((now + offsetMs) / 1000)
    if (current !== window) used = 0
    window = current
    used += Number(used <= perSecond)
    return used <= perSecond
  }
}

/** A bucket of tokens, full at first. */
export function tokenBucket(perSecond: number, burst = perSecond): Source {
  let tokens = burst
  let last = 0
  return (now) => {
    tokens = Math.min(burst, tokens + ((now - last) * perSecond) / 1000)
    last = now
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}

/** Refuses a share of the calls, whatever their rate. */
export function randomRefusals(share: number, seed: number): Source {
  const random = seededRandom(seed, 'refusals')
  return () => !random.chance(share)
}

interface Options {
  readonly source: Source
  readonly processes: number
  readonly seed: number
  readonly latencyMs?: number
  readonly concurrency?: number
  /** What a refusal names; default: 1000. */
  readonly retryAfterMs?: number | null
  /** Ends after this many answered calls, or this many seconds. */
  readonly calls?: number
  readonly seconds?: number
}

interface Outcome {
  readonly seconds: number
  readonly sent: number
  readonly refusedShare: number
  readonly answeredPerSecond: number
  /** Calls that were sent within a Retry-After that their process knew of. */
  readonly sentWithin: number
}

/** How long a statement takes, in ms. A refusal is known to the other processes after two and an announcement. */
const statementMs = 2
const exchangeMs = 500

/** Processes that use one key as fast as the law of rate-law.ts allows, in virtual time. They share a state as in ops.rate_budget:
 *  each applies its answers to it twice a second, and at once when its key rests. */
export function simulate(options: Options): Outcome {
  const { source, processes: count, latencyMs = 25, concurrency = 8, retryAfterMs = 1000 } = options
  const { calls = Infinity, seconds = 3600 } = options
  const random = seededRandom(options.seed, 'processes')
  const due = new Map<number, (() => void)[]>()
  let now = 0
  const after = (ms: number, run: () => void) => {
    const at = Math.max(now + 1, Math.ceil(now + ms))
    due.set(at, [...(due.get(at) ?? []), run])
  }
  let stored: RateState = unlimited
  let nextAt = 0
  let inFlight = 0
  let sent = 0
  let refused = 0
  let answered = 0
  let sentWithin = 0
  let started = 0
  let toRepeat = 0

  const startProcess = () => {
    let state = unlimited
    let unstored: RateEvent = noAnswers(0)
    let answeredUpTo = 0
    let free = Math.floor(concurrency / count)
    let retryAt = 0
    let activeSince = 0
    let sentAt = -Infinity
    let isStoring = false
    let cleanTimes: number[] = []
    const pastRate = () => {
      cleanTimes = cleanTimes.filter((at) => now - at < 1000)
      const active = Math.max(0.01, Math.min(1, (now - activeSince) / 1000))
      return { answered: cleanTimes.length, speed: cleanTimes.length / active }
    }
    const store = () => {
      if (isStoring) return
      isStoring = true
      after(2 * statementMs, () => {
        isStoring = false
        const isNewCut = stored.generation > Math.max(answeredUpTo, unstored.generation)
        const before = stored
        stored = advance(stored, isNewCut ? { ...unstored, ...pastRate() } : unstored, now)
        answeredUpTo = stored.generation
        unstored = noAnswers(stored.generation)
        state = stored
        const isNews = stored.restUntil > before.restUntil || stored.cutAt !== before.cutAt
        if (isNews)
          for (const announce of listeners)
            if (announce !== onAnnounced) after(statementMs, announce)
      })
    }
    const onAnnounced = () => {
      state = { ...state, restUntil: Math.max(state.restUntil, stored.restUntil) }
      store()
    }
    const onAnswer = (isClean: boolean, generation: number) => {
      free += 1
      inFlight -= 1
      if (isClean) cleanTimes.push(now)
      else {
        retryAt = Math.max(retryAt, now + (retryAfterMs ?? 0))
        after(retryAfterMs ?? 1000, () => {
          toRepeat += 1
        })
      }
      const isCounted = generation === state.generation
      const isRefused = Number(!isClean && isCounted)
      const event: RateEvent = {
        ...noAnswers(state.generation),
        ...{ calls: Number(isCounted), refused: isRefused, excess: isRefused },
        ...{
          lateRefused: Number(!isClean && !isCounted),
          retryAfterMs: isClean ? null : retryAfterMs,
        },
        ...(isRefused > 0 && pastRate()),
      }
      const before = state
      state = advance(state, event, now)
      unstored = addEvents(unstored, event)
      if (state.restUntil > before.restUntil || state.cutAt !== before.cutAt) store()
    }
    const send = () => {
      if (now - sentAt > 500) activeSince = now
      sentAt = now
      sent += 1
      sentWithin += Number(now < retryAt)
      free -= 1
      inFlight += 1
      const { generation } = state
      after(latencyMs * 0.4, () => {
        const isClean = source(now, inFlight)
        if (isClean) answered += 1
        else refused += 1
        after(latencyMs * (0.4 + 0.4 * random.next()), () => onAnswer(isClean, generation))
      })
    }
    const sendAllowed = () => {
      while (free > 0 && now >= state.restUntil && (toRepeat > 0 || started < calls)) {
        const rate = rateAt(state, now)
        if (rate !== null && (nextAt > now || stored.generation !== state.generation)) return
        if (rate !== null) nextAt = Math.max(nextAt, now - 1) + 1000 / rate
        if (toRepeat > 0) toRepeat -= 1
        else started += 1
        send()
      }
    }
    const exchange = () => {
      store()
      after(exchangeMs, exchange)
    }
    after(random.next() * exchangeMs, exchange)
    return { onAnnounced, sendAllowed }
  }

  const running = Array.from({ length: count }, startProcess)
  const listeners = running.map(({ onAnnounced }) => onAnnounced)
  while (answered < calls && now < seconds * 1000) {
    now += 1
    for (const run of due.get(now) ?? []) run()
    due.delete(now)
    const first = Math.floor(random.next() * count)
    for (let at = 0; at < count; at += 1) running[(first + at) % count]!.sendAllowed()
  }
  const took = now / 1000
  const answeredPerSecond = answered / took
  return { seconds: took, sent, refusedShare: refused / sent, answeredPerSecond, sentWithin }
}
