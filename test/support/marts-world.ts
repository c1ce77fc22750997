import { type CheckDraft, generateChecks } from '#src/sandbox/checks.ts'
import { generateWorld } from '#src/sandbox/generate-world.ts'
import { showPhotos } from '#src/sandbox/lifecycle.ts'
import { World } from '#src/sandbox/world.ts'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { defaultWire } from '#src/values/wire.ts'
import { plantAll } from './marts-plants.ts'

const dayMs = 86_400_000

/** The instants of the three nights, in order. */
export type Nights = readonly [Date, Date, Date]

/** Why an evaluation has no new price: the service answers 400, answers in another shape, or fails; lapsed: it fails in the
 *  last night alone. */
export type Unpriced = 'skipped' | 'rejected' | 'failed' | 'lapsed'

/** How the source answers about some evaluations, beyond what the world says. */
export interface Oddities {
  /** `CreatedAt` is left out, so that EntryDate replaces it. */
  readonly withoutCreatedAt: ReadonlySet<number>
  /** None of the photos is the hero. */
  readonly withoutHero: ReadonlySet<number>
  /** Served with an UpdatedAt that is not a time, so that they are never more than in quarantine. */
  readonly unfit: ReadonlySet<number>
  readonly unpriced: ReadonlyMap<number, Unpriced>
  /** Opened and completed again between the first night and the second, at this instant. */
  readonly completedAgain: ReadonlyMap<number, Date>
}

export interface MartWorld extends Oddities {
  readonly world: World
  readonly checks: readonly CheckDraft[]
}

/** The generated part is the same on every day, and moved to end with the last night. */
const bornOn = new Date('2026-03-10T02:00:00Z')

/** Six rooftops of four groups in AU, US and GCC with 90 days of evaluations, and at each every case that the reports distinguish. */
export function martWorld(seed: number, nights: Nights): MartWorld {
  const { generatedUser } = defaultWire.appraisal
  const span = { evaluations: 240, days: 90, now: bornOn }
  const base = generateWorld({ seed, rooftops: 6, ...span, generatedUser })
  const planting = new Planting(base, nights)
  plantAll(planting)
  const { groups, rooftops, users, keys } = base
  const world = new World({ groups, rooftops, users, keys, evaluations: planting.evaluations })
  poison(world, planting)
  return { ...planting.oddities, world, checks: generateChecks(seed, world) }
}

/** A generated world that evaluations with a certain fate are added to. */
export class Planting {
  readonly world: World
  readonly nights: Nights
  readonly evaluations: Evaluation[]
  readonly oddities = {
    withoutCreatedAt: new Set<number>(),
    withoutHero: new Set<number>(),
    unfit: new Set<number>(),
    unpriced: new Map<number, Unpriced>(),
    completedAgain: new Map<number, Date>(),
  }
  #planted = 0

  constructor(world: World, nights: Nights) {
    this.world = world
    this.nights = nights
    const ms = nights[2].getTime() - bornOn.getTime()
    this.evaluations = [...world.evaluations()].map((one) => movedBy(one, ms))
  }

  /** Adds an evaluation like others of the rooftop, complete two days before the first night, of a vehicle of its own. */
  add(uid: string, changes: Partial<Evaluation> = {}): Evaluation {
    const alike = this.evaluations.filter((one) => one.rooftopUid === uid && one.vin !== null)
    this.#planted += 1
    const evalId = 3_000_000 + this.#planted
    const createdAt = new Date(this.after(0, -2).getTime() - this.#planted * 7_000_000)
    const one = alike[this.#planted % alike.length]!
    const planted = {
      ...one,
      ...{ evalId, createdAt, edits: [], vanishedAt: null },
      completedAt: new Date(createdAt.getTime() + 3_000_000 + this.#planted * 1000),
      vin: `W0L${String(evalId).padStart(14, '0')}`,
      finalPrice: 10_000 + this.#planted * 37.5,
      odometer: 40_000 + this.#planted,
      photos: one.photos.map((photo, at) => ({ ...photo, id: evalId * 20 + at })),
      ...changes,
    }
    this.evaluations.push(planted)
    return planted
  }

  /** This number of days after the first night, or the second. */
  after(night: 0 | 1, days: number): Date {
    return new Date(this.nights[night].getTime() + days * dayMs)
  }
}

function movedBy(one: Evaluation, ms: number): Evaluation {
  const later = (at: Date) => new Date(at.getTime() + ms)
  const { createdAt, completedAt, vanishedAt, edits, photos } = one
  return {
    ...one,
    createdAt: later(createdAt),
    completedAt: completedAt && later(completedAt),
    vanishedAt: vanishedAt && later(vanishedAt),
    edits: edits.map(({ at, patch }) => ({ at: later(at), patch })),
    photos: photos.map((photo) => ({ ...photo, uploadedAt: later(photo.uploadedAt) })),
    // One that is still listed after it has vanished is believed to be there (design.md section 2).
    vanishedStaysListed: false,
  }
}

function poison(world: World, { oddities }: Planting): void {
  for (const evalId of oddities.withoutCreatedAt) world.poison(evalId, { CreatedAt: undefined })
  for (const evalId of oddities.unfit) world.poison(evalId, { UpdatedAt: 'never' })
  for (const evalId of oddities.withoutHero) {
    const shown = showPhotos(world.evaluation(evalId)!.photos)
    const Photos = shown.map(({ id, order, angle }) => ({
      ...{ id, order, angle, url: 'https://photos.example/1' },
      ...{ hero: false, heroSource: null },
    }))
    world.poison(evalId, { Photos })
  }
}
