import { z } from 'zod'
import { type Config, makeConfig } from '../../app/config/read.ts'
import type { ConfigInput } from '../../app/config/schema.ts'
import { SyncError, UsageError } from '../../errors.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import {
  listPastCarHistory,
  listPastPpsr,
  runCarHistory,
  searchPpsr,
  watchPpsr,
} from '../contract/appraisal/checks.ts'
import { enterVin, manualCarEntry, updateEvaluation } from '../contract/appraisal/creation.ts'
import { getEvaluation, listEvaluations, listUsers } from '../contract/appraisal/evaluations.ts'
import { listImages, orderImages, pinHero, uploadImage } from '../contract/appraisal/photos.ts'
import { getPricing } from '../contract/appraisal/pricing.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  updateWebhook,
} from '../contract/appraisal/webhooks.ts'
import { issueText } from '../contract/issue-text.ts'
import type { Effect, FieldValues, Operation } from '../contract/operation.ts'
import { checkHistory, searchNewPpsr, watchNewPpsr } from '../contract/vehicle-data/checks.ts'
import { decodeAu, decodeGcc } from '../contract/vehicle-data/decode.ts'
import { pollPrediction, predictPrice } from '../contract/vehicle-data/prediction.ts'
import { getPriceGuide, pollPriceBatch, submitPriceBatch } from '../contract/vehicle-data/prices.ts'
import type { EvaluationList } from '../sources/appraisal/answers.ts'
import type { RooftopAccess } from '../sources/calls.ts'
import { openServices, type Services, type SourceLog } from '../sources/open-services.ts'
import { assertInterval, type PollProgress, pollUntilDone } from '../sources/poll.ts'
import type { ServiceAnswer } from '../sources/service-client.ts'

export type { AnswerOf, EvaluationList, FieldsOf, NameOf, PollProgress, ServiceAnswer, SourceLog }
// What the package `forecourt-client` exports: its readers import no other file.
export { SyncError, UsageError }

/** The parts of the config that a client needs, with the same names and defaults. */
export interface ClientSettings
  extends Pick<ConfigInput, 'appraisal' | 'vehicleData' | 'keys' | 'http' | 'wire'> {}

/** What a client may do beyond reading, and where it logs. */
export interface ClientOptions<Allowed extends 'write' | 'bill'> {
  /** Operations that write, or cost money. Default: none. A paid call is in no ledger and has no budget here. */
  readonly allow?: readonly Allowed[]
  /** Every request (debug) and every long wait (info), without headers, bodies and queries. Default: nothing. */
  readonly log?: SourceLog
}

/** A rooftop of the appraisal service. */
export interface Rooftop {
  /** Goes into X-Dealer-Id with a partner key. */
  readonly uid: string
  /** The name of its key in `keys`. */
  readonly key: string
  /** Limits lists to this dealership; default: the whole group of the key. */
  readonly dealerId?: number | null
}

/** How an operation is called, beside its fields. */
export interface CallOptions {
  /** The appraisal service needs it, the vehicle-data APIs do not. */
  readonly rooftop?: Rooftop
  /** Paths of files to send. */
  readonly files?: readonly string[]
  /** Ends the call at once: it rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** How an asynchronous operation is waited for. */
export interface WaitOptions extends CallOptions {
  /** Default: as documented. */
  readonly everySeconds?: number
  /** Receives each answer that is not the last one. */
  readonly onProgress?: (progress: PollProgress) => void
}

/** Opens a client of both services. It connects at its first call. UsageError names every setting that does not fit. */
export function openClient<Allowed extends 'write' | 'bill' = never>(
  settings: ClientSettings,
  options: ClientOptions<Allowed> = {},
): Client<Allowed> {
  const { allow = [], log = silent } = requireShape('openClient', clientOptions, options)
  requireShape('openClient', z.looseObject({}), settings)
  const config = makeConfig(settings, '.')
  const services = openServices<Allowed>(config, log, ['read', ...allow])
  return new Client({ services, config, log, allow })
}

interface ClientParts<Allowed extends 'write' | 'bill'> {
  readonly services: Services<Allowed>
  readonly config: Pick<Config, 'wire'>
  readonly log: SourceLog
  readonly allow: readonly Allowed[]
}

const silent: SourceLog = { debug: () => {}, info: () => {} }

/** Every documented operation by its name, with the limits and retries of the pipeline. What it may not call is refused by the
 *  compiler, and at run time. Rejects with UsageError (nothing was sent), SyncError, or the reason of an aborted signal. */
export class Client<Allowed extends 'write' | 'bill' = never> implements AsyncDisposable {
  readonly #parts: ClientParts<Allowed>

  /** Use `openClient`. */
  constructor(parts: ClientParts<Allowed>) {
    this.#parts = parts
  }

  /** Calls an operation. `answer()` of the result is checked against the documented shape. */
  async call<N extends NameOf<'read' | Allowed>>(
    name: N,
    fields: FieldsOf<N>,
    options: CallOptions = {},
  ): Promise<ServiceAnswer<AnswerOf<N>>> {
    const { services, allow } = this.#parts
    const { operation, call } = buildCall(name, fields, requireShape(name, callOptions, options))
    requireAllowed(operation, allow)
    // The names of Allowed are those of operations with its effects.
    const answer = await services.client.call(operation as Operation<Allowed>, call)
    return answer as ServiceAnswer<AnswerOf<N>>
  }

  /** Calls an asynchronous operation and polls until its work is done. SyncError `retry` when it takes longer than documented. */
  async callAndWait<N extends PolledNameOf<'read' | Allowed>>(
    name: N,
    fields: FieldsOf<N>,
    options: WaitOptions = {},
  ): Promise<ServiceAnswer<AnswerOf<(typeof polledBy)[N]>>> {
    const {
      everySeconds = null,
      onProgress = () => {},
      ...rest
    } = requireShape(name, waitOptions, options)
    const { signal = new AbortController().signal } = options
    if (everySeconds !== null) assertInterval(everySeconds, `everySeconds (${everySeconds})`)
    const { operation, call } = buildCall(name, fields, rest)
    requireAllowed(operation, this.#parts.allow)
    if (!Object.hasOwn(polledBy, name))
      throw new UsageError(
        `callAndWait was not called: ${String(name)} is not asynchronous. It knows ${Object.keys(polledBy).join(', ')}; use call for the others.`,
      )
    const started = await this.call(name, fields, rest)
    const { services, config, log } = this.#parts
    const polling = { config, log, signal, client: services.client, onProgress }
    const work = { operation, call, body: started.body }
    const done = await pollUntilDone(polling, work, everySeconds)
    return (done ?? started) as ServiceAnswer<AnswerOf<(typeof polledBy)[N]>>
  }

  /** Completed evaluations that were *created* in `[from, until)`, in whole seconds; without `until` the most recent too. One call:
   *  the list has no pages, and nothing shows that it was cut off [A §4 /getevallist]. The lists of both halves show it. */
  async listWindow(
    rooftop: Rooftop,
    span: { readonly from: Date; readonly until?: Date },
    options: Pick<CallOptions, 'signal'> = {},
  ): Promise<EvaluationList> {
    requireShape('listWindow', rooftopShape, rooftop)
    const { from, until } = requireShape('listWindow', spanShape, span)
    const { signal } = requireShape('listWindow', signalOnly, options)
    const range = { from: toUnixSeconds(from), until: until ? toUnixSeconds(until) : null }
    return await this.#parts.services.appraisal.listEvaluations(rooftopAccess(rooftop), range, {
      signal,
    })
  }

  /** Ends all calls in flight or waiting, and closes the connections. */
  async close(): Promise<void> {
    await this.#parts.services[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

// Plain JavaScript has no compiler: what it passes is checked here.

const aFunction = z.custom((value) => typeof value === 'function', 'has to be a function')
const aSignal = z.instanceof(AbortSignal, { error: 'has to be an AbortSignal' })
const aDate = z.date({ error: 'has to be a valid Date' })
const rooftopShape = z.strictObject({
  uid: z.string(),
  key: z.string(),
  dealerId: z.int().nullish(),
})
const signalOnly = z.strictObject({ signal: aSignal.optional() })
const callOptions = signalOnly.extend({
  rooftop: rooftopShape.optional(),
  files: z.array(z.string()).optional(),
})
const waitOptions = callOptions.extend({
  everySeconds: z.number().optional(),
  onProgress: aFunction.optional(),
})
const clientOptions = z.strictObject({
  allow: z.array(z.enum(['write', 'bill'])).optional(),
  log: z.looseObject({ debug: aFunction, info: aFunction }).optional(),
})
const spanShape = z.strictObject({ from: aDate, until: aDate.optional() })

/** The value itself. UsageError when it has another shape. */
function requireShape<T>(called: unknown, shape: z.ZodType, value: T): T {
  const { error } = shape.safeParse(value)
  if (error === undefined) return value
  throw new UsageError(`${String(called)} was not called: ${issuesText(error)}.`)
}

function issuesText({ issues }: z.ZodError): string {
  return issues
    .map((issue) => `${issue.path.join('.') || 'its argument'} ${issueText(issue)}`)
    .join('; ')
}

/** The operation and its call. UsageError names the fields that do not fit, without their values. */
function buildCall(name: keyof typeof operations, fields: unknown, options: CallOptions) {
  if (!Object.hasOwn(operations, name))
    throw new UsageError(
      `There is no operation ${String(name)}: nothing was called. There are ${Object.keys(operations).join(', ')}.`,
    )
  const operation: Operation = operations[name]
  const { rooftop, files = [], signal } = options
  const parsed = operation.fields.safeParse(fields)
  const problem = findProblem(operation, parsed, options)
  if (!parsed.success || problem !== null)
    throw new UsageError(
      `${name} was not called: ${problem}. It does this: ${operation.summary} ${operation.source}.`,
    )
  const { evalid, vin } = parsed.data
  const subject = evalid ?? (operation.service === 'vehicleData' ? vin : undefined)
  const call = {
    ...{ fields: parsed.data, files, signal },
    ...(subject === undefined ? {} : { naturalKey: String(subject) }),
    ...(rooftop && { rooftop: rooftopAccess(rooftop) }),
  }
  return { operation, call }
}

function requireAllowed({ name, effect }: Operation, allow: readonly string[]): void {
  if (effect === 'read' || allow.includes(effect)) return
  const does = effect === 'bill' ? 'costs money' : 'changes something at the service'
  throw new UsageError(
    `${name} was not called: it ${does}. Open the client with { allow: ['${effect}'] } if you mean it.`,
  )
}

function findProblem(
  { service, problem }: Operation,
  { data, error }: z.ZodSafeParseResult<FieldValues>,
  { rooftop, files = [] }: CallOptions,
): string | null {
  if (service === 'appraisal' && rooftop === undefined) return 'give its rooftop, { uid, key }'
  if (error !== undefined) return issuesText(error)
  // The contract names fields as flags of the command line.
  const found = problem(data, files.length)
  return found === null ? null : `it ${found.replaceAll('--', '')}`
}

function rooftopAccess({ uid, key, dealerId = null }: Rooftop): RooftopAccess {
  return { uid, dealerId, keyName: key }
}

/** Every documented operation by its name, which is the one of `forecourt api`. A list would lose the types of fields and answers. */
export const operations = {
  entervin: enterVin,
  manualcarentry: manualCarEntry,
  dcupdateeval: updateEvaluation,
  imageupload: uploadImage,
  imagelist: listImages,
  imageorder: orderImages,
  imagehero: pinHero,
  geteval: getEvaluation,
  getevallist: listEvaluations,
  getuserlist: listUsers,
  pricingAi: getPricing,
  ppsrsearch: searchPpsr,
  carhistory: runCarHistory,
  getpastppsrsearch: listPastPpsr,
  getpastcarhistory: listPastCarHistory,
  ppsrwatch: watchPpsr,
  'webhooks-list': listWebhooks,
  'webhooks-create': createWebhook,
  'webhooks-update': updateWebhook,
  'webhooks-delete': deleteWebhook,
  gccfactoryvinext: decodeGcc,
  vindatabasic: decodeAu,
  historyCheck: checkHistory,
  ppsrNewSearch: searchNewPpsr,
  'ppsrNewSearch-watch': watchNewPpsr,
  gccpriceguide: getPriceGuide,
  'price-batch': submitPriceBatch,
  'price-batch-status': pollPriceBatch,
  prediction: predictPrice,
  'prediction-status': pollPrediction,
}
type Operations = typeof operations

/** For each asynchronous operation the one that is polled. */
export const polledBy = {
  pricingAi: 'pricingAi',
  'price-batch': 'price-batch-status',
  prediction: 'prediction-status',
} as const

/** The names of the operations with these effects. */
type NameOf<Reach extends Effect> = {
  [N in keyof Operations]: Operations[N]['effect'] extends Reach ? N : never
}[keyof Operations]
/** The names of those that are asynchronous. */
type PolledNameOf<Reach extends Effect> = NameOf<Reach> & keyof typeof polledBy
/** The fields of an operation. */
type FieldsOf<N extends keyof Operations> = z.input<Operations[N]['fields']>
/** The documented answer of an operation. */
type AnswerOf<N extends keyof Operations> = ReturnType<Operations[N]['read']>
