import type { z } from 'zod'
import type { updateEvaluation } from '../api/contract/appraisal/creation.ts'
import { convert } from './price-model.ts'
import { Refusal } from './refusal.ts'
import type {
  Customer,
  CustomField,
  EvaluationFields,
  EvaluationPatch,
  ReconLine,
} from './world-types.ts'

// What the fields of /dcupdateeval change on an evaluation [A §4 /dcupdateeval].

export type SentFields = z.infer<typeof updateEvaluation.fields>

/** The evaluation that is changed. */
interface ChangedEvaluation {
  readonly before: EvaluationFields
  /** ISO 4217, of its rooftop. */
  readonly currency: string
  /** Custom fields of its dealer group, without values. */
  readonly configured: ReadonlyMap<string, CustomField>
}

/** The change from the fields, except for the salesperson. 400 for a custom field that is not configured. */
export function changesSent(sent: SentFields, changed: ChangedEvaluation): EvaluationPatch {
  const { before, currency } = changed
  const { km, notes, condition, vin, price, finalprice, FinalPrice } = sent
  const amount = price ?? finalprice ?? FinalPrice
  return {
    ...(km === undefined ? {} : { odometer: km }),
    ...(notes === undefined ? {} : { notes }),
    ...(condition === undefined ? {} : { condition }),
    ...(vin === undefined ? {} : { vin: vin.trim().toUpperCase() }),
    ...(amount === undefined ? {} : { finalPrice: amount }),
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
