import type { Endpoint } from './call.ts'
import { carHistory, pastCarHistory, pastPpsr, ppsrSearch, ppsrWatch } from './routes/checks.ts'
import { vinEntry } from './routes/creation.ts'
import { evaluationList, evaluations } from './routes/evaluations.ts'
import { carEntry } from './routes/manual-entry.ts'
import { imageHero, imageList, imageOrder, imageUpload } from './routes/photos.ts'
import { pricing } from './routes/pricing.ts'
import { evaluationUpdate } from './routes/update.ts'
import { users } from './routes/users.ts'
import { historyCheck, newPpsrSearch, newPpsrWatch } from './routes/vehicle-checks.ts'
import { auDecode, gccDecode } from './routes/vehicle-decode.ts'
import { prediction, predictionStatus } from './routes/vehicle-prediction.ts'
import { priceBatch, priceBatchStatus, priceGuide } from './routes/vehicle-prices.ts'
import { webhookCreate, webhookDelete, webhookList, webhookUpdate } from './routes/webhooks.ts'

/** Every operation that the sandbox serves. */
export const endpoints: readonly Endpoint[] = [
  vinEntry,
  carEntry,
  evaluationUpdate,
  pricing,
  imageList,
  imageUpload,
  imageOrder,
  imageHero,
  ppsrSearch,
  carHistory,
  pastPpsr,
  pastCarHistory,
  ppsrWatch,
  evaluations,
  evaluationList,
  users,
  webhookList,
  webhookCreate,
  webhookUpdate,
  webhookDelete,
  gccDecode,
  auDecode,
  historyCheck,
  newPpsrSearch,
  newPpsrWatch,
  priceGuide,
  priceBatch,
  priceBatchStatus,
  prediction,
  predictionStatus,
]
