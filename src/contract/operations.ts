import { checkOperations } from './appraisal/checks.ts'
import { creationOperations } from './appraisal/creation.ts'
import { evaluationOperations } from './appraisal/evaluations.ts'
import { photoOperations } from './appraisal/photos.ts'
import { pricingOperations } from './appraisal/pricing.ts'
import { webhookOperations } from './appraisal/webhooks.ts'
import type { Operation } from './operation.ts'
import { vehicleCheckOperations } from './vehicle-data/checks.ts'
import { decodeOperations } from './vehicle-data/decode.ts'
import { predictionOperations } from './vehicle-data/prediction.ts'
import { priceOperations } from './vehicle-data/prices.ts'

/** Every operation of the two documents, in their order. */
export const allOperations: readonly Operation[] = [
  ...creationOperations,
  ...photoOperations,
  ...evaluationOperations,
  ...pricingOperations,
  ...checkOperations,
  ...webhookOperations,
  ...decodeOperations,
  ...vehicleCheckOperations,
  ...priceOperations,
  ...predictionOperations,
]

/** The operation of that name, however its path is written (`geteval`, `/geteval`, `/v1/historyCheck`, any case). */
export function findOperation(name: string): Operation | undefined {
  const wanted = plain(name)
  return allOperations.find((one) =>
    [one.name, ...one.aliases].some((known) => plain(known) === wanted),
  )
}

function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\/?(v1\/)?/, '')
    .replace(/\/(\{\w+\})?$/, '')
}
