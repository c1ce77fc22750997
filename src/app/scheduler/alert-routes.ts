import { type AlertSettings, type AlertTarget, alertTargets } from '../config/alerts.ts'

// Who gets which problem.

/** How much a problem matters: critical is what the morning page shows in red. */
export type Severity = 'critical' | 'warning'

const warnings = /^(objective\/(quarantine|gaps|unprovable|ledger|names)$|inbox\/)/

/** How much the problem with this key matters. */
export function keySeverity(key: string): Severity {
  return warnings.test(key) ? 'warning' : 'critical'
}

/** The page of the console about the problem with this key, below /console; without a query, which every text hides. */
export function keyPage(key: string): string {
  if (key === 'job/worker') return '/work'
  if (key.startsWith('job/')) return '/jobs'
  if (key.startsWith('inbox/')) return '/stock/imports'
  if (key === 'objective/quarantine') return '/quarantine'
  if (key === 'objective/names') return '/drift'
  return /^objective\/(gaps|unprovable|ledger)$/.test(key) ? '/coverage' : '/'
}

/** Who gets a receiver's messages: its addresses, or '' for a webhook. */
export function listRecipients({ format, to }: AlertTarget): readonly string[] {
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
    listRecipients(target).map((recipient) => ({ target: target.name, recipient })),
  )
  return {
    targets: all.map(({ target }) => target),
    recipients: all.map(({ recipient }) => recipient),
  }
}

/** Whether the receiver gets problems of this severity. */
export function wants({ severity }: AlertTarget, of: Severity): boolean {
  return severity === 'warning' || severity === of
}
