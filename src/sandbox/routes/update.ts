import type { z } from 'zod'
import { updateEvaluation } from '../../api/contract/appraisal/creation.ts'
import { given } from '../../values/given.ts'
import { type Call, type Endpoint, serve } from '../call.ts'
import { fieldsAt, isCompleted } from '../lifecycle.ts'
import { priceEvaluation, pricingPayload } from '../price-evaluation.ts'
import { convert, renderGuide } from '../price-model.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, renderEvaluation, valuesAt } from '../render.ts'
import type {
  Customer,
  CustomField,
  Evaluation,
  EvaluationFields,
  EvaluationPatch,
  ReconLine,
} from '../world-types.ts'
import { writableEvaluation } from './requests.ts'

/** The operation that completes and changes an evaluation. */
export const updateEndpoints: readonly Endpoint[] = [
  /** The first call completes the evaluation, later ones overwrite; the answer is the appraisal after it [A §3, §4]. */
  serve(updateEvaluation, (call) => {
    const { world, service, now, rendering, fields } = call
    const { evalid } = fields
    const evaluation = writableEvaluation(call, evalid)
    const completes = !isCompleted(evaluation, now)
    if (completes && fields.km === undefined)
      throw new Refusal(400, 'km: is missing: the call that completes an evaluation needs it')
    const before = fieldsAt(evaluation, now)
    const { currency, groupId } = world.rooftop(evaluation.rooftopUid)!
    const userId = salespersonAfter(call, before, completes)
    const configured = world.configuredFields.of(groupId)
    const changes = changesSent(fields, { before, currency, configured })
    world.edit(evalid, now, { ...changes, userId })
    if (completes) world.complete(evalid, now)
    const after = world.evaluation(evalid)!
    const body = renderEvaluation(world, after, rendering, now)
    placePrices(body, call, after)
    if (completes) service.webhooks.trigger('ON_COMPLETE', evalid)
    return body
  }),
]

/** Without `userEmail` the completing call assigns the evaluation to the user linked to the key, if there is one [A §4]. */
function salespersonAfter(
  { world, caller, fields }: Call<SentFields>,
  before: EvaluationFields,
  completes: boolean,
): EvaluationFields['userId'] {
  const { userEmail } = fields
  if (userEmail === undefined)
    return completes ? (caller.key.linkedUserId ?? before.userId) : before.userId
  const user = world.findUser(caller.rooftop.groupId, userEmail.trim())
  if (!user?.active || user.generated || !userEmail.includes('@'))
    throw new Refusal(400, 'userEmail: no active user of the dealer group has this email')
  return user.userId
}

/** Adds the prices after the update. They use no quota, since the document names none [A §7]. GCC prices have the only shape that
 *  is shown [V §2 Price guide result]. */
function placePrices(
  body: JsonObject,
  { service, caller, fields, now, rendering }: Call<SentFields>,
  evaluation: Evaluation,
): void {
  const { pricingAi = false, reasoning = false, gccPriceGuide = false } = fields
  if (!pricingAi && !gccPriceGuide) return
  const priced = priceEvaluation(service, evaluation, now)
  const pricing = pricingAi ? pricingPayload(service, priced, now, reasoning) : undefined
  const hasGuide = gccPriceGuide && caller.key.region === 'GCC'
  const { vehicle, prices, rooftop } = priced
  const gccPricing = hasGuide ? renderGuide(vehicle, prices, rooftop.currency) : undefined
  valuesAt(rendering.wire.updateEval, { pricing, gccPricing }, body)
}

// What the fields of /dcupdateeval change on an evaluation [A §4 /dcupdateeval].

type SentFields = z.infer<typeof updateEvaluation.fields>

/** The evaluation that is changed. */
interface ChangedEvaluation {
  readonly before: EvaluationFields
  /** ISO 4217, of its rooftop. */
  readonly currency: string
  /** Custom fields of its dealer group, without values. */
  readonly configured: ReadonlyMap<string, CustomField>
}

/** The change from the fields, except for the salesperson. 400 for a custom field that is not configured. */
function changesSent(sent: SentFields, changed: ChangedEvaluation): EvaluationPatch {
  const { before, currency } = changed
  const { km, notes, condition, vin, price, finalprice, FinalPrice } = sent
  const amount = price ?? finalprice ?? FinalPrice
  return {
    ...given({
      odometer: km,
      notes,
      condition,
      vin: vin?.trim().toUpperCase(),
      finalPrice: amount,
    }),
    ...reconditioningSent(sent, before, currency),
    ...customFieldsSent(sent, changed),
    customer: customerSent(sent),
    extra: { ...before.extra, ...present(sent, otherFields) },
  }
}

/** Fields that an evaluation does not show: they are returned under their own names. */
const otherFields = [
  'sparekey',
  'service',
  'financed',
  'financename',
  'financeamt',
  'financepmt',
  'wtymth',
  'wtyyear',
  'svcmth',
  'svcyear',
] as const

/** The type of the reconditioning line of each amount. */
const amountTypes = {
  recondetail: 'detail',
  reconrims: 'rims',
  reconpaint: 'paint',
  reconint: 'interior',
  reconrego: 'rego',
  reconscreen: 'screen',
  reconrwc: 'rwc',
} as const

/** In US dollars, to the unit of the rooftop's currency. */
const tyreDollars = 140

/** Each amount replaces the lines of its type; 0 removes them. The total follows the lines. */
function reconditioningSent(
  sent: SentFields,
  { reconditioning }: EvaluationFields,
  currency: string,
): EvaluationPatch {
  const lines: { readonly type: string; readonly cost: number; readonly value: number | null }[] =
    []
  for (const [field, type] of Object.entries(amountTypes)) {
    const cost = sent[field as keyof typeof amountTypes]
    if (cost !== undefined) lines.push({ type, cost, value: null })
  }
  const tyres = sent.recontyres
  if (tyres !== undefined) {
    const each = Math.round(convert(tyreDollars, 'USD', currency))
    lines.push({ type: 'tyres', cost: tyres * each, value: tyres })
  }
  if (lines.length === 0) return {}
  const replaced = lines.map(({ type }) => type)
  const others = (reconditioning ?? []).filter(
    ({ type }) => type === null || !replaced.includes(type),
  )
  const added: ReconLine[] = lines
    .filter(({ cost }) => cost !== 0)
    .map((line) => ({ ...line, source: 'dealer' }))
  return { reconditioning: [...others, ...added], reconTotal: 'sum' }
}

/** New values of fields of the evaluation or its dealer group; any other name is a 400. */
function customFieldsSent(
  { customFields: values = {} }: SentFields,
  { before: { customFields }, configured }: ChangedEvaluation,
): EvaluationPatch {
  const changed = Object.entries(values).map(([name, value]): [string, CustomField] => {
    const customField = Object.hasOwn(customFields, name) ? customFields[name] : undefined
    const field = customField ?? configured.get(name)
    if (field === undefined)
      throw new Refusal(400, `customFields: there is no field ${JSON.stringify(name)}`)
    return [name, { ...field, value }]
  })
  if (changed.length === 0) return {}
  return { customFields: Object.fromEntries([...Object.entries(customFields), ...changed]) }
}

const customerFields: Readonly<Record<keyof Customer, keyof SentFields>> = {
  name: 'cName',
  phone: 'cPhone',
  email: 'cEmail',
  postcode: 'cPCode',
  state: 'cState',
  address: 'cAddress',
  suburb: 'cSuburb',
}

function customerSent(sent: SentFields): Partial<Customer> {
  return Object.fromEntries(
    Object.entries(customerFields).flatMap(([ours, field]) =>
      sent[field] === undefined ? [] : [[ours, sent[field]]],
    ),
  )
}

function present(sent: SentFields, names: readonly (keyof SentFields)[]) {
  return Object.fromEntries(
    names.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]])),
  )
}
