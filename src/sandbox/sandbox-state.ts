import type { WireSettings } from '../values/wire.ts'
import type { Checks } from './checks.ts'
import type { VirtualClock } from './clock.ts'
import type { FaultPlan } from './faults.ts'
import type { Images } from './images.ts'
import type { Jobs } from './jobs.ts'
import type { Limits } from './limits.ts'
import type { Reasoning } from './reasoning.ts'
import type { Rendering } from './render.ts'
import type { RequestLog } from './request-log.ts'
import type { Webhooks } from './webhooks.ts'
import type { World } from './world.ts'

/** The state of a sandbox: the world, its clock, and what callers have created. */
export interface SandboxState {
  readonly world: World
  readonly clock: VirtualClock
  readonly wire: WireSettings
  readonly rendering: Rendering
  readonly faults: FaultPlan
  readonly requests: RequestLog
  readonly limits: Limits
  /** PPSR and Car History checks of every dealer group; `add` adds one that was made earlier. */
  readonly checks: Checks
  /** Bytes of the photos that were uploaded. */
  readonly images: Images
  /** Requested reasoning of the pricing AI. */
  readonly reasoning: Reasoning
  /** Subscriptions and their deliveries. */
  readonly webhooks: Webhooks
  /** Price batches and predictions. */
  readonly jobs: Jobs
  /** The key of the vehicle-data APIs. */
  readonly vehicleDataKey: string
  /** `http://<host>:<port>` of the appraisal service, which serves photos and PDFs too; empty until it listens. */
  origin: string
  /** The same for the vehicle-data APIs. */
  vehicleDataOrigin: string
}
