import { type VehicleCheck, watchStatusAt } from '#src/sandbox/checks.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const weekMs = 7 * dayMs

/** The settings that the rules depend on. */
export interface Rules {
  readonly dailyForDays: number
  readonly lookEveryDays: number
  readonly lookForNewDays: number
}

/** A vehicle at the source, with the statuses that a reader has seen so far. */
export class Subject {
  readonly checks: readonly VehicleCheck[]
  /** When the newest of its evaluations that can be seen was completed, in ms; null: none can. */
  readonly completedAt: (now: number) => number | null
  newest: number | null = null
  readonly listed = { ppsr: Number.NEGATIVE_INFINITY, car_history: Number.NEGATIVE_INFINITY }
  readonly seen = new Map<VehicleCheck, string>()

  constructor(checks: readonly VehicleCheck[], completedAt: (now: number) => number | null) {
    this.checks = checks
    this.completedAt = completedAt
  }

  /** Those that the last listing showed. */
  known(kind: VehicleCheck['kind']): VehicleCheck[] {
    return this.checks.filter((check) => check.kind === kind && this.seen.has(check))
  }

  /** The status at the source at an instant; for a report, that of the certificate at its time. */
  statusAt(check: VehicleCheck, now: number): string {
    const certificate = this.checks
      .filter(({ kind, searchedAt }) => kind === 'ppsr' && searchedAt <= check.searchedAt)
      .sort((a, b) => b.searchedAt.getTime() - a.searchedAt.getTime())[0]
    return watchStatusAt(certificate ?? check, new Date(now))
  }

  /** Whether its status can still change. */
  isOpen(check: VehicleCheck): boolean {
    return !['changed', 'expired', 'not_watched', 'disabled'].includes(this.seen.get(check) ?? '')
  }
}

/**
 * Counts the fewest calls that meet the rules, vehicle by vehicle, without the code under test and without a warehouse. The rules:
 * - An evaluation is checked when it is new, every night while it is young, and then every `lookEveryDays`.
 * - A link is always valid for two more days, until the next night.
 * - A running watch is read every night, and once after its end.
 * - A report has the status of its certificate.
 * A listing covers all checks of its kind, and the watch too.
 */
export class LeastCalls {
  readonly #rules: Rules
  total = 0

  constructor(rules: Rules) {
    this.#rules = rules
  }

  night(subjects: readonly Subject[], now: number): void {
    for (const subject of subjects) {
      const completedAt = subject.completedAt(now)
      if (completedAt === null) continue
      const isNew = subject.newest !== completedAt
      subject.newest = completedAt
      const checked = { now, isNew, ageDays: (now - completedAt) / dayMs }
      const isWatched = subject
        .known('ppsr')
        .some((check) => subject.isOpen(check) && check.searchedAt.getTime() + 2 * weekMs > now)
      const lists = this.#isListed(subject, 'ppsr', checked)
      const hasChanged = lists
        ? this.#list(subject, 'ppsr', now)
        : isWatched && this.#poll(subject, now)
      const follows =
        hasChanged && subject.known('car_history').some((check) => subject.isOpen(check))
      if (this.#isListed(subject, 'car_history', checked) || follows)
        this.#list(subject, 'car_history', now)
    }
  }

  #isListed(
    subject: Subject,
    kind: VehicleCheck['kind'],
    { now, isNew, ageDays }: { now: number; isNew: boolean; ageDays: number },
  ): boolean {
    const { dailyForDays, lookEveryDays, lookForNewDays } = this.#rules
    const since = now - subject.listed[kind]
    const every = ageDays - since / dayMs <= dailyForDays ? 1 : lookEveryDays
    const isDue = ageDays <= lookForNewDays && (isNew || since >= every * dayMs - hourMs)
    const isExpiring = subject.known(kind).length > 0 && weekMs - since < 72 * hourMs
    const hasEnded = subject.known(kind).some((check) => {
      const endsAt = check.searchedAt.getTime() + 2 * weekMs
      return kind === 'ppsr' && subject.isOpen(check) && endsAt <= now && endsAt > now - since
    })
    return isDue || isExpiring || hasEnded
  }

  /** Lists the checks; returns whether a known status has changed. */
  #list(subject: Subject, kind: VehicleCheck['kind'], now: number): boolean {
    this.total++
    subject.listed[kind] = now
    const there = subject.checks.filter(
      (check) => check.kind === kind && check.searchedAt.getTime() <= now,
    )
    return update(subject, there, now)
  }

  /** Polls the watch, which covers every search; a search that no listing has shown yet needs a listing at once. */
  #poll(subject: Subject, now: number): boolean {
    this.total++
    const hasChanged = update(subject, subject.known('ppsr'), now)
    const isUnlisted = subject.checks.some(
      (check) =>
        check.kind === 'ppsr' && check.searchedAt.getTime() <= now && !subject.seen.has(check),
    )
    return isUnlisted ? this.#list(subject, 'ppsr', now) || hasChanged : hasChanged
  }
}

function update(subject: Subject, checks: readonly VehicleCheck[], now: number): boolean {
  const hasChanged = checks.filter((check) => {
    const before = subject.seen.get(check)
    return before !== undefined && before !== subject.statusAt(check, now)
  })
  for (const check of checks) subject.seen.set(check, subject.statusAt(check, now))
  return hasChanged.length > 0
}
