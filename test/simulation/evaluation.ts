import { begin, dayMs, nightAt, type Settings } from './settings.ts'
import type { EvaluationPlan, Hint, World } from './world.ts'

/** The content of an evaluation. */
export interface Content {
  readonly vin: string | null
  readonly odometer: number | null
  readonly finalPrice: number | null
  readonly salesperson: number | null
  readonly customer: string | null
  readonly notes: string | null
  readonly recon: readonly { type: string; source: string | null; cost: number; value: string }[]
  readonly photos: readonly { id: number; order: number | null; angle: string }[]
  readonly customFields: readonly { name: string; type: string; value: string }[]
  readonly userPrices: readonly { amount: number; currency: string }[]
}

/** The state of an evaluation at the source from an instant until the next one. */
export interface Moment {
  readonly at: number
  readonly visible: boolean
  /** 0 or 1: the rooftop that owns it. */
  readonly rooftop: number
  readonly updatedAt: number
  readonly content: Content
}

/** An evaluation with its whole history. Instants are in ms. */
export interface Evaluation {
  readonly evalId: number
  readonly createdAt: number
  readonly completedAt: number
  /** In order of time, the first at completion. */
  readonly moments: readonly Moment[]
  /** Instants at which a webhook about it arrives, and the instant of its event. */
  readonly hints: readonly { readonly of: number; readonly at: number }[]
}

/** The state of an evaluation at an instant; null before its completion. */
export function momentAt({ moments }: Evaluation, at: number): Moment | null {
  let found: Moment | null = null
  for (const moment of moments) {
    if (moment.at > at) break
    found = moment
  }
  return found
}

/** How long after the start of the night it is back. */
export const flickerMs = 5 * 60_000

/** The completed evaluations of a world, one per life; those at the indexes in `without` are left out. */
export function evaluationsOf(
  world: World,
  nights: number,
  settings: Settings,
  without: readonly number[] = [],
): Evaluation[] {
  const plain = world.lives.flatMap((life, index) =>
    Array.from({ length: without.includes(index) ? 0 : life.burst }, (_, nth) =>
      evaluationOf(world, life, world.index * 1000 + index * 10 + nth + 1, {
        createdAt: createdAtOf(life, nights, settings) + nth * (life.ms === 0 ? 3 : 0),
      }),
    ),
  )
  const flickering = world.zombieNight === null ? [] : [flicker(world, world.zombieNight)]
  return [...plain, ...flickering].filter((entry) => entry !== null)
}

/** Gone when the night starts and back a moment later: the worker that listed it first must not decide. */
function flicker(world: World, night: number): Evaluation | null {
  const createdAt = nightAt(night) - 1.9 * dayMs
  const completes = 0.01
  const vanishes = {
    after: 1.9 - completes - (30 * 60_000) / dayMs,
    returns: (30 * 60_000 + flickerMs) / dayMs,
  }
  const quiet = { rooftop: 0, place: 0, edge: null, ms: 0, burst: 1, edits: [], moves: null }
  const life = { ...quiet, completes, vanishes }
  return evaluationOf(world, life, world.index * 1000 + 999, { createdAt })
}

function createdAtOf(
  { place, edge, ms }: EvaluationPlan,
  nights: number,
  { sync }: Settings,
): number {
  const at = begin + place * (nightAt(nights - 1) - begin)
  const night = nightAt(Math.max(0, Math.ceil((at - nightAt(0)) / dayMs)))
  const grid = sync.windowHours * 3_600_000
  const anchor = edge?.of === 'night' ? night : Math.ceil(at / grid) * grid
  const second =
    edge === null ? Math.floor(at / 1000) * 1000 : Math.max(begin, anchor + edge.seconds * 1000)
  return second + ms
}

type Event = { at: number } & (
  | { kind: 'edit'; patch: number; size: number; hint: Hint }
  | { kind: 'vanish' | 'return' | 'move' }
)

function eventsOf(world: World, life: EvaluationPlan, completedAt: number): Event[] {
  const later = (days: number) => completedAt + Math.round(days * dayMs)
  const { vanishes, moves } = life
  const events: Event[] = life.edits.map(({ after, ...edit }) => ({
    ...edit,
    at: later(after),
    kind: 'edit',
  }))
  if (vanishes) events.push({ at: later(vanishes.after), kind: 'vanish' })
  if (vanishes && vanishes.returns !== null)
    events.push({ at: later(vanishes.after + vanishes.returns), kind: 'return' })
  if (moves !== null && world.rooftops === 2) events.push({ at: later(moves), kind: 'move' })
  return events.sort((a, b) => a.at - b.at)
}

function evaluationOf(
  world: World,
  life: EvaluationPlan,
  evalId: number,
  { createdAt }: { createdAt: number },
): Evaluation | null {
  if (life.completes === null) return null
  const completedAt = createdAt + Math.round(life.completes * dayMs)
  const rooftop = life.rooftop % world.rooftops
  const first = { visible: true, rooftop, updatedAt: completedAt, content: firstContent(evalId) }
  const moments: Moment[] = [{ ...first, at: completedAt }]
  const hints: { of: number; at: number }[] = []
  for (const event of eventsOf(world, life, completedAt)) {
    moments.push(after(moments.at(-1)!, event, evalId))
    if (event.kind !== 'edit') continue
    const at = event.at + event.hint.hours * 3_600_000
    for (let nth = 0; nth < event.hint.times; nth++) hints.push({ of: event.at, at })
  }
  return { evalId, createdAt, completedAt, moments, hints }
}

function after(before: Moment, event: Event, evalId: number): Moment {
  const { at } = event
  switch (event.kind) {
    case 'edit': {
      const content = edited(before.content, event.patch, event.size, evalId)
      return { ...before, at, updatedAt: at, content }
    }
    case 'vanish':
      return { ...before, at, visible: false }
    case 'return':
      return { ...before, at, visible: true }
    case 'move':
      return { ...before, at, updatedAt: at, rooftop: 1 - before.rooftop }
  }
}

const some = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

function firstContent(evalId: number): Content {
  return {
    vin: `VIN${String(evalId).padStart(14, '0')}`,
    odometer: 10_000 + (evalId % 977),
    finalPrice: 5_000 + (evalId % 7) * 0.125,
    salesperson: evalId % 3 === 0 ? null : evalId % 3,
    customer: `Cust\u00f8mer ${evalId}`,
    notes: evalId % 2 === 0 ? null : 'Tidy.',
    recon: recon(evalId % 3, 0),
    photos: photos(evalId % 4, 0, evalId),
    customFields: customFields(evalId % 3, 0),
    userPrices: userPrices(evalId % 2, 0),
  }
}

/** `size` children from now on, all changed: sets shrink, grow and change. */
function edited(before: Content, patch: number, size: number, evalId: number): Content {
  const turn = (before.finalPrice ?? 0) % 5
  const changed: Partial<Content>[] = [
    { finalPrice: size === 0 ? 0 : (before.finalPrice ?? 0) + size + 0.5 },
    { recon: recon(size, turn + before.recon.length) },
    { photos: photos(size, before.photos.length, evalId) },
    { customFields: customFields(size, turn + before.customFields.length) },
    { userPrices: userPrices(size, before.userPrices.length) },
    { customer: size === 0 ? null : `Customer ${evalId}-${size}`, notes: 'x'.repeat(size * 40) },
    { salesperson: size === 0 ? null : size },
    { vin: null, odometer: size === 0 ? null : size, recon: [], photos: [], customFields: [] },
  ]
  return { ...before, ...changed[patch] }
}

function recon(count: number, turn: number) {
  return some(count, (index) =>
    index === 2
      ? { type: 'info', source: 'OEM', cost: 0, value: `${90 - turn}%` }
      : { type: `work ${index}`, source: index ? 'Dealer' : null, cost: 0.1 + turn, value: 'x' },
  )
}
function photos(count: number, turn: number, evalId: number) {
  return some(count, (index) => ({
    id: evalId * 10 + ((index + turn) % 5),
    order: turn % 2 === 0 ? null : index + 1,
    angle: `angle ${index}`,
  }))
}
function customFields(count: number, turn: number) {
  return some(count, (index) => ({ name: `Field ${index}`, type: 'text', value: `v${turn}` }))
}
function userPrices(count: number, turn: number) {
  return some(count, (index) => ({ amount: 100 * (index + 1) + turn, currency: 'AUD' }))
}
