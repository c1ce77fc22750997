import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  updateWebhook,
} from '../../api/contract/appraisal/webhooks.ts'
import { openServices } from '../../api/sources/open-services.ts'
import type { ServiceClient } from '../../api/sources/service-client.ts'
import { errorText, SyncError, UsageError } from '../../errors.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { isLoopback } from '../../values/service-address.ts'
import { rooftopOptions } from '../../values/shell.ts'
import { withSessionLock } from '../../warehouse/db/locks.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import {
  isOurs,
  type ListedSubscription,
  planSubscriptions,
  type RecordedSubscription,
  readListed,
  type SubscriptionPlan,
  type WantedSubscription,
  wantedFor,
} from '../../web/webhook/subscription-plan.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import { parseId } from './option-values.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const plan: RunCommand = async (session, options) => {
  requireTarget(session)
  const results = await eachRooftop(session, options, async (context, rooftop) => {
    const { plan } = await planChanges(context, rooftop, wantedBy(session, rooftop))
    return planDocument(plan)
  })
  const drift = Object.values(results).some((one) => 'error' in one || hasChanges(one))
  return reportResults(session, { drift }, results, (labelled) => [
    drift
      ? 'The subscriptions differ from the config:'
      : 'The subscriptions are as the config wants them.',
    ...planTable(labelled),
  ])
}

export const apply: RunCommand = async (session, options) => {
  requireSafe(requireTarget(session).publicUrl)
  const results = await eachRooftop(session, options, (context, rooftop) =>
    // Two that apply at once go one after the other; the second finds nothing left to do.
    withSessionLock(context.pool, { name: 'webhooks', subject: rooftop.id }, () =>
      applyChanges(context, rooftop, wantedBy(session, rooftop)),
    ),
  )
  return reportResults(session, {}, results, (labelled) => [
    'Subscriptions, by rooftop:',
    ...table(
      ['rooftop', 'created', 'updated', 'deleted'],
      labelled.map(([rooftop, one]) => [rooftop, one.created, one.updated, one.deleted]),
    ),
  ])
}

export const list: RunCommand = async (session, options) => {
  const results = await eachRooftop(session, options, async (context, rooftop) => {
    const { listed } = await listSubscriptions(context, rooftop)
    const recorded = await readRecorded(context.db, rooftop)
    const { publicUrl } = session.config.webhooks
    return {
      subscriptions: listed.map((one) => ({
        ...withoutQuery(one),
        ours: isOurs(one, publicUrl, recorded),
      })),
    }
  })
  return reportResults(session, {}, results, (labelled) =>
    table(
      ['rooftop', 'id', 'event', 'to', 'ours'],
      labelled.flatMap(([rooftop, { subscriptions }]) =>
        subscriptions.map(({ id, event, url, ours }) => [
          ...[rooftop, String(id), event ?? '-', url, ours ? 'yes' : 'no'],
        ]),
      ),
    ),
  )
}

export const remove: RunCommand = async (session, options, [text]) => {
  const problem = `${String(text)} is not an id of a subscription: see "forecourt webhooks list".`
  const id = parseId(text, problem)
  const results = await eachRooftop(session, options, async (context, rooftop) => {
    const { listed } = await listSubscriptions(context, rooftop)
    const found = listed.find((one) => one.id === id)
    if (found === undefined) return { deleted: false }
    const recorded = await readRecorded(context.db, rooftop)
    if (!isOurs(found, session.config.webhooks.publicUrl, recorded) && options['foreign'] !== true)
      throw new UsageError(
        `Subscription ${id} leads to ${withoutQuery(found).url}, which is none of ours: nothing was deleted. Add --foreign to do it.`,
      )
    await deleteSubscription(context, rooftop, id)
    return { deleted: true }
  })
  const isDone = Object.values(results).some((one) => !('error' in one) && one.deleted)
  if (!isDone && Object.values(results).every((one) => !('error' in one)))
    throw new UsageError(`No rooftop has a subscription ${id}: see "forecourt webhooks list".`)
  reportResults(session, { id, deleted: isDone }, results, () =>
    isDone ? [`Subscription ${id} is deleted.`] : [],
  )
  return isDone ? 0 : 1
}

/** One rooftop after the other; an error at one does not stop the others. */
async function eachRooftop<T>(
  session: Session,
  options: Readonly<Record<string, unknown>>,
  act: (context: SubscriptionContext, rooftop: RooftopRow) => Promise<T>,
): Promise<Record<string, T | RooftopError>> {
  const { config, log, io } = session
  const chosen = chooseRooftops(config, options['rooftop'] as string[])
  await using services = openServices(config, log, ['read', 'write'])
  const { pool, db } = await session.warehouse('write')
  const context = { client: services.client, config, pool, db, signal: io.signal }
  const results: Record<string, T | RooftopError> = {}
  for (const rooftop of await registerRooftops(db, chosen, log)) {
    try {
      results[rooftop.uid] = await act(context, rooftop)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      results[rooftop.uid] = { error: errorText(error) }
    }
  }
  return results
}

function wantedBy({ config }: Session, { uid, keyName }: RooftopRow) {
  const { publicUrl, authHeaderValue } = config.webhooks
  const key = config.keys[keyName]!.value
  return wantedFor(uid, config.webhooks, { publicUrl: publicUrl!, secret: authHeaderValue!, key })
}

function requireTarget({ config }: Session): { readonly publicUrl: string } {
  const { publicUrl, authHeaderValue } = config.webhooks
  if (publicUrl === null)
    throw new UsageError(
      'webhooks.publicUrl is not set: put the address at which the service reaches "forecourt serve" into the config, e.g. https://hooks.example.com.',
    )
  if (authHeaderValue === null)
    throw new UsageError(
      `webhooks.authHeaderValue is not set, and without it anyone could forge deliveries: put "\${FORECOURT_WEBHOOK_TOKEN}" there and the token into the environment, e.g. FORECOURT_WEBHOOK_TOKEN=$(openssl rand -hex 24).`,
    )
  return { publicUrl }
}

/** Customers travel in the body, and the secret in the header. */
function requireSafe(publicUrl: string): void {
  if (new URL(publicUrl).protocol === 'https:' || isLoopback(publicUrl)) return
  throw new UsageError(
    `webhooks.publicUrl ${publicUrl} is not https: customers' data would travel in the clear. Put a proxy with TLS before "forecourt serve", and its address there.`,
  )
}

/** Reports what was done at each rooftop, for a person by name and uid with the errors at the end. 1: there was an error. */
function reportResults<T extends object>(
  session: Session,
  document: object,
  results: Readonly<Record<string, T | RooftopError>>,
  lines: (labelled: readonly (readonly [rooftop: string, T])[]) => readonly string[],
): number {
  const label = labelRooftops(session.config.rooftops)
  const all = Object.entries(results).map(([uid, one]) => [label(uid), one] as const)
  const errors = all.flatMap(([rooftop, one]) =>
    isError(one) ? [`  ${rooftop}: ${one.error}`] : [],
  )
  session.result({ ...document, rooftops: results }, () => [
    ...lines(all.flatMap(([rooftop, one]) => (isError(one) ? [] : [[rooftop, one] as const]))),
    ...errors,
  ])
  return errors.length > 0 ? 1 : 0
}

/** What went wrong at a rooftop. */
interface RooftopError {
  readonly error: string
}

function isError(result: object): result is RooftopError {
  return 'error' in result
}

/** Never the query: an address of others may hold a secret there. */
function withoutQuery({ id, event, type, url }: ListedSubscription) {
  const parsed = URL.parse(url)
  return { id, event, type, url: parsed === null ? '?' : parsed.origin + parsed.pathname }
}

/** A plan as --json shows it. */
function planDocument({
  create,
  update,
  remove: gone,
  unchanged: same,
  foreign,
}: SubscriptionPlan) {
  return {
    create: create.map(({ event, url }) => ({ event, url })),
    update: update.map(({ listed, wanted, why }) => ({
      ...withoutQuery(listed),
      to: wanted.url,
      why,
    })),
    delete: gone.map(({ listed, why }) => ({ ...withoutQuery(listed), why })),
    same: same.map(({ listed }) => withoutQuery(listed)),
    foreign: foreign.map(withoutQuery),
  }
}

type PlanDocument = ReturnType<typeof planDocument>

/** Whether there is anything to do. */
function hasChanges({ create, update, delete: gone }: PlanDocument): boolean {
  return create.length + update.length + gone.length > 0
}

interface PlanLine {
  readonly id?: number
  readonly event: string | null
  readonly url: string
  readonly to?: string
  readonly why?: string
}

/** The plans for a person, a line for each subscription. */
function planTable(plans: readonly (readonly [rooftop: string, PlanDocument])[]): string[] {
  const kinds = ['create', 'update', 'delete', 'same', 'foreign'] as const
  const rows = plans.flatMap(([rooftop, one]) =>
    kinds.flatMap((what) => {
      const lines: readonly PlanLine[] = one[what]
      return lines.map(({ id, event, url, to = url, why = '' }) => [
        ...[rooftop, what, String(id ?? '-'), event ?? '-', to, why],
      ])
    }),
  )
  return table(['rooftop', 'what', 'id', 'event', 'to', 'why'], rows)
}

/** What is needed to read and change the subscriptions of a rooftop. */
interface SubscriptionContext {
  readonly client: ServiceClient<'read' | 'write'>
  readonly config: Config
  readonly db: Db
  readonly pool: pg.Pool
  readonly signal: AbortSignal
}

/** After this many lost answers the change fails; before, the list is read again. */
const maxLostAnswers = 3
/** The service gets this long to show what it was sent before it is asked whether it took it. */
const afterLossMs = 1_000

/** The subscriptions of a rooftop, by the service. SyncError `abort` when they are not where the wire settings say. */
async function listSubscriptions(
  { client, config, signal }: SubscriptionContext,
  rooftop: RooftopRow,
): Promise<{ readonly listed: ListedSubscription[]; readonly at: Date }> {
  const answer = await client.call(listWebhooks, { rooftop, fields: {}, signal })
  const listed = readListed(answer.body, config.wire.appraisal)
  if (listed !== null) return { listed, at: answer.date ?? new Date() }
  throw new SyncError(
    'abort',
    `The subscriptions of rooftop ${rooftop.uid} are not where wire.appraisal.webhook (items, id, url) says: set it to where the answer of "forecourt api webhooks-list${rooftopOptions(rooftop.uid)}" has them. Nothing was changed.`,
    { rooftopUid: rooftop.uid },
  )
}

/** What "webhooks apply" has set for a rooftop. */
async function readRecorded(db: Db, rooftop: RooftopRow): Promise<RecordedSubscription[]> {
  const { rows } = await sql<RecordedSubscription>`
    select subscription_id as id, event, url, header_hash as "headerHash"
    from ops.webhook_subscription where rooftop_id = ${rooftop.id} order by event`.execute(db)
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/** What has to be done for a rooftop, from what the service lists now. */
async function planChanges(
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
async function applyChanges(
  context: SubscriptionContext,
  rooftop: RooftopRow,
  wanted: readonly WantedSubscription[],
) {
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
  | ({ readonly does: 'update' } & SubscriptionPlan['update'][number])
  | ({ readonly does: 'delete' } & SubscriptionPlan['remove'][number])

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
async function deleteSubscription(
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
