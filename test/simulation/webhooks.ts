import type { Context } from '#src/context.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import type { RunReport } from '#src/sync/run/run-report.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { readDueRooftops } from '#src/web/webhook/consume.ts'
import { Inbox } from '#src/web/webhook/inbox.ts'
import { type Evaluation, momentAt } from './evaluation.ts'
import { dealerIdOf, type ServedWorld, uidOf } from './source.ts'
import { bodyOf } from './wire.ts'
import { seedOf } from './world.ts'

/** A webhook that is being delivered: its evaluation, and the instant of its event. */
export interface WebhookDelivery {
  readonly served: ServedWorld
  readonly evaluation: Evaluation
  /** The instant of the event, ms; what the body says is as of then, however late it comes. */
  readonly of: number
}

/** The webhooks that arrive after `since` and until `until`, in an order of no sense: none of it may matter. */
export function webhooksBetween(
  all: readonly ServedWorld[],
  since: number,
  until: number,
): WebhookDelivery[] {
  const letters = all.flatMap((served) =>
    served.evaluations.flatMap((evaluation) =>
      evaluation.hints
        .filter(({ at }) => at > since && at <= until)
        .map(({ of }) => ({ served, evaluation, of })),
    ),
  )
  const rank = ({ evaluation, of }: WebhookDelivery) => seedOf(evaluation.evalId, of)
  return letters.sort((a, b) => rank(a) - rank(b))
}

/** Puts the letters into the inbox, as the receiver does, and loads what it holds. null: nothing waits. */
export async function deliverWebhooks(
  context: Context,
  letters: readonly WebhookDelivery[],
): Promise<RunReport | null> {
  const { pool, db, config } = context
  const rooftops = await findRooftops(db, config.rooftops)
  const inbox = new Inbox({ context, rooftops, secret: 'a secret of tests', debounceMs: 0 })
  for (const { served, evaluation, of } of letters) {
    const moment = momentAt(evaluation, of)!
    const { index } = served.world
    const dealerId = dealerIdOf(index, moment.rooftop)
    // The body is the item of the answer of /geteval [A §6].
    const text = bodyOf(evaluation, moment, { world: index, dealerId }).slice(1, -1)
    const rooftopUid = uidOf(index, moment.rooftop)
    const bytes = Buffer.from(text)
    await inbox.store({ event: 'ON_EXPORT', rooftopUid, bytes, body: JSON.parse(text) })
  }
  const due = new Set(
    (await readDueRooftops(openDb(pool), context.queue.sourceId, [], config.rooftops.length)).map(
      ({ uid }) => uid,
    ),
  )
  if (due.size === 0) return null
  const from = toUnixSeconds(config.sync.start)
  const plan = { command: 'webhooks', mode: 'hints', lane: 'event', from, until: null } as const
  const chosen = config.rooftops.filter(({ uid }) => due.has(uid))
  return await runStreams(context, { plan, streams: [evaluations], rooftops: chosen })
}
