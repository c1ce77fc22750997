import type { AppraisalClient } from '../sources/appraisal/client.ts'
import type { ServiceClient } from '../sources/service-client.ts'
import type { AppraisalWire } from '../values/wire.ts'

/** What a stream may reach of the sources: reads only. */
export interface Sources {
  readonly appraisal: Pick<AppraisalClient, 'listEvaluations' | 'getEvaluation' | 'listUsers'>
  /** Any other read of either service; what writes or bills does not compile here. */
  readonly services: ServiceClient<'read'>
  readonly wire: AppraisalWire
}

/** What the evaluations' own calls take. */
export type ListSources = Pick<Sources, 'appraisal' | 'wire'>
