import { openServices } from '../../api/sources/open-services.ts'
import { errorText, SyncError, UsageError } from '../../errors.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { isLoopback } from '../../values/service-address.ts'
import { withSessionLock } from '../../warehouse/db/locks.ts'
import {
  isOurs,
  type ListedSubscription,
  type SubscriptionPlan,
  wantedFor,
} from '../../web/webhook/subscription-plan.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'
import {
  applyChanges,
  deleteSubscription,
  listSubscriptions,
  planChanges,
  readRecorded,
  type SubscriptionContext,
} from './webhooks-changes.ts'

export const plan: RunCommand = async (session, options) => {
  requireTarget(session)
  const results = await eachRooftop(session, options, async (context, rooftop) => {
    const { plan } = await planChanges(context, rooftop, wantedBy(session, rooftop))
    return planDocument(plan)
  })
  const drift = Object.values(results).some((one) => 'error' in one || hasChanges(one))
  session.result({ drift, rooftops: results }, () => [
    drift
      ? 'The subscriptions differ from the config:'
      : 'The subscriptions are as the config wants them.',
    ...planTable(byLabel(session, results)),
    ...errorLines(byLabel(session, results)),
  ])
  return resultsExitCode(results)
}

export const apply: RunCommand = async (session, options) => {
  requireSafe(requireTarget(session).publicUrl)
  const results = await eachRooftop(session, options, (context, rooftop) =>
    // Two that apply at once go one after the other; the second finds nothing left to do.
    withSessionLock(context.pool, { name: 'webhooks', subject: rooftop.id }, () =>
      applyChanges(context, rooftop, wantedBy(session, rooftop)),
    ),
  )
  session.result({ rooftops: results }, () => [
    'Subscriptions, by rooftop:',
    ...table(
      ['rooftop', 'created', 'updated', 'deleted'],
      Object.entries(byLabel(session, results)).flatMap(([rooftop, one]) =>
        'error' in one ? [] : [[rooftop, one.created, one.updated, one.deleted]],
      ),
    ),
    ...errorLines(byLabel(session, results)),
  ])
  return resultsExitCode(results)
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
  session.result({ rooftops: results }, () => [
    ...table(
      ['rooftop', 'id', 'event', 'to', 'ours'],
      Object.entries(byLabel(session, results)).flatMap(([rooftop, one]) =>
        'error' in one
          ? []
          : one.subscriptions.map(({ id, event, url, ours }) => {
              return [rooftop, String(id), event ?? '-', url, ours ? 'yes' : 'no']
            }),
      ),
    ),
    ...errorLines(byLabel(session, results)),
  ])
  return resultsExitCode(results)
}

export const remove: RunCommand = async (session, options, [text]) => {
  const id = Number(text)
  if (!Number.isSafeInteger(id) || id <= 0)
    throw new UsageError(
      `${String(text)} is not an id of a subscription: see "forecourt webhooks list".`,
    )
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
  if (!isDone && resultsExitCode(results) === 0)
    throw new UsageError(`No rooftop has a subscription ${id}: see "forecourt webhooks list".`)
  session.result({ id, deleted: isDone, rooftops: results }, () => [
    ...(isDone ? [`Subscription ${id} is deleted.`] : []),
    ...errorLines(byLabel(session, results)),
  ])
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

/** For a person: by name and uid. */
function byLabel<T>({ config }: Session, results: Readonly<Record<string, T>>): Record<string, T> {
  const label = labelRooftops(config.rooftops)
  return Object.fromEntries(Object.entries(results).map(([uid, one]) => [label(uid), one]))
}

function errorLines(results: Readonly<Record<string, object>>): string[] {
  return Object.entries(results).flatMap(([uid, one]) =>
    'error' in one ? [`  ${uid}: ${String(one.error)}`] : [],
  )
}

function resultsExitCode(results: Readonly<Record<string, object>>): number {
  return Object.values(results).some((one) => 'error' in one) ? 1 : 0
}

/** What went wrong at a rooftop. */
interface RooftopError {
  readonly error: string
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
function planTable(results: Readonly<Record<string, PlanDocument | RooftopError>>): string[] {
  const kinds = ['create', 'update', 'delete', 'same', 'foreign'] as const
  const rows = Object.entries(results).flatMap(([rooftop, one]) =>
    kinds.flatMap((what) => {
      const lines: readonly PlanLine[] = 'error' in one ? [] : one[what]
      return lines.map(({ id, event, url, to = url, why = '' }) => [
        ...[rooftop, what, String(id ?? '-'), event ?? '-', to, why],
      ])
    }),
  )
  return table(['rooftop', 'what', 'id', 'event', 'to', 'why'], rows)
}
