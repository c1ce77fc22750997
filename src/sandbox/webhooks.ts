import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { selfServeEvents } from '../contract/appraisal/webhooks.ts'
import { firstCandidate, type JsonPath } from '../values/json-path.ts'
import type { VirtualClock } from './clock.ts'
import { Completions } from './completions.ts'
import { driveOf, renderDrive } from './drive.ts'
import { type JsonObject, setAtPath, type Rendering, renderEvaluation } from './render.ts'
import type { World } from './world.ts'
import type { Evaluation } from './world-types.ts'

/** Events that can be subscribed to here [A §6]. */
export type WebhookEvent = (typeof selfServeEvents)[number]

/** A webhook subscription of a rooftop [A §2]. */
export interface Subscription {
  readonly id: number
  readonly rooftopUid: string
  readonly type: 'eval' | 'drive'
  readonly event: WebhookEvent
  readonly url: string
  /** null, as the value is, when there is no custom auth header. */
  readonly authHeaderName: string | null
  readonly authHeaderValue: string | null
}

/** One POST to one subscription. */
export interface Delivery {
  readonly id: number
  readonly subscriptionId: number
  readonly event: WebhookEvent
  readonly evalId: number
  readonly url: string
  /** By the virtual clock, when the event happened. */
  readonly at: Date
  /** What the receiver answered; null while it is under way, and when there was no answer. */
  readonly status: number | null
  /** Why there was no answer; null while it is under way. */
  readonly error: string | null
}

/** What becomes of a delivery before it goes out; `late` lets those behind it pass. */
export type DeliveryPlan = (delivery: Delivery) => 'send' | 'lose' | 'double' | 'late'

/** What deliveries tell of, and how long a receiver may take. */
export interface WebhookSource {
  readonly world: World
  readonly clock: VirtualClock
  readonly rendering: Rendering
  /** Real milliseconds; default 10,000, since the document gives none [A §6]. */
  readonly timeoutMs?: number
}

const keptDeliveries = 10_000
/** How long a late delivery is held back. */
const lateMs = 300
/** How often a running clock is looked at for evaluations that it has completed. */
const lookEveryMs = 250

/** Subscriptions, and deliveries to them: one attempt each, in the background, no redirect followed. ON_COMPLETE fires by
 *  itself when the clock passes a completion. */
export class Webhooks {
  /** Tests may lose, double or delay deliveries; otherwise each is sent once. */
  plan: DeliveryPlan = () => 'send'
  readonly #source: WebhookSource
  readonly #subscriptions = new Map<number, Subscription>()
  readonly #deliveries = new Map<number, Delivery>()
  readonly #underWay = new Set<Promise<void>>()
  // A pool of its own, so that closing it ends what is under way.
  readonly #agent = new Agent()
  readonly #completions: Completions
  #looking: NodeJS.Timeout | undefined
  #lastSubscription = 0
  #lastDelivery = 0

  constructor(source: WebhookSource) {
    this.#source = source
    this.#completions = new Completions(source.world, source.clock)
    source.clock.onMove(() => this.#look())
  }

  /** By id. */
  ofRooftop(rooftopUid: string): Subscription[] {
    return [...this.#subscriptions.values()].filter((one) => one.rooftopUid === rooftopUid)
  }

  subscription(id: number): Subscription | undefined {
    return this.#subscriptions.get(id)
  }

  add(draft: Omit<Subscription, 'id'>): Subscription {
    // What was completed before anybody asked is no event.
    if (this.#subscriptions.size === 0) this.#completions.skipPast()
    this.#looking ??= setInterval(() => this.#look(), lookEveryMs).unref()
    this.#lastSubscription += 1
    const added = { ...draft, id: this.#lastSubscription }
    this.replace(added)
    return added
  }

  /** Puts a subscription in the place of the one with its id. */
  replace(subscription: Subscription): void {
    this.#subscriptions.set(subscription.id, subscription)
  }

  remove(id: number): void {
    this.#subscriptions.delete(id)
  }

  /** Starts a delivery to every matching subscription of the evaluation's rooftop, with the evaluation as it is at
   *  that instant, by default now. Error when there is no such evaluation. */
  trigger(event: WebhookEvent, evalId: number, at = this.#source.clock.now()): readonly Delivery[] {
    const evaluation = this.#source.world.evaluation(evalId)
    if (evaluation === undefined) throw new Error(`This world has no evaluation ${evalId}`)
    if (event === 'ON_COMPLETE') this.#completions.markReported(evalId)
    const matching = this.ofRooftop(evaluation.rooftopUid).filter((one) => one.event === event)
    if (matching.length === 0) return []
    const body = JSON.stringify(this.#bodyOf(event, evaluation, at))
    return matching.flatMap((subscription) => this.#deliver(subscription, { evalId, at }, body))
  }

  /** Fires for what the clock has completed since the last look, as it was then. */
  #look(): void {
    if (this.#subscriptions.size === 0) return
    for (const { evalId, completedAt } of this.#completions.takeNew())
      this.trigger('ON_COMPLETE', evalId, completedAt!)
  }

  /** The kept deliveries (the latest 10,000), oldest first. */
  deliveries(): Delivery[] {
    return [...this.#deliveries.values()]
  }

  /** When nothing is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Ends what is under way, with an error in the log; nothing goes out any more. */
  async close(): Promise<void> {
    clearInterval(this.#looking)
    this.#subscriptions.clear()
    await this.#agent.destroy()
    await this.idle()
  }

  #bodyOf(event: WebhookEvent, evaluation: Evaluation, now: Date): unknown {
    const { world, rendering } = this.#source
    if (event === 'ON_DRIVE_COMPLETED')
      return renderDrive(driveOf(evaluation, now), { world, rendering })
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
    this.#deliveries.delete(id - keptDeliveries)
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

  /** Never rejects: what went wrong is in the log. */
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
      // The status says it all; the rest of the answer is not worth the wait.
      answer.body.on('error', () => {}).destroy()
      this.#note(delivery, { status: answer.statusCode, error: null })
    } catch (error) {
      this.#note(delivery, { status: null, error: reasonOf(error) })
    }
  }
}

/** The value where a reader with these settings looks for it; a path of `""` makes it the whole body. */
export function wrapAtPath(path: JsonPath, value: unknown): unknown {
  if (firstCandidate(path) === '') return value
  const body: JsonObject = {}
  setAtPath(body, path, value)
  return body
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'The receiver took too long'
  if ('code' in error && error.code === 'UND_ERR_DESTROYED') return 'The sandbox was closed'
  // Several addresses were tried: the error itself says nothing.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error.message
}
