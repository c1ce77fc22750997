import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  updateWebhook,
} from '../../api/contract/appraisal/webhooks.ts'
import type { ServiceClient } from '../../api/sources/service-client.ts'
import { SyncError } from '../../errors.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import {
  type ListedSubscription,
  planSubscriptions,
  type RecordedSubscription,
  readListed,
  type SubscriptionPlan,
  type WantedSubscription,
} from '../../web/webhook/subscription-plan.ts'
import type { Config } from '../config/read.ts'

/** What is needed to read and change the subscriptions of a rooftop. */
export interface SubscriptionContext {
  readonly client: ServiceClient<'read' | 'write'>
  readonly config: Config
  readonly db: Db
  readonly pool: pg.Pool
  readonly signal: AbortSignal
}

/** What applying did to a rooftop's subscriptions. */
interface ChangeCounts {
  readonly created: number
  readonly updated: number
  readonly deleted: number
}

/** After this many lost answers the change fails; before, the list is read again. */
const maxLostAnswers = 3
/** The service gets this long to show what it was sent before it is asked whether it took it. */
const afterLossMs = 1_000

/** The subscriptions of a rooftop, by the service. SyncError `abort` when they are not where the wire settings say. */
export async function listSubscriptions(
  { client, config, signal }: SubscriptionContext,
  rooftop: RooftopRow,
): Promise<{ readonly listed: ListedSubscription[]; readonly at: Date }> {
  const answer = await client.call(listWebhooks, { rooftop, fields: {}, signal })
  const listed = readListed(answer.body, config.wire.appraisal)
  if (listed !== null) return { listed, at: answer.date ?? new Date() }
  throw new SyncError(
    'abort',
    `The subscriptions of rooftop ${rooftop.uid} are not where wire.appraisal.webhook (items, id, url) says: set it to where the answer of "forecourt api webhooks-list" has them. Nothing was changed.`,
    { rooftopUid: rooftop.uid },
  )
}

/** What "webhooks apply" has set for a rooftop. */
export async function readRecorded(db: Db, rooftop: RooftopRow): Promise<RecordedSubscription[]> {
  const { rows } = await sql<RecordedSubscription>`
    select subscription_id as id, event, url, header_hash as "headerHash"
    from ops.webhook_subscription where rooftop_id = ${rooftop.id} order by event`.execute(db)
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/** What has to be done for a rooftop, from what the service lists now. */
export async function planChanges(
  context: SubscriptionContext,
  rooftop: RooftopRow,
  wanted: readonly WantedSubscription[],
): Promise<{ readonly plan: SubscriptionPlan; readonly at: Date }> {
  const { listed, at } = await listSubscriptions(context, rooftop)
  const recorded = await readRecorded(context.db, rooftop)
  const publicUrl = context.config.webhooks.publicUrl!
  return { plan: planSubscriptions(wanted, listed, { publicUrl, recorded }), at }
}

/**
 * Brings the subscriptions of a rooftop to what is wanted, one write at a time, each from a list read just before it. A write
 * whose answer is lost is searched for in the next list, and never sent again without that. Ends when the list is as wanted. SyncError
 * when the service refuses, or does not list what it took.
 */
export async function applyChanges(
  context: SubscriptionContext,
  rooftop: RooftopRow,
  wanted: readonly WantedSubscription[],
): Promise<ChangeCounts> {
  const done = { created: 0, updated: 0, deleted: 0 }
  const taken = new Set<string>()
  let losses = 0
  for (;;) {
    context.signal.throwIfAborted()
    const { plan, at } = await planChanges(context, rooftop, wanted)
    const step = nextStep(plan)
    if (step === null) return done
    const name = `${step.does} ${step.does === 'create' ? step.wanted.event : step.listed.id}`
    if (taken.has(name)) throw notShown(rooftop, name)
    try {
      await perform(context, rooftop, step, at)
      taken.add(name)
      done[`${step.does}d`]++
    } catch (error) {
      if (!isLost(error) || ++losses > maxLostAnswers) throw error
      await sleep(afterLossMs)
    }
  }
}

type Step =
  | { readonly does: 'create'; readonly wanted: WantedSubscription }
  | {
      readonly does: 'update'
      readonly wanted: WantedSubscription
      readonly listed: ListedSubscription
    }
  | { readonly does: 'delete'; readonly listed: ListedSubscription }

/** Doubles go first, while we still know that they are ours; then nothing is taken away while something is missing. */
function nextStep({ create, update, remove }: SubscriptionPlan): Step | null {
  const double = remove.find(({ isDuplicate: isDouble }) => isDouble)
  if (double !== undefined) return { does: 'delete', ...double }
  const [changed] = update
  if (changed !== undefined) return { does: 'update', ...changed }
  const [missing] = create
  if (missing !== undefined) return { does: 'create', wanted: missing }
  const [obsolete] = remove
  return obsolete === undefined ? null : { does: 'delete', ...obsolete }
}

async function perform(
  context: SubscriptionContext,
  rooftop: RooftopRow,
  step: Step,
  at: Date,
): Promise<void> {
  const { client, db, signal } = context
  if (step.does === 'delete') return await deleteSubscription(context, rooftop, step.listed.id)
  const { wanted } = step
  const fields = {
    type: wanted.type,
    trigger_event: wanted.event,
    webhook: wanted.url,
    auth_header_name: wanted.headerName,
    auth_header_value: context.config.webhooks.authHeaderValue!,
  }
  if (step.does === 'update') {
    const { id } = step.listed
    await client.call(updateWebhook, { rooftop, fields: { id, ...fields }, signal })
    return await record(db, rooftop, wanted, id, at)
  }
  await client.call(createWebhook, { rooftop, fields, signal })
  // The answer of a create is not shown [A §4]: the list has the id.
  const { listed } = await listSubscriptions(context, rooftop)
  const isNew = ({ event, url }: ListedSubscription) => event === wanted.event && url === wanted.url
  const made = listed.filter(isNew).sort((a, b) => a.id - b.id)[0]
  if (made === undefined) throw notShown(rooftop, `create ${wanted.event}`)
  await record(db, rooftop, wanted, made.id, at)
}

/** Ends a subscription of a rooftop; one that has gone meanwhile is as good. */
export async function deleteSubscription(
  { client, db, signal }: SubscriptionContext,
  rooftop: RooftopRow,
  id: number,
): Promise<void> {
  try {
    await client.call(deleteWebhook, { rooftop, fields: { id }, signal })
  } catch (error) {
    if (!(error instanceof SyncError) || error.status !== 404) throw error
  }
  await sql`
    delete from ops.webhook_subscription
    where rooftop_id = ${rooftop.id} and subscription_id = ${id}`.execute(db)
}

/** `since` stays while the same subscription goes on: what it should have delivered is counted from there. */
async function record(
  db: Db,
  rooftop: RooftopRow,
  { event, url, headerHash }: WantedSubscription,
  id: number,
  at: Date,
): Promise<void> {
  await sql`
    insert into ops.webhook_subscription as old (rooftop_id, event, subscription_id, url, header_hash, since)
    values (${rooftop.id}, ${event}, ${id}, ${url}, ${headerHash}, ${at})
    on conflict (rooftop_id, event) do update set subscription_id = excluded.subscription_id, url = excluded.url,
      header_hash = excluded.header_hash, applied_at = now(),
      since = case when old.subscription_id = excluded.subscription_id and old.url = excluded.url then old.since
        else excluded.since end`.execute(db)
}

/** Whether the service may have done it all the same. */
function isLost(error: unknown): boolean {
  if (!(error instanceof SyncError) || error.errorAction === 'abort') return false
  const { status } = error
  return status === undefined || status === 408 || status < 400 || status >= 500
}

function notShown({ uid }: RooftopRow, what: string): SyncError {
  return new SyncError(
    'abort',
    `The service took "${what}" for rooftop ${uid}, but its list does not show it: check "forecourt webhooks list" and wire.appraisal.webhook before anything is sent again.`,
    { rooftopUid: uid },
  )
}
