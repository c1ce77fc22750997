import { watchStatusAt } from '#src/sandbox/check-watch.ts'
import type { VehicleCheck } from '#src/sandbox/check-types.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const weekMs = 7 * dayMs

/** The settings that the promises depend on. */
export interface Promises {
  readonly dailyForDays: number
  readonly lookEveryDays: number
  readonly lookForNewDays: number
}

/** A vehicle at the source, with what a reader of it has been told so far. */
export class Subject {
  readonly checks: readonly VehicleCheck[]
  /** When the newest of its evaluations that can be seen was completed, in ms; null: none can. */
  readonly completedAt: (now: number) => number | null
  newest: number | null = null
  readonly listed = { ppsr: Number.NEGATIVE_INFINITY, car_history: Number.NEGATIVE_INFINITY }
  readonly told = new Map<VehicleCheck, string>()

  constructor(checks: readonly VehicleCheck[], completedAt: (now: number) => number | null) {
    this.checks = checks
    this.completedAt = completedAt
  }

  /** Those that the last listing showed. */
  known(kind: VehicleCheck['kind']): VehicleCheck[] {
    return this.checks.filter((check) => check.kind === kind && this.told.has(check))
  }

  /** What the source says at an instant: of a report, the status of the certificate that was there. */
  statusAt(check: VehicleCheck, now: number): string {
    const certificate = this.checks
      .filter(({ kind, searchedAt }) => kind === 'ppsr' && searchedAt <= check.searchedAt)
      .sort((a, b) => b.searchedAt.getTime() - a.searchedAt.getTime())[0]
    return watchStatusAt(certificate ?? check, new Date(now))
  }

  /** Whether its status can still move. */
  isOpen(check: VehicleCheck): boolean {
    return !['changed', 'expired', 'not_watched', 'disabled'].includes(this.told.get(check) ?? '')
  }
}

/**
 * The fewest calls that keep the promises, vehicle by vehicle, counted apart from the code under test and without a
 * warehouse. The promises: an evaluation is looked at when it is new, nightly while it is young, and then every so many days;
 * a link lives two days more whenever one looks, until the next night; a running watch is told every night, its end once;
 * a report's status follows its certificate's. A listing serves all of its kind at once, and tells the watch for nothing.
 */
export class LeastCalls {
  readonly #promises: Promises
  total = 0

  constructor(promises: Promises) {
    this.#promises = promises
  }

  night(subjects: readonly Subject[], now: number): void {
    for (const subject of subjects) {
      const completedAt = subject.completedAt(now)
      if (completedAt === null) continue
      const isNew = subject.newest !== completedAt
      subject.newest = completedAt
      const look = { now, isNew, ageDays: (now - completedAt) / dayMs }
      const isWatched = subject
        .known('ppsr')
        .some((check) => subject.isOpen(check) && check.searchedAt.getTime() + 2 * weekMs > now)
      const lists = this.#isListed(subject, 'ppsr', look)
      const moved = lists ? this.#list(subject, 'ppsr', now) : isWatched && this.#poll(subject, now)
      const follows = moved && subject.known('car_history').some((check) => subject.isOpen(check))
      if (this.#isListed(subject, 'car_history', look) || follows)
        this.#list(subject, 'car_history', now)
    }
  }

  #isListed(
    subject: Subject,
    kind: VehicleCheck['kind'],
    { now, isNew, ageDays }: { now: number; isNew: boolean; ageDays: number },
  ): boolean {
    const { dailyForDays, lookEveryDays, lookForNewDays } = this.#promises
    const since = now - subject.listed[kind]
    const every = ageDays - since / dayMs <= dailyForDays ? 1 : lookEveryDays
    const isLook = ageDays <= lookForNewDays && (isNew || since >= every * dayMs - hourMs)
    const dies = subject.known(kind).length > 0 && weekMs - since < 72 * hourMs
    const hasEnded = subject.known(kind).some((check) => {
      const endsAt = check.searchedAt.getTime() + 2 * weekMs
      return kind === 'ppsr' && subject.isOpen(check) && endsAt <= now && endsAt > now - since
    })
    return isLook || dies || hasEnded
  }

  /** Whether what was told before is told otherwise now. */
  #list(subject: Subject, kind: VehicleCheck['kind'], now: number): boolean {
    this.total++
    subject.listed[kind] = now
    const there = subject.checks.filter(
      (check) => check.kind === kind && check.searchedAt.getTime() <= now,
    )
    return tell(subject, there, now)
  }

  /** The watch answers for every search: one that no listing has shown yet asks for one at once. */
  #poll(subject: Subject, now: number): boolean {
    this.total++
    const moved = tell(subject, subject.known('ppsr'), now)
    const isUnlisted = subject.checks.some(
      (check) =>
        check.kind === 'ppsr' && check.searchedAt.getTime() <= now && !subject.told.has(check),
    )
    return isUnlisted ? this.#list(subject, 'ppsr', now) || moved : moved
  }
}

function tell(subject: Subject, checks: readonly VehicleCheck[], now: number): boolean {
  const moved = checks.filter((check) => {
    const before = subject.told.get(check)
    return before !== undefined && before !== subject.statusAt(check, now)
  })
  for (const check of checks) subject.told.set(check, subject.statusAt(check, now))
  return moved.length > 0
}
