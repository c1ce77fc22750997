import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  updateWebhook,
} from '../../api/contract/appraisal/webhooks.ts'
import { isLoopback } from '../../values/service-address.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { type Call, type Endpoint, serve } from '../call.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, valuesAt, wrapAtPath } from '../render.ts'
import type { Subscription, WebhookEvent } from '../webhooks.ts'

// An invalid id is answered as not found.
const noSuchId = { id: 404 }

/** The operations on the webhook subscriptions of a rooftop. */
export const webhookEndpoints: readonly Endpoint[] = [
  /** The subscriptions of the caller's rooftop, by id [A §4 Webhooks]. */
  serve(listWebhooks, ({ caller, service }) => {
    const { webhook } = service.wire.appraisal
    const records = service.webhooks
      .ofRooftop(caller.rooftop.uid)
      .map((one) => renderSubscription(one, webhook))
    return wrapAtPath(webhook.items, records)
  }),
  serve(createWebhook, ({ fields, caller, service }) => {
    const draft = {
      rooftopUid: caller.rooftop.uid,
      type: fields.type,
      event: fields.trigger_event,
      url: fields.webhook,
      authHeaderName: fields.auth_header_name ?? null,
      authHeaderValue: fields.auth_header_value ?? null,
    }
    requireSound(draft)
    return renderSubscription(service.webhooks.add(draft), service.wire.appraisal.webhook)
  }),
  /** Fields that are left out do not change. */
  serve(
    updateWebhook,
    (call) => {
      const { fields, service } = call
      const known = findSubscription(call)
      const updated = {
        ...known,
        type: fields.type ?? known.type,
        event: fields.trigger_event ?? known.event,
        url: fields.webhook ?? known.url,
        authHeaderName: fields.auth_header_name ?? known.authHeaderName,
        authHeaderValue: fields.auth_header_value ?? known.authHeaderValue,
      }
      requireSound(updated)
      service.webhooks.replace(updated)
      return renderSubscription(updated, service.wire.appraisal.webhook)
    },
    noSuchId,
  ),
  serve(
    deleteWebhook,
    (call) => {
      const { id } = findSubscription(call)
      call.service.webhooks.remove(id)
      return { success: true }
    },
    noSuchId,
  ),
]

function findSubscription({
  fields,
  caller,
  service,
}: Call<{ readonly id: number }>): Subscription {
  const found = service.webhooks.subscription(fields.id)
  if (found?.rooftopUid !== caller.rooftop.uid) throw new Refusal(404, 'Webhook not found')
  return found
}

/** The secret is never shown. */
function renderSubscription(
  { id, type, event, url, authHeaderName }: Subscription,
  names: AppraisalWire['webhook'],
): JsonObject {
  return valuesAt(names, { id, type, triggerEvent: event, url, authHeaderName })
}

const typeOf: Readonly<Record<WebhookEvent, Subscription['type']>> = {
  ON_COMPLETE: 'eval',
  ON_EXPORT: 'eval',
  ON_DRIVE_COMPLETED: 'drive',
}

/** Throws a 400 refusal for what the document does not allow [A §4 Webhooks, §6]. */
function requireSound(draft: Omit<Subscription, 'id'>): void {
  const { type, event, url, authHeaderName, authHeaderValue } = draft
  if (typeOf[event] !== type)
    throw new Refusal(400, `trigger_event: ${event} is of type ${typeOf[event]}, not ${type}`)
  const wrongUrl = problemOfUrl(url)
  if (wrongUrl !== null) throw new Refusal(400, `webhook: ${wrongUrl}`)
  if ((authHeaderName === null) !== (authHeaderValue === null))
    throw new Refusal(400, 'auth_header_name and auth_header_value belong together')
  if (authHeaderName !== null && !isFreeHeader(authHeaderName))
    throw new Refusal(400, 'auth_header_name: has to be the name of an HTTP header of your own')
  if (
    authHeaderValue !== null &&
    !/^[!-~\x80-\xff]([\t -~\x80-\xff]*[!-~\x80-\xff])?$/.test(authHeaderValue)
  )
    throw new Refusal(400, 'auth_header_value: has to be a valid value of an HTTP header')
}

/** http is allowed for receivers on this machine, because the sandbox runs on one machine. */
function problemOfUrl(text: string): string | null {
  const url = URL.parse(text)
  if (url === null) return 'has to be a URL'
  if (url.username !== '' || url.password !== '')
    return 'must not carry a user name or password; use the auth header'
  if (url.protocol === 'https:') return null
  return url.protocol === 'http:' && isLoopback(text)
    ? null
    : 'has to be an https URL (http is let through to this machine alone)'
}

// Headers that the delivery sets.
const reservedHeaders = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function isFreeHeader(name: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !reservedHeaders.has(name.toLowerCase())
}
