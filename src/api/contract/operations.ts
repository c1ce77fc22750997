import { checkOperations } from './appraisal/checks.ts'
import { creationOperations } from './appraisal/creation.ts'
import { evaluationOperations } from './appraisal/evaluations.ts'
import { photoOperations } from './appraisal/photos.ts'
import { pricingOperations } from './appraisal/pricing.ts'
import { webhookOperations } from './appraisal/webhooks.ts'
import type { Operation, ServiceName } from './operation.ts'
import { vehicleCheckOperations } from './vehicle-data/checks.ts'
import { decodeOperations } from './vehicle-data/decode.ts'
import { predictionOperations } from './vehicle-data/prediction.ts'
import { priceOperations } from './vehicle-data/prices.ts'

/** A named group of operations, as readers search for them. */
interface OperationGroup {
  readonly name: string
  readonly service: ServiceName
  readonly operations: readonly Operation[]
}

/** Every operation of the two documents, in their order. */
export const operationGroups: readonly OperationGroup[] = [
  { name: 'Create and complete', service: 'appraisal', operations: creationOperations },
  { name: 'Photos', service: 'appraisal', operations: photoOperations },
  { name: 'Evaluations and users', service: 'appraisal', operations: evaluationOperations },
  { name: 'Pricing AI', service: 'appraisal', operations: pricingOperations },
  { name: 'AU vehicle checks', service: 'appraisal', operations: checkOperations },
  { name: 'Webhooks', service: 'appraisal', operations: webhookOperations },
  { name: 'VIN decode', service: 'vehicleData', operations: decodeOperations },
  { name: 'History and PPSR', service: 'vehicleData', operations: vehicleCheckOperations },
  { name: 'Prices', service: 'vehicleData', operations: priceOperations },
  { name: 'Prediction', service: 'vehicleData', operations: predictionOperations },
]
export const allOperations = operationGroups.flatMap(({ operations }) => operations)

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
