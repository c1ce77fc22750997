import { checkRows } from './checks.ts'
import { updateEvaluationRows } from './dcupdateeval.ts'
import { enterVinRows } from './entervin.ts'
import { errorRows } from './errors.ts'
import { eventRows } from './events.ts'
import { getEvaluationRows } from './geteval.ts'
import { imageOrderRows } from './image-order.ts'
import { uploadRows } from './images.ts'
import { keyRows } from './keys.ts'
import { limitRows } from './limits.ts'
import { listRows } from './lists.ts'
import { manualCarEntryRows } from './manualcarentry.ts'
import { photoRows } from './photos.ts'
import { pricingRows } from './pricing.ts'
import type { Row } from './row.ts'
import { stateRows } from './states.ts'
import { vehicleCheckRows } from './vehicle-checks.ts'
import { vehicleDecodeRows } from './vehicle-decode.ts'
import { vehiclePredictionRows } from './vehicle-prediction.ts'
import { vehiclePriceRows } from './vehicle-prices.ts'
import { watchRows } from './watch.ts'
import { webhookRows } from './webhooks.ts'

/** Every statement of the two documents that can be shown over HTTP. */
export const rows: readonly Row[] = [
  ...enterVinRows,
  ...manualCarEntryRows,
  ...updateEvaluationRows,
  ...stateRows,
  ...uploadRows,
  ...photoRows,
  ...imageOrderRows,
  ...getEvaluationRows,
  ...listRows,
  ...pricingRows,
  ...checkRows,
  ...watchRows,
  ...webhookRows,
  ...eventRows,
  ...keyRows,
  ...errorRows,
  ...limitRows,
  ...vehicleDecodeRows,
  ...vehicleCheckRows,
  ...vehiclePriceRows,
  ...vehiclePredictionRows,
]
