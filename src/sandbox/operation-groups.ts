import { checkOperations } from '../contract/appraisal/checks.ts'
import { creationOperations } from '../contract/appraisal/creation.ts'
import { evaluationOperations } from '../contract/appraisal/evaluations.ts'
import { photoOperations } from '../contract/appraisal/photos.ts'
import { pricingOperations } from '../contract/appraisal/pricing.ts'
import { webhookOperations } from '../contract/appraisal/webhooks.ts'
import type { Effect, Operation, ServiceName } from '../contract/operation.ts'
import { vehicleCheckOperations } from '../contract/vehicle-data/checks.ts'
import { decodeOperations } from '../contract/vehicle-data/decode.ts'
import { predictionOperations } from '../contract/vehicle-data/prediction.ts'
import { priceOperations } from '../contract/vehicle-data/prices.ts'

/** A named group of operations, as readers search for them. */
export interface OperationGroup {
  readonly name: string
  readonly service: ServiceName
  readonly operations: readonly Operation[]
}

/** Every documented operation, in the order of the documents. */
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

/** The services by the names of their documents. */
export const serviceTitles: Readonly<Record<ServiceName, string>> = {
  appraisal: 'Appraisal service',
  vehicleData: 'Vehicle-data APIs',
}

/** The effect of a call at the source, as text. */
export const effectTexts: Readonly<Record<Effect, string>> = {
  read: 'Reads.',
  write: 'Writes.',
  bill: 'Costs money at the real service.',
}
