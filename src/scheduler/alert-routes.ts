import { type AlertSettings, type AlertTarget, alertTargets } from '../config/alerts.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import { localDay, localTime } from '../values/instant.ts'

// Who gets which problem, and when.

/** How much a problem matters: critical is what the morning page shows in red. */
export type Severity = 'critical' | 'warning'

/** Problems that are reported together: those of all rooftops, or of the dealer groups of one receiver. */
export interface Scope {
  /** Before the keys of its alerts. */
  readonly prefix: string
  /** null: all. */
  readonly groups: readonly string[] | null
  readonly rooftops: readonly RooftopConfig[]
  readonly targets: readonly AlertTarget[]
}

/**
 * The scopes of the config. A receiver with dealer groups has a scope of its own: its texts name only its rooftops, and a problem is
 * over for it when it is over for them.
 */
export function scopesOf(config: Config): readonly Scope[] {
  const targets = alertTargets(config.alerts)
  const common = targets.filter(({ groups }) => groups.length === 0)
  const scoped = targets.filter(({ groups }) => groups.length > 0)
  const all = { prefix: '', groups: null, rooftops: config.rooftops, targets: common }
  return [
    ...(common.length > 0 ? [all] : []),
    ...scoped.map((target) => ({
      prefix: `${target.name}:`,
      groups: target.groups,
      rooftops: rooftopsOf(target, config),
      targets: [target],
    })),
  ]
}

/** The scope of what concerns no rooftop: a receiver with dealer groups gets it only where every receiver has some. */
export function programScope(config: Config): Scope {
  const targets = alertTargets(config.alerts)
  const common = targets.filter(({ groups }) => groups.length === 0)
  const own = common.length > 0 ? common : targets
  return { prefix: '', groups: null, rooftops: config.rooftops, targets: own }
}

/**
 * The config with the drop folders of a scope. A folder with a column may bring lists of any rooftop, whatever codes are set, and its
 * texts may name it: a receiver with dealer groups gets them only where every receiver has some, or its groups have every rooftop.
 */
export function inboxesInScope(config: Config, { groups, rooftops }: Scope): Config {
  if (groups === null) return config
  const isOwn = (uid: string) => rooftops.some((rooftop) => rooftop.uid === uid)
  const isOnlyWay = alertTargets(config.alerts).every((target) => target.groups.length > 0)
  const getsShared = isOnlyWay || config.rooftops.every(({ uid }) => isOwn(uid))
  const inbox = config.stock.inbox.filter(({ rooftop }) =>
    rooftop === null ? getsShared : isOwn(rooftop),
  )
  return { ...config, stock: { ...config.stock, inbox } }
}

/** The rooftops of a receiver. */
export function rooftopsOf({ groups }: AlertTarget, config: Config): readonly RooftopConfig[] {
  if (groups.length === 0) return config.rooftops
  return config.rooftops.filter(({ group }) => groups.includes(group))
}

const warnings = /^(objective\/(quarantine|gaps|unprovable|ledger)$|inbox\/)/

/** How much the problem with this key matters. */
export function severityOf(key: string): Severity {
  return warnings.test(causeOf(key)) ? 'warning' : 'critical'
}

/** The key without the scope. */
export function causeOf(key: string): string {
  return key.replace(/^[a-z0-9-]+:/, '')
}

/** The page of the console about the problem with this key, below /console; without a query, which every text hides. */
export function pageOf(key: string): string {
  const cause = causeOf(key)
  if (cause === 'job/worker') return '/work'
  if (cause.startsWith('job/')) return '/jobs'
  if (cause.startsWith('inbox/')) return '/stock/imports'
  if (cause === 'objective/quarantine') return '/quarantine'
  return /^objective\/(gaps|unprovable|ledger)$/.test(cause) ? '/coverage' : '/'
}

/** Who gets a receiver's messages: its addresses, or '' for a webhook. */
export function recipientsOf({ format, to }: AlertTarget): readonly string[] {
  return format === 'email' ? to : ['']
}

/** Who gets messages by the config: receivers, and at the same place of the other list one recipient of each. */
export interface Recipients {
  readonly targets: readonly string[]
  readonly recipients: readonly string[]
}

/** All recipients of the config. Messages to others, which it named before, are neither sent nor counted. */
export function allRecipients(alerts: AlertSettings): Recipients {
  const all = alertTargets(alerts).flatMap((target) =>
    recipientsOf(target).map((recipient) => ({ target: target.name, recipient })),
  )
  return {
    targets: all.map(({ target }) => target),
    recipients: all.map(({ recipient }) => recipient),
  }
}

/** Whether the receiver gets problems of this severity at all. */
export function wants({ severity }: AlertTarget, of: Severity): boolean {
  return severity === 'warning' || severity === of
}

/** Whether only critical problems are sent to the receiver now. */
export function isQuiet({ quietHours, timezone }: AlertTarget, now: Date): boolean {
  if (quietHours === null) return false
  const [from, until] = quietHours.split('-') as [string, string]
  const time = localTime(now, timezone)
  return from < until ? from <= time && time < until : from <= time || time < until
}

/** Hours in which a digest is news: later, no scheduler was running in the morning. */
export const digestHours = 6

/** The local day whose digest the receiver should have by now; null: none. */
export function digestDay({ digest, timezone }: AlertTarget, now: Date): string | null {
  if (digest === null) return null
  const minutes = minutesOf(localTime(now, timezone)) - minutesOf(digest)
  return minutes >= 0 && minutes < digestHours * 60 ? localDay(now, timezone) : null
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number]
  return hours * 60 + minutes
}
