import { z } from 'zod'
import {
  carPic,
  decodeAnswer,
  evaluation,
  pastChecks,
  photo,
  pricingPayload,
  reconditioningItem,
  styleChoice,
  styleOptions,
  user,
  watchAnswer,
} from '../contract/appraisal/shapes.ts'
import type { Operation } from '../contract/operation.ts'
import { allOperations } from '../contract/operations.ts'
import type { WireSettings } from '../values/wire.ts'
import {
  componentSchemas,
  type JsonSchema,
  listOf,
  objectOf,
  type PathSchemas,
  refTo,
} from './json-schema.ts'
import { vehicleDataAnswers } from './openapi-vehicle-data.ts'

const shapes: Readonly<Record<string, z.ZodType>> = {
  Evaluation: evaluation,
  Photo: photo,
  CarPic: carPic,
  ReconditioningItem: reconditioningItem,
  User: user,
  StyleChoice: styleChoice,
  StyleOptions: styleOptions,
  DecodeAnswer: decodeAnswer,
  PricingPayload: pricingPayload,
  PastChecks: pastChecks,
  WatchAnswer: watchAnswer,
}

const text: JsonSchema = { type: ['string', 'null'] }
const number: JsonSchema = { type: ['number', 'null'] }
const whole: JsonSchema = { type: 'integer' }
const instant: JsonSchema = { type: 'string', format: 'date-time' }
const link: JsonSchema = { type: ['string', 'null'], format: 'uri' }

/** Schemas of every documented answer. The wire settings complete those that the documents show only in part. */
export function answerSchemas(wire: WireSettings): {
  readonly components: Record<string, JsonSchema>
  /** Undefined where nothing of the answer is documented. */
  readonly answerOf: (operation: Operation) => JsonSchema | undefined
} {
  const answers = Object.fromEntries(
    allOperations.flatMap((operation) => {
      const shape = shapeOf(operation)
      const isNamed = shape === undefined || Object.values(shapes).includes(shape)
      return isNamed ? [] : [[operation.name, shape]]
    }),
  )
  const made = componentSchemas({ ...shapes, ...answers })
  const shown = Object.fromEntries(Object.keys(shapes).map((name) => [name, made[name]!]))
  const unshown = { ...appraisalAnswers(wire), ...vehicleDataAnswers(wire.vehicleData) }
  return {
    components: { ...shown, ...completed(shown, wire) },
    answerOf: (operation) =>
      unshown[operation.name] ?? made[operation.name] ?? namedAnswer(operation),
  }
}

function shapeOf({ read }: Operation): z.ZodType | undefined {
  return 'shape' in read && read.shape instanceof z.ZodType ? read.shape : undefined
}

function namedAnswer(operation: Operation): JsonSchema | undefined {
  const shape = shapeOf(operation)
  const name = Object.keys(shapes).find((one) => shapes[one] === shape)
  return name === undefined ? undefined : refTo(name)
}

/** Shared shapes, completed by the wire settings. */
function completed(
  shown: Readonly<Record<string, JsonSchema>>,
  { appraisal }: WireSettings,
): Record<string, JsonSchema> {
  const { enterVin, pastCheck, watch } = appraisal
  const { Evaluation, StyleOptions, DecodeAnswer, PastChecks, WatchAnswer } = shown
  const option = listOf(objectOf([[enterVin.description, { type: 'string' }]]))
  const options: PathSchemas = [[enterVin.options, option]]
  const checks = listOf(objectOf(watched(watch)))
  return {
    Evaluation: objectOf(evaluationFields(appraisal), Evaluation),
    StyleOptions: listOf(objectOf(options, StyleOptions?.items)),
    // An undecodable VIN is a success with an error [A §4 /entervin].
    DecodeAnswer: { anyOf: [DecodeAnswer!, refTo('ErrorBody')] },
    PastChecks: listOf(objectOf(checkDocument(pastCheck), PastChecks?.items)),
    WatchAnswer: objectOf([[watch.checks, checks]], WatchAnswer),
  }
}

function evaluationFields({ evaluation: names }: Names): PathSchemas {
  const kinds: Partial<Record<keyof typeof names, JsonSchema>> = {
    dealerId: whole,
    year: number,
    odometer: number,
    condition: number,
  }
  const fields = Object.keys(names) as (keyof typeof names)[]
  return [
    ['CarPics', listOf(refTo('CarPic'))],
    ...fields.map((field) => [names[field], kinds[field] ?? text] as const),
  ]
}

type Names = WireSettings['appraisal']

function checkDocument({ id, createdAt, pdfUrl }: Names['pastCheck']): PathSchemas {
  return [
    [id, {}],
    [createdAt, instant],
    [pdfUrl, link],
  ]
}

function watched({ checkId, checkStatus, checkedAt }: Names['watch']): PathSchemas {
  return [
    [checkId, {}],
    [checkStatus, text],
    [checkedAt, instant],
  ]
}

/** Answers of the appraisal service whose names are wire settings, by operation. */
function appraisalAnswers({ appraisal }: WireSettings): Record<string, JsonSchema> {
  const { ppsrCertificate, carHistory, webhook, evalList, updateEval } = appraisal
  const record = webhookRecord(webhook)
  const pricing: PathSchemas = [
    [updateEval.pricing, refTo('PricingPayload')],
    [updateEval.gccPricing, {}],
  ]
  const listItem: PathSchemas = [
    [evalList.updatedAt, instant],
    [evalList.id, whole],
  ]
  return {
    dcupdateeval: { allOf: [refTo('Evaluation'), objectOf(pricing)] },
    getevallist: objectOf([[evalList.items, listOf(objectOf(listItem))]]),
    ppsrsearch: objectOf([
      ...checkDocument(ppsrCertificate),
      [ppsrCertificate.certificateNumber, {}],
      [ppsrCertificate.securityInterests, whole],
      [ppsrCertificate.writeOffs, whole],
      [ppsrCertificate.stolen, whole],
    ]),
    carhistory: objectOf(checkDocument(carHistory)),
    'webhooks-list': objectOf([[webhook.items, listOf(record)]]),
    'webhooks-create': record,
    'webhooks-update': record,
  }
}

function webhookRecord(names: Names['webhook']): JsonSchema {
  return objectOf([
    [names.id, whole],
    [names.type, { type: 'string' }],
    [names.triggerEvent, { type: 'string' }],
    [names.url, { type: 'string' }],
    [names.authHeaderName, text],
  ])
}
