import { type JsonPath, valueAt } from '../../values/json-path.ts'
import type { WireSettings } from '../../values/wire.ts'
import { updateEvaluation } from '../contract/appraisal/creation.ts'
import { getEvaluation, listEvaluations, listUsers } from '../contract/appraisal/evaluations.ts'
import { documentedEvaluationPaths } from '../contract/appraisal/shapes.ts'
import { decodeGcc } from '../contract/vehicle-data/decode.ts'
import {
  type Answer,
  collectFields,
  type Field,
  type Fields,
  isEmpty,
  type SeenRecord,
} from './answers.ts'
import { beforeItMoved, decide, type Finding, isProved, proven } from './decide.ts'
import { comparable } from './forms.ts'
import { learnChecks } from './learn-checks.ts'
import { learnList } from './learn-lists.ts'
import { refines, type Witness } from './proof.ts'
import { evaluationRules, sentAs } from './rules.ts'

/** A vehicle that another source knows, e.g. a stock list. Its fields have the names of `wire.appraisal.evaluation`. */
export interface KnownVehicle {
  readonly vin: string
  readonly facts: Readonly<Record<string, unknown>>
}

/**
 * Pure. What the answers say about the settings of the evaluation list, the evaluation, the past checks and the watch. A value is never
 * part of a finding. README.md says what proves.
 */
export function learn(
  answers: readonly Answer[],
  { appraisal }: WireSettings,
  vehicles: readonly KnownVehicle[] = [],
): Finding[] {
  const evaluations = evaluationsIn(answers)
  return [
    learnList(answers, evaluations, appraisal),
    learnEvaluation(answers, evaluations, appraisal.evaluation, vehicles),
    learnChecks(answers, appraisal),
  ].flatMap(withFewPaths)
}

/** From how many paths a person may choose by their form alone. */
const maxByForm = 5

/** Without the paths that have the form of a setting alone, where these may be another one by more than that, or are too many. */
function withFewPaths(found: readonly Finding[]): Finding[] {
  const known = new Set(found.flatMap(({ candidates }) => candidates.map(({ path }) => path)))
  return found.map((one) => {
    const byFormAlone = one.byFormAlone.filter(({ path }) => !known.has(path))
    return { ...one, byFormAlone: byFormAlone.length > maxByForm ? [] : byFormAlone }
  })
}

/** The evaluations of all answers; of one that was read several times, the last. */
export function evaluationsIn(answers: readonly Answer[]): SeenRecord[] {
  return [...new Map(readingsIn(answers).map((record) => [record.key, record])).values()]
}

function readingsIn(answers: readonly Answer[]): SeenRecord[] {
  return answers
    .filter(({ operation, body }) => operation === getEvaluation.name && Array.isArray(body))
    .flatMap((answer) =>
      (answer.body as unknown[]).map((body) => ({
        key: String(valueAt(body, 'EvalID')),
        body,
        answer,
      })),
    )
    .filter(({ key }) => /^\d+$/.test(key))
}

type EvaluationNames = WireSettings['appraisal']['evaluation']

const documented = [...new Set(documentedEvaluationPaths.map((path) => path.split(/[.[]/)[0]!))]

function learnEvaluation(
  answers: readonly Answer[],
  evaluations: readonly SeenRecord[],
  names: EvaluationNames,
  vehicles: readonly KnownVehicle[],
): Finding[] {
  const all = collectFields(evaluations, documented)
  const witnessesOf = witnessesIn(answers, evaluations, vehicles, names)
  const staff = staffIn(answers, evaluations)
  const ofStaff = ({ values }: Field) =>
    values
      .values()
      .filter((value) => staff.has(comparable(value)))
      .toArray().length >= 2
  const found = evaluationRules.map((rule) => {
    const name = rule.setting.split('.').at(-1) as keyof typeof names
    const isOther = name.startsWith('customer') ? ofStaff : undefined
    return decide(rule, names[name], all, {
      witnesses: witnessesOf(name),
      ...(isOther && { isOther }),
    })
  })
  return withModels(found, all)
}

/** The people of the dealer: a field that names them is not about customers. */
function staffIn(
  answers: readonly Answer[],
  evaluations: readonly SeenRecord[],
): ReadonlySet<string> {
  const users = answers
    .filter(({ operation, body }) => operation === listUsers.name && Array.isArray(body))
    .flatMap(({ body }) =>
      (body as unknown[]).flatMap((user) => [valueAt(user, 'Name'), valueAt(user, 'Email')]),
    )
  const ofEvaluations = evaluations.flatMap(({ body }) => [
    valueAt(body, 'UserName'),
    valueAt(body, 'UserEmail'),
  ])
  return new Set(
    [...users, ...ofEvaluations]
      .filter((text) => typeof text === 'string' && text !== '')
      .map(comparable),
  )
}

/** What is known about evaluations without their settings, by the setting and by where it comes from. */
function witnessesIn(
  answers: readonly Answer[],
  evaluations: readonly SeenRecord[],
  vehicles: readonly KnownVehicle[],
  names: EvaluationNames,
): (setting: string) => ReadonlyMap<string, Witness[]> {
  const known = new Map<string, Map<string, Witness[]>>()
  const add = (setting: string, source: string, witness: Witness) => {
    if (witness.value === undefined || witness.value === null || witness.value === '') return
    const bySource = known.get(setting) ?? new Map<string, Witness[]>()
    known.set(setting, bySource.set(source, [...(bySource.get(source) ?? []), witness]))
  }
  for (const { operation, request } of answers)
    if (operation === updateEvaluation.name)
      for (const [setting, name] of Object.entries(sentAs)) {
        const key = String(request['evalid'])
        add(setting, 'what /dcupdateeval was sent', { key, unit: key, value: request[name] })
      }
  const byVin = Map.groupBy(evaluations, ({ body }) => comparable(valueAt(body, 'VIN') ?? ''))
  const decoded = answers
    .filter(({ operation }) => operation === decodeGcc.name)
    .map(({ body }) => decodedVehicle(body))
  for (const [source, list] of [
    ['the stock list of the VIN', vehicles],
    ['the factory build of the VIN', decoded],
  ] as const)
    for (const { vin, facts } of list)
      for (const { key } of byVin.get(comparable(vin)) ?? [])
        for (const [setting, value] of Object.entries(facts))
          add(setting, source, { key, unit: vin, value })
  for (const [setting, witness] of requestedWitnesses(answers))
    add(setting, 'what /geteval was asked for', witness)
  for (const witness of dealerWitnesses(answers, evaluations))
    add('dealerId', 'the dealerId that was asked for', witness)
  for (const [setting, witness] of movedWitnesses(readingsIn(answers), names))
    add(setting, beforeItMoved, witness)
  return (setting) => known.get(setting) ?? new Map()
}

/** Values that an evaluation had where the config says, and has no longer there, though it was not updated since. They are about the
 *  fields that it did not have then. */
function movedWitnesses(
  readings: readonly SeenRecord[],
  names: EvaluationNames,
): [string, Witness][] {
  const byEvaluation = Map.groupBy(readings, ({ key }) => key)
  return [...byEvaluation].flatMap(([key, all]) => {
    const last = all.at(-1)!.body
    const updatedAt = valueAt(last, 'UpdatedAt')
    const earlier = all.filter(({ body }) => valueAt(body, 'UpdatedAt') === updatedAt)
    return Object.entries<JsonPath>(names).flatMap(([setting, configured]): [string, Witness][] => {
      if (!isEmpty(valueAt(last, configured))) return []
      const before = earlier.findLast(({ body }) => !isEmpty(valueAt(body, configured)))?.body
      if (before === undefined) return []
      const isAbout = (path: string) => isEmpty(valueAt(before, path))
      return [[setting, { key, unit: key, value: valueAt(before, configured), isAbout }]]
    })
  })
}

function decodedVehicle(body: unknown): KnownVehicle {
  const at = (path: string) => valueAt(body, `VehicleData.${path}`)
  return {
    vin: String(at('VIN')),
    facts: { make: at('Make'), model: at('Model'), variant: at('Variant'), year: at('MY') },
  }
}

/** The worth of an answer for a value that was asked for, where another value gave none. */
const answerBits = 20

/** Plates and states by which an evaluation was found, and was not found under another one: without that, the service may not read them. */
function requestedWitnesses(answers: readonly Answer[]): [string, Witness][] {
  const requested = answers
    .filter(({ operation, body }) => operation === getEvaluation.name && Array.isArray(body))
    .map(({ request, body }) => ({
      plate: request['reg'] ?? request['registration'],
      state: request['state'],
      ids: (body as unknown[]).map((one) => String(valueAt(one, 'EvalID'))),
    }))
    .filter(({ plate }) => plate !== undefined)
  return requested.flatMap(({ plate, state, ids }) =>
    ids.flatMap((key): [string, Witness][] => {
      const without = requested.filter((other) => !other.ids.includes(key))
      const isPlateRead = without.some(
        (other) => other.plate !== plate && other.state === undefined,
      )
      const isStateRead = without.some(
        (other) => other.plate === plate && other.state !== state && other.state !== undefined,
      )
      const witness = (value: unknown) => ({ key, value, unit: key, bits: answerBits })
      return [
        ...(isPlateRead ? [['registration', witness(plate)] as [string, Witness]] : []),
        ...(state !== undefined && isStateRead
          ? [['registrationState', witness(state)] as [string, Witness]]
          : []),
      ]
    }),
  )
}

/** The dealer of an evaluation that a list of that dealer named. Without a second one, a list of another number has to be without it. */
function dealerWitnesses(
  answers: readonly Answer[],
  evaluations: readonly SeenRecord[],
): Witness[] {
  const owned = evaluations.flatMap(({ key, answer: { rooftop } }) =>
    rooftop?.dealerId == null ? [] : [{ key, value: rooftop.dealerId, unit: rooftop.uid }],
  )
  const lists = answers.filter(({ operation }) => operation === listEvaluations.name)
  const isControlled = owned.every(({ key, value }) => {
    const others = lists.filter(
      ({ request }) => ![undefined, `[${value}]`].includes(request['dealerId'] as string),
    )
    return (
      others.length > 0 &&
      !others.some(({ body }) => JSON.stringify(body).split(/\D/).includes(key))
    )
  })
  const dealers = new Set(owned.map(({ value }) => value)).size
  return owned.map((one) => ({
    ...one,
    bits: one.value < 10 ? 2 : isControlled && one.value > 99 ? 30 : dealers > 1 ? 15 : 0,
  }))
}

/** Model and variant by name, where nothing but them depends on the make: a model has one make, a variant one model. */
function withModels(found: readonly Finding[], all: Fields): Finding[] {
  const make = found.find(
    ({ setting, state }) =>
      setting.endsWith('.make') && (state === 'confirmed' || state === 'elsewhere'),
  )
  const makes = all.fields.find(({ path }) => path === make?.path)
  if (makes === undefined) return [...found]
  const below = all.fields.filter((field) => field !== makes && refines(field, makes) === true)
  const [model, variant] =
    below.length === 2 && refines(below[0]!, below[1]!) ? below.toReversed() : below
  if (
    below.length !== 2 ||
    refines(variant!, model!) !== true ||
    refines(model!, variant!) === true
  )
    return [...found]
  return found.map((one) => {
    const name = one.setting.split('.').at(-1)!
    const field = name === 'model' ? model : name === 'variant' ? variant : undefined
    const rule = evaluationRules.find(({ setting }) => setting === one.setting)
    const isOpen = !isProved(one) && one.path === field?.path
    if (field === undefined || !isOpen || !rule?.isNamed(field.path)) return one
    return proven(
      { ...one, all },
      field,
      'by name; of all fields these two alone depend on the make',
    )
  })
}
