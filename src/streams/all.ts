import type { Stream } from '../sync/run/stream.ts'
import { evaluations } from './evaluations/evaluations.ts'
import { pricing } from './pricing/pricing.ts'
import { stockPrices } from './stock-prices/stock-prices.ts'
import { users } from './users/users.ts'
import { vehicleChecks } from './vehicle-checks/vehicle-checks.ts'

/** Every stream, in the order in which `sync` runs them. */
export const allStreams: readonly Stream[] = [
  users,
  evaluations,
  pricing,
  vehicleChecks,
  stockPrices,
]
