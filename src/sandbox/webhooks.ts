import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { selfServeEvents } from '../api/contract/appraisal/webhooks.ts'
import type { VirtualClock } from './clock.ts'
import { fieldsAt, isCompleted } from './lifecycle.ts'
import {
  type JsonObject,
  type Rendering,
  renderEvaluation,
  valuesAt,
  wrapAtPath,
} from './render.ts'
import { seededRandom } from './seeded-random.ts'
import type { World } from './world.ts'
import type { Evaluation, EvaluationFields } from './world-types.ts'

/** Events that can be subscribed to here [A §6]. */
export type WebhookEvent = (typeof selfServeEvents)[number]

/** A webhook subscription of a rooftop [A §2]. */
export interface Subscription {
  readonly id: number
  readonly rooftopUid: string
  readonly type: 'eval' | 'drive'
  readonly event: WebhookEvent
  readonly url: string
  /** Null, like the value, when there is no custom auth header. */
  readonly authHeaderName: string | null
  readonly authHeaderValue: string | null
}

/** One POST to one subscription. */
interface Delivery {
  readonly id: number
  readonly subscriptionId: number
  readonly event: WebhookEvent
  readonly evalId: number
  readonly url: string
  /** By the virtual clock, when the event happened. */
  readonly at: Date
  /** Status of the receiver's answer; null until it answers, and when there was no answer. */
  readonly status: number | null
  /** Why there was no answer; null until the delivery has failed. */
  readonly error: string | null
}

/** Decides what happens to a delivery before it is sent; deliveries after a `late` one may overtake it. */
export type DeliveryPlan = (delivery: Delivery) => 'send' | 'lose' | 'double' | 'late'

/** The data of deliveries, and the time-out of a receiver. */
interface WebhookSource {
  readonly world: World
  readonly clock: VirtualClock
  readonly rendering: Rendering
  /** Real milliseconds; default 10,000, since the document gives none [A §6]. */
  readonly timeoutMs?: number
}

const maxDeliveries = 10_000
/** Delay of a late delivery. */
const lateMs = 300
/** How often completed evaluations are searched while the clock runs. */
const pollIntervalMs = 250

/** Subscriptions, and deliveries to them: one attempt each, in the background, without following redirects. ON_COMPLETE is sent
 *  when the clock passes a completion. */
export class Webhooks {
  /** Tests may lose, double or delay deliveries; otherwise each is sent once. */
  plan: DeliveryPlan = () => 'send'
  readonly #source: WebhookSource
  readonly #subscriptions = new Map<number, Subscription>()
  readonly #deliveries = new Map<number, Delivery>()
  readonly #underWay = new Set<Promise<void>>()
  // A separate pool, so that closing it ends the deliveries in flight.
  readonly #agent = new Agent()
  /** Evaluations whose completion was sent, or happened before the first subscription. */
  readonly #reported = new Set<number>()
  #timer: NodeJS.Timeout | undefined
  #lastSubscription = 0
  #lastDelivery = 0

  constructor(source: WebhookSource) {
    this.#source = source
    source.clock.onMove(() => this.#sendCompletions())
  }

  /** By id. */
  ofRooftop(rooftopUid: string): Subscription[] {
    return [...this.#subscriptions.values()].filter((one) => one.rooftopUid === rooftopUid)
  }

  subscription(id: number): Subscription | undefined {
    return this.#subscriptions.get(id)
  }

  add(draft: Omit<Subscription, 'id'>): Subscription {
    // Evaluations completed before the first subscription are not events.
    if (this.#subscriptions.size === 0) this.#takeCompleted()
    this.#timer ??= setInterval(() => this.#sendCompletions(), pollIntervalMs).unref()
    this.#lastSubscription += 1
    const added = { ...draft, id: this.#lastSubscription }
    this.replace(added)
    return added
  }

  /** Replaces the subscription with the same id. */
  replace(subscription: Subscription): void {
    this.#subscriptions.set(subscription.id, subscription)
  }

  remove(id: number): void {
    this.#subscriptions.delete(id)
  }

  /** Starts a delivery to every matching subscription of the evaluation's rooftop, with the evaluation at that instant (default:
   *  now). Error when the evaluation does not exist. */
  trigger(event: WebhookEvent, evalId: number, at = this.#source.clock.now()): readonly Delivery[] {
    const evaluation = this.#source.world.evaluation(evalId)
    if (evaluation === undefined) throw new Error(`This world has no evaluation ${evalId}`)
    if (event === 'ON_COMPLETE') this.#reported.add(evalId)
    const matching = this.ofRooftop(evaluation.rooftopUid).filter((one) => one.event === event)
    if (matching.length === 0) return []
    const body = JSON.stringify(this.#bodyOf(event, evaluation, at))
    return matching.flatMap((subscription) => this.#deliver(subscription, { evalId, at }, body))
  }

  /** Sends ON_COMPLETE for the evaluations completed since the last call, as they were at their completion. */
  #sendCompletions(): void {
    if (this.#subscriptions.size === 0) return
    for (const { evalId, completedAt } of this.#takeCompleted())
      this.trigger('ON_COMPLETE', evalId, completedAt!)
  }

  /** Evaluations that the clock has completed since the last call, in the order of their completion. */
  #takeCompleted(): Evaluation[] {
    const { world, clock } = this.#source
    const now = clock.now()
    const found = [...world.evaluations()].filter(
      (one) => !this.#reported.has(one.evalId) && isCompleted(one, now),
    )
    for (const { evalId } of found) this.#reported.add(evalId)
    return found.sort(
      (a, b) => a.completedAt!.getTime() - b.completedAt!.getTime() || a.evalId - b.evalId,
    )
  }

  /** The latest 10,000 deliveries, oldest first. */
  deliveries(): Delivery[] {
    return [...this.#deliveries.values()]
  }

  /** Resolves when no delivery is in flight. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Ends the deliveries in flight with an error in the log; no further delivery is sent. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#subscriptions.clear()
    await this.#agent.destroy()
    await this.idle()
  }

  #bodyOf(event: WebhookEvent, evaluation: Evaluation, now: Date): unknown {
    const { world, rendering } = this.#source
    if (event === 'ON_DRIVE_COMPLETED')
      return renderDrive(drawDrive(evaluation, now), { world, rendering })
    const rendered = renderEvaluation(world, evaluation, rendering, now)
    return wrapAtPath(rendering.wire.webhookBody.evaluation, rendered)
  }

  #deliver(
    subscription: Subscription,
    event: { readonly evalId: number; readonly at: Date },
    body: string,
  ): Delivery[] {
    const first = this.#log(subscription, event)
    const fate = this.plan(first)
    if (fate === 'lose')
      return [this.#note(first, { status: null, error: 'Lost, as the delivery plan says' })]
    const planned = fate === 'double' ? [first, this.#log(subscription, event)] : [first]
    for (const delivery of planned) {
      const sending = this.#sendAfter(fate === 'late' ? lateMs : 0, delivery, subscription, body)
      this.#underWay.add(sending)
      void sending.finally(() => this.#underWay.delete(sending))
    }
    return planned
  }

  #log(
    { id: subscriptionId, event, url }: Subscription,
    { evalId, at }: { readonly evalId: number; readonly at: Date },
  ): Delivery {
    this.#lastDelivery += 1
    const id = this.#lastDelivery
    this.#deliveries.delete(id - maxDeliveries)
    const delivery = { id, subscriptionId, event, evalId, url, at, status: null, error: null }
    this.#deliveries.set(id, delivery)
    return delivery
  }

  #note(delivery: Delivery, outcome: Pick<Delivery, 'status' | 'error'>): Delivery {
    const noted = { ...delivery, ...outcome }
    if (this.#deliveries.has(delivery.id)) this.#deliveries.set(delivery.id, noted)
    return noted
  }

  async #sendAfter(ms: number, ...sent: [Delivery, Subscription, string]): Promise<void> {
    if (ms > 0) await sleep(ms)
    await this.#send(...sent)
  }

  /** Never rejects: errors are in the log. */
  async #send(
    delivery: Delivery,
    { authHeaderName, authHeaderValue }: Subscription,
    body: string,
  ): Promise<void> {
    const auth =
      authHeaderName === null || authHeaderValue === null
        ? {}
        : { [authHeaderName]: authHeaderValue }
    try {
      const answer = await request(delivery.url, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...auth },
        body,
        signal: AbortSignal.timeout(this.#source.timeoutMs ?? 10_000),
      })
      // Only the status matters; the body is not read.
      answer.body.on('error', () => {}).destroy()
      this.#note(delivery, { status: answer.statusCode, error: null })
    } catch (error) {
      this.#note(delivery, { status: null, error: deliveryFailure(error) })
    }
  }
}

function deliveryFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'The receiver took too long'
  if ('code' in error && error.code === 'UND_ERR_DESTROYED') return 'The sandbox was closed'
  // Several addresses were tried: only the inner errors have a message.
  if (error instanceof AggregateError) return error.errors.map(deliveryFailure).join('; ')
  return error.message
}

const minuteMs = 60_000

/** A test drive with the vehicle of an evaluation; the document shows only the event of a drive [A §6]. */
interface Drive {
  readonly id: number
  readonly evalId: number
  readonly fields: EvaluationFields
  readonly startedAt: Date
  readonly completedAt: Date
  readonly distanceKm: number
}

/** The drive that ends now; the same evaluation and instant always give the same drive. */
function drawDrive(evaluation: Evaluation, now: Date): Drive {
  const { evalId } = evaluation
  const random = seededRandom(evalId, `drive until ${now.toISOString()}`)
  return {
    id: random.int(100_000, 9_999_999),
    evalId,
    fields: fieldsAt(evaluation, now),
    startedAt: new Date(now.getTime() - random.int(8, 45) * minuteMs),
    completedAt: now,
    distanceKm: random.int(20, 280) / 10,
  }
}

/** The body of a drive webhook: ids at the paths of the wire settings, and plausible other fields. */
function renderDrive(
  { id, evalId, fields, startedAt, completedAt, distanceKm }: Drive,
  { world, rendering }: { readonly world: World; readonly rendering: Rendering },
): JsonObject {
  const user = world.user(fields.userId)
  const body: JsonObject = {
    VIN: fields.vin,
    StartedAt: startedAt,
    CompletedAt: completedAt,
    DistanceKm: distanceKm,
    UserName: user?.name ?? null,
    UserEmail: user?.email ?? null,
    CustomerName: fields.customer.name,
  }
  return valuesAt(rendering.wire.webhookBody, { driveId: id, driveEvalId: evalId }, body)
}
