import { parseUtc } from '../../values/instant.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import type { AppraisalWire } from '../../values/wire.ts'

/** The events of the service [A §6]; the address of a subscription names its event. */
const webhookEvents = [
  'ON_COMPLETE',
  'ON_EXPORT',
  'ON_DRIVE_COMPLETED',
  'ON_SHARE_OFFER',
  'ON_EXTERNAL_PRICE',
] as const
/** `not told`: the address names no event. */
export type WebhookEvent = (typeof webhookEvents)[number] | 'not told'

/** What a delivered body says. It is not trusted: it only shows which evaluation to read. */
export interface Hint {
  readonly kind: 'evaluation' | 'drive'
  /** null: it names none. */
  readonly evalId: number | null
  /** The numeric dealership; null: not there. */
  readonly dealerId: number | null
  readonly updatedAt: Date | null
  /** When the event happened, by the service's clock. */
  readonly eventAt: Date | null
  /** The part of the body that is about it. */
  readonly body: unknown
}

/** The event that a path names, in upper or lower case. */
export function findEvent(text: string | undefined): WebhookEvent {
  return webhookEvents.find((event) => event === text?.toUpperCase()) ?? 'not told'
}

/** Pure. One hint, or one for each evaluation where the body is an array, as that of `/geteval` is [A §4, §6]. */
export function readHints(body: unknown, event: WebhookEvent, wire: AppraisalWire): Hint[] {
  const found = valueAt(body, wire.webhookBody.evaluation)
  const items = Array.isArray(found) && found.length > 0 ? found : [found]
  if (isDrive(items[0], body, event, wire)) return [driveHint(body, wire)]
  const hints = items.map((item) => evaluationHint(item, event, wire))
  const seen = new Set<number | null>()
  return hints.filter(({ evalId }) => !seen.has(evalId) && seen.add(evalId))
}

/** Decides by the event. Without one, a drive has its own id, and an evaluation always has an UpdatedAt [A §2]. */
function isDrive(item: unknown, body: unknown, event: WebhookEvent, wire: AppraisalWire): boolean {
  if (event !== 'not told') return event === 'ON_DRIVE_COMPLETED'
  const hasDriveId = valueAt(body, wire.webhookBody.driveId) !== undefined
  return hasDriveId && valueAt(item, 'UpdatedAt') === undefined
}

function evaluationHint(item: unknown, event: WebhookEvent, wire: AppraisalWire): Hint {
  const updatedAt = instantAt(item, 'UpdatedAt')
  const completedAt = instantAt(item, 'CompletedAt')
  return {
    kind: 'evaluation',
    evalId: idAt(item, 'EvalID'),
    dealerId: numberAt(item, wire.evaluation.dealerId),
    updatedAt,
    eventAt: event === 'ON_COMPLETE' ? (completedAt ?? updatedAt) : updatedAt,
    body: item,
  }
}

function driveHint(body: unknown, wire: AppraisalWire): Hint {
  return {
    kind: 'drive',
    evalId: idAt(body, wire.webhookBody.driveEvalId),
    dealerId: numberAt(body, wire.evaluation.dealerId),
    updatedAt: null,
    eventAt: null,
    body,
  }
}

function idAt(body: unknown, path: JsonPath): number | null {
  const id = numberAt(body, path)
  return id !== null && id > 0 ? id : null
}

function numberAt(body: unknown, path: JsonPath): number | null {
  const value = valueAt(body, path)
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value)
  return Number.isSafeInteger(value) ? (value as number) : null
}

function instantAt(item: unknown, path: string): Date | null {
  const value = valueAt(item, path)
  return typeof value === 'string' ? parseUtc(value) : null
}
