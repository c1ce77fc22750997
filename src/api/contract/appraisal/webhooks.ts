import { z } from 'zod'
import { asReceived, operation } from '../operation.ts'
import { placedAt } from '../reading.ts'

// Webhook subscriptions of the key's rooftop [A §4 Webhooks, §6]. Bodies of the answers are not shown.

const path = '/partner/webhooks'
const one = '/partner/webhooks/{id}'
const source = '[A §4 Webhooks]'
const id = z.int().positive().describe('numeric id of the subscription')
const authHeader = {
  auth_header_name: z.string().min(1).optional().describe('name of a custom auth header'),
  auth_header_value: z.string().min(1).optional().describe('its value'),
}
const type = z.enum(['eval', 'drive']).describe('what the event is about')
/** ON_SHARE_OFFER and ON_EXTERNAL_PRICE cannot be created on this interface [A §6]. */
export const selfServeEvents = ['ON_COMPLETE', 'ON_EXPORT', 'ON_DRIVE_COMPLETED'] as const
const event = z
  .enum(
    selfServeEvents,
    `has to be ${selfServeEvents.join(', ')}; ON_SHARE_OFFER and ON_EXTERNAL_PRICE cannot be created on this interface`,
  )
  .describe('when it is delivered')
const address = z.string().min(1).describe('HTTPS POST URL')
const record = placedAt(
  { count: ['id'], text: ['type', 'triggerEvent', 'url', 'authHeaderName'] },
  ({ appraisal }) => appraisal.webhook,
)

export const listWebhooks = operation({
  name: 'webhooks-list',
  aliases: ['partner/webhooks'],
  effect: 'read',
  transport: { method: 'GET', path, encoding: 'query' },
  summary: 'Eval and drive webhook subscriptions of the rooftop',
  source,
  fields: {},
  statuses: { 403: 'invalid API key' },
  example: {},
  mayBeEmpty: true,
  read: asReceived((wire) => [[wire.appraisal.webhook.items, record(wire)]]),
})

export const createWebhook = operation({
  name: 'webhooks-create',
  effect: 'write',
  transport: { path },
  summary: 'Subscribes to an event',
  source,
  fields: { type, trigger_event: event, webhook: address, ...authHeader },
  status: 201,
  statuses: { 400: 'a field is missing or not one of those allowed', 403: 'invalid API key' },
  example: { type: 'eval', trigger_event: 'ON_COMPLETE', webhook: 'https://dealer.invalid/hook' },
  mayBeEmpty: true,
  read: asReceived(record),
})

export const updateWebhook = operation({
  name: 'webhooks-update',
  effect: 'write',
  transport: { method: 'PUT', path: one },
  summary: 'Changes a subscription',
  source,
  fields: {
    id,
    type: type.optional(),
    trigger_event: event.optional(),
    webhook: address.optional(),
    ...authHeader,
  },
  statuses: {
    400: 'a field is not one of those allowed',
    403: 'invalid API key',
    404: 'webhook not found',
  },
  example: { id: 1, webhook: 'https://dealer.invalid/hook' },
  mayBeEmpty: true,
  read: asReceived(record),
})

export const deleteWebhook = operation({
  name: 'webhooks-delete',
  effect: 'write',
  transport: { method: 'DELETE', path: one, encoding: 'query' },
  summary: 'Ends a subscription',
  source,
  fields: { id },
  statuses: { 403: 'invalid API key', 404: 'webhook not found' },
  example: { id: 1 },
  mayBeEmpty: true,
  read: asReceived(),
})

export const webhookOperations = [
  listWebhooks,
  createWebhook,
  updateWebhook,
  deleteWebhook,
] as const
