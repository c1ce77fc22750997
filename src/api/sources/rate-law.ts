import { rests } from './status-rules.ts'

// The law of the rate of a key. A 429 rests the key, then it goes on at 0.7 of the rate, which grows as in TCP CUBIC. When a cut
// does not end the refusals they do not depend on the rate: then only the refused calls wait, and no limit applies.

/** What all processes know about the rate that a source allows a key. Times are ms of any one clock; plain JSON. */
export interface RateState {
  /** Number of cuts. Answers to calls that were sent before the last cut say nothing about the rate after it. */
  readonly generation: number
  /** When the rate was last cut; null: no limit is known. */
  readonly cutAt: number | null
  /** The rate before the cut; null: no limit was known. */
  readonly from: number | null
  /** Clean answers in the second before the cut; and their rate while calls were sent, which is more if that was less than a second. */
  readonly answered: number
  readonly speed: number
  /** Calls in flight at the cut that were refused too: with two of them the source has a limit. */
  readonly refusedInFlight: number
  readonly restUntil: number
  /** Rests since the last clean answer. */
  readonly strikes: number
  readonly refusedInARow: number
  /** Answers since the cut, and the refusals among them. */
  readonly calls: number
  readonly refused: number
  /** Grows by one with a refusal, and falls with each call by the share that is tolerated. */
  readonly excess: number
  /** Until then this share of refusals does not depend on the rate; 0: not known of any. */
  readonly randomUntil: number
  readonly randomShare: number
}

/** What calls of a process were answered. */
export interface RateEvent {
  /** Of the state when the calls of `calls` and `refused` were sent. */
  readonly generation: number
  readonly calls: number
  readonly refused: number
  /** How much `excess` they add. */
  readonly excess: number
  /** Refused calls that were sent before the last cut. */
  readonly lateRefused: number
  /** The longest that a refusal asked for; null: none did. */
  readonly retryAfterMs: number | null
  /** Clean answers of this process in the last second, and their rate while it sent calls. */
  readonly answered: number
  readonly speed: number
}

/** Nothing is known of the key yet. */
export const unlimited: RateState = {
  ...{ generation: 0, cutAt: null, from: null, answered: 0, speed: 0, refusedInFlight: 0 },
  ...{ restUntil: 0, strikes: 0, refusedInARow: 0, calls: 0, refused: 0, excess: 0 },
  ...{ randomUntil: 0, randomShare: 0 },
}

const cutTo = 0.7
/** The curve is flat a little below the rate that was refused, so that a limit is used for long before it is met again. */
const flatAt = 0.96
const flatSeconds = { least: 10, first: 20, most: 60 }
/** At a low rate the curve is slower, so that as many calls are answered before it is flat. */
const flatCalls = 280
/** Below this share of the limit a hard limit refuses nothing. */
const trialBelow = 0.9
const trialCalls = 50
/** The share of refusals that a trial tolerates, and a key whose refusals are random. More of them cut the rate again. */
const toleratedShare = 0.15
const maxExcess = 4
/** The share of random refusals is measured again after this many calls. */
const measuredCalls = 600
const randomMs = 600_000
/** With fewer answers a second, and fewer refusals, the key only rests: there is no rate to lower. */
const few = { answers: 4, refusals: 3 }
const minuteMs = 60_000

/** Requests a second that all processes may send now; null: no limit is known. */
export function rateAt(state: RateState, now: number): number | null {
  const { cutAt, restUntil } = state
  // A cut in the future: the clock was set back.
  if (cutAt === null || cutAt > now + 1000) return null
  const limit = rateLimit(state)
  const passed = Math.max(0, now - Math.max(cutAt, restUntil)) / 1000
  const rate = limit * cutTo ** ((1 - passed / secondsToFlat(state, limit)) ** 5)
  // Far above the rate that the source is known to accept, no limit applies.
  return rate < 10 * Math.max(limit, 100) ? rate : null
}

/** The state after an event. The same object when nothing changed that other processes must know. */
export function advance(before: RateState, event: RateEvent, now: number): RateState {
  const refusals = event.refused + event.lateRefused
  const isCurrent = event.generation === before.generation
  const state = countInARow(before, refusals, isCurrent && event.calls > event.refused)
  // So long a wait concerns the whole key, and says nothing about its rate.
  if (refusals > 0 && (event.retryAfterMs ?? 0) >= rests.briefMs) return rest(state, event, now)
  if (isCurrent) return afterAnswers(state, event, now)
  // The cut of another process, which knew only its answers: each process adds its part.
  const { answered, speed } = event
  if (refusals + answered + speed === 0) return state
  return {
    ...(refusals > 0 ? rest(state, event, now) : state),
    answered: state.answered + answered,
    speed: state.speed + speed,
    refusedInFlight: state.refusedInFlight + refusals,
  }
}

/** No answers to calls of a generation. */
export function noAnswers(generation: number): RateEvent {
  return {
    ...{ generation, calls: 0, refused: 0, excess: 0, lateRefused: 0 },
    ...{ retryAfterMs: null, answered: 0, speed: 0 },
  }
}

/** The answers of both, for the generation of `earlier`. */
export function addEvents(earlier: RateEvent, later: RateEvent): RateEvent {
  const waits = [earlier.retryAfterMs, later.retryAfterMs].filter((ms) => ms !== null)
  return {
    generation: earlier.generation,
    calls: earlier.calls + later.calls,
    refused: earlier.refused + later.refused,
    excess: excessAfter(earlier, later),
    lateRefused: earlier.lateRefused + later.lateRefused,
    retryAfterMs: waits.length === 0 ? null : Math.max(...waits),
    answered: Math.max(earlier.answered, later.answered),
    speed: Math.max(earlier.speed, later.speed),
  }
}

function afterAnswers(state: RateState, event: RateEvent, now: number): RateState {
  const { refused, lateRefused } = event
  const rate = rateAt(state, now)
  const isRandom = now < state.randomUntil
  if (event.calls + lateRefused === 0) return state
  if (rate === null && !isRandom && refused + lateRefused === 0) return state
  const isForgotten = rate === null && !isRandom && now - state.restUntil > minuteMs
  const share = isRandom ? state.randomShare : 0
  const counted: RateState = {
    ...state,
    calls: state.calls + event.calls,
    refused: (isForgotten ? 0 : state.refused) + refused,
    excess: excessAfter(state, event),
    refusedInFlight: state.refusedInFlight + lateRefused,
  }
  const isTrial = isInTrial(state, rate)
  const isTooMuch = isTrial || isRandom ? counted.excess >= maxExcess : refused > 0
  if (isTooMuch) return cut(counted, event, now)
  const { calls } = counted
  if (isTrial && calls >= trialCalls && counted.refused > (share > 0 ? 2 + 2 * share * calls : 0))
    return {
      ...restarted(counted),
      ...{ cutAt: null, randomShare: counted.refused / calls, randomUntil: now + randomMs },
    }
  if (isRandom) {
    if (calls < measuredCalls) return counted
    const randomShare = Math.min(share, counted.refused / calls)
    return { ...restarted(counted), randomShare, ...(randomShare === 0 && { randomUntil: 0 }) }
  }
  // In the trial the rate does not fall. The first refusal rests the key, in case the rate was cut too little.
  const isFirst = refused > 0 && counted.refused === refused
  return isFirst || lateRefused > 0 ? rest(counted, event, now) : counted
}

/** Rests the key and lowers its rate, if there were enough answers to know one. */
function cut(state: RateState, event: RateEvent, now: number): RateState {
  const rate = rateAt(state, now)
  const isRateUnknown =
    rate !== null
      ? state.calls === state.refused
      : event.answered === 0 || (event.answered < few.answers && state.refused < few.refusals)
  const rested = rest(state, event, now)
  if (isRateUnknown) return { ...rested, excess: 0 }
  return {
    ...restarted(rested),
    ...{ generation: state.generation + 1, cutAt: now, from: rate },
    ...{ answered: event.answered, speed: event.speed, refusedInFlight: event.lateRefused },
  }
}

function restarted(state: RateState): RateState {
  return { ...state, calls: 0, refused: 0, excess: 0 }
}

/** Rests the key for a Retry-After that is short, or that the source means for all calls. */
function rest(state: RateState, { retryAfterMs }: RateEvent, now: number): RateState {
  const strikes = state.strikes + Number(now >= state.restUntil)
  const ms = retryAfterMs ?? Math.min(minuteMs, 500 * 2 ** strikes)
  const isForAll = ms >= rests.briefMs || state.refusedInARow >= rests.refusalsInARow
  if ((retryAfterMs ?? 0) > rests.shortMs && !isForAll) return state
  const until = now + Math.min(ms, rests.longestOfKeyMs)
  return { ...state, restUntil: Math.max(state.restUntil, until), strikes }
}

function countInARow(state: RateState, refusals: number, isClean: boolean): RateState {
  const refusedInARow = (isClean ? 0 : state.refusedInARow) + refusals
  const strikes = isClean ? 0 : state.strikes
  const isSame = refusedInARow === state.refusedInARow && strikes === state.strikes
  return isSame ? state : { ...state, refusedInARow, strikes }
}

function excessAfter(
  before: { readonly excess: number },
  { calls, excess }: Pick<RateEvent, 'calls' | 'excess'>,
): number {
  return Math.max(0, before.excess - toleratedShare * calls) + excess
}

/** The rate that the source was seen to accept before the cut. */
function seenRate({ from, answered, speed, refusedInFlight }: RateState): number {
  // Only a source with a limit refuses the calls in flight too: then it allows no more than it answered in a second.
  return Math.max(refusedInFlight >= 2 ? answered : speed, (from ?? 0) / 2)
}

/** Where the curve is flat. */
function rateLimit(state: RateState): number {
  const { from } = state
  const seen = seenRate(state)
  return Math.max(0.5, flatAt * (from !== null && seen >= 0.8 * from ? from : seen))
}

function secondsToFlat({ from }: RateState, limit: number): number {
  const most = from === null ? flatSeconds.first : flatSeconds.most
  return Math.min(most, Math.max(flatSeconds.least, flatCalls / limit))
}

/** Whether the rate is so low that a source with a limit refuses nothing. */
function isInTrial(state: RateState, rate: number | null): boolean {
  if (rate === null || state.refusedInFlight >= 2) return false
  return rate < trialBelow * Math.min(rateLimit(state), seenRate(state))
}
