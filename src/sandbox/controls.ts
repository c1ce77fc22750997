import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { instant } from '../api/contract/fields.ts'
import { issueText } from '../api/contract/issue-text.ts'
import { faultRule } from './faults.ts'
import { isReadable } from './lifecycle.ts'
import { defaultLimits } from './limits.ts'
import { Refusal } from './refusal.ts'
import { readJsonBody } from './request-body.ts'
import type { SandboxState } from './sandbox-state.ts'
import { seededRandom } from './seeded-random.ts'
import type { DeliveryPlan, WebhookEvent } from './webhooks.ts'

// Controls for what happens at a real service without a call, e.g. a press in its app. They are not in the documents.

const clockMove = z.xor(
  [z.strictObject({ advanceSeconds: z.number() }), z.strictObject({ set: instant })],
  'send { advanceSeconds: number } or { set: ISO instant with a zone }',
)

const evaluationOnly = z.strictObject({ evalid: z.int().positive() })

const limitNames = Object.keys(defaultLimits) as (keyof typeof defaultLimits)[]
const someLimits = z.partialRecord(z.enum(limitNames), z.int().min(0))

const share = z.number().min(0).max(1).default(0)
const deliveryShares = z.strictObject({
  lose: share,
  double: share,
  late: share,
  seed: z.int().default(1),
})

type Control = (body: unknown) => unknown

/** The controls by method and path; what each answers is JSON. */
function buildControls(service: SandboxState): Readonly<Record<string, Control>> {
  const { clock, faults, limits, requests, webhooks } = service
  return {
    'GET /clock': () => ({ now: clock.now() }),
    'POST /clock': (body) => {
      moveClock(service, fitting(clockMove, body))
      return { now: clock.now() }
    },
    'POST /export': (body) => trigger(service, 'ON_EXPORT', body),
    'POST /drive': (body) => trigger(service, 'ON_DRIVE_COMPLETED', body),
    'GET /deliveries': () => ({ deliveries: webhooks.deliveries() }),
    'POST /deliveries': (body) => {
      const shares = fitting(deliveryShares, body)
      webhooks.plan = planDeliveries(shares)
      return shares
    },
    'GET /requests': () => ({ total: requests.count(), paths: requests.counts() }),
    'GET /limits': () => limits.current,
    'POST /limits': (body) => {
      limits.set(fitting(someLimits, body))
      return limits.current
    },
    'POST /faults': (body) => {
      const rule = fitting(faultRule, body)
      faults.add(rule)
      return { added: rule }
    },
    'DELETE /faults': () => {
      faults.clear()
      return { cleared: true }
    },
  }
}

/** Serves the controls under `/sandbox/`: JSON without a key, only to this machine, not in the request log. */
export function serveControls(app: FastifyInstance, service: SandboxState): void {
  for (const [name, control] of Object.entries(buildControls(service))) {
    const [method, path] = name.split(' ') as [string, string]
    app.route({
      method,
      url: `/sandbox${path}`,
      handler: (request, reply) => answerControl(request, reply, control),
    })
  }
  app.all('/sandbox/*', (request, reply) =>
    answerControl(request, reply, () => {
      throw new Refusal(404, `There is no control ${request.method} ${request.url}`)
    }),
  )
}

function answerControl(
  { ip, body: bytes, headers }: FastifyRequest,
  reply: FastifyReply,
  control: Control,
): FastifyReply {
  try {
    if (ip !== '::1' && !/^(::ffff:)?127\./.test(ip))
      throw new Refusal(403, 'The controls answer only requests from this machine')
    const { sent, error } = readJsonBody(bytes, headers['content-type'])
    if (error !== null) throw new Refusal(400, error)
    return reply.send(control(sent))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return reply.code(error.status).send({ error: error.message })
  }
}

function fitting<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const texts = result.error.issues.map(
    (issue) => `${issue.path.join('.') || 'body'}: ${issueText(issue)}`,
  )
  throw new Refusal(400, texts.join('; '))
}

/** Moves the clock, within the years whose dates have four digits. */
function moveClock({ clock }: SandboxState, move: z.infer<typeof clockMove>): void {
  const target =
    'set' in move
      ? Date.parse(move.set)
      : Math.round(clock.now().getTime() + move.advanceSeconds * 1000)
  if (!(target >= 0 && target < Date.UTC(10_000, 0)))
    throw new Refusal(400, 'The clock can be set between the years 1970 and 9999')
  clock.set(new Date(target))
}

/** A plan that loses, doubles and delays shares of the deliveries; the same seed selects the same deliveries. */
function planDeliveries({
  lose,
  double,
  late,
  seed,
}: z.infer<typeof deliveryShares>): DeliveryPlan {
  const random = seededRandom(seed, 'deliveries')
  return () => {
    const drawn = random.next()
    if (drawn < lose) return 'lose'
    if (drawn < lose + double) return 'double'
    return drawn < lose + double + late ? 'late' : 'send'
  }
}

/** Triggers an event and returns the deliveries that it started: none when there is no subscription. */
function trigger(
  { world, clock, webhooks }: SandboxState,
  event: WebhookEvent,
  body: unknown,
): unknown {
  const { evalid } = fitting(evaluationOnly, body)
  const evaluation = world.evaluation(evalid)
  if (evaluation === undefined || !isReadable(evaluation, clock.now()))
    throw new Refusal(400, `There is no completed evaluation ${evalid}`)
  return { deliveries: webhooks.trigger(event, evalid) }
}
