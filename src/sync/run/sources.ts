import type { AppraisalClient } from '../../api/sources/appraisal/client.ts'
import type { ServiceClient } from '../../api/sources/service-client.ts'
import type { Context } from '../../context.ts'
import type { AppraisalWire } from '../../values/wire.ts'

/** The part of the sources that a stream may use: reads only. */
export interface Sources {
  readonly appraisal: Pick<AppraisalClient, 'listEvaluations' | 'getEvaluation' | 'listUsers'>
  /** Any other read of either service; what writes or bills does not compile here. */
  readonly services: ServiceClient<'read'>
  readonly wire: AppraisalWire
}

/** The API clients that streams use. */
export function pickSources({
  appraisal,
  services,
  config,
}: Pick<Context, 'appraisal' | 'services' | 'config'>): Sources {
  return { appraisal, services, wire: config.wire.appraisal }
}
