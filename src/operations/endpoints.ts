import { barePath } from '../contract/operation.ts'
import { allOperations } from '../contract/operations.ts'
import type { RequestEnded } from '../telemetry.ts'
import type { WireSettings } from '../values/wire.ts'

/**
 * The path of a request as in the documents, e.g. `/v1/price-batch/{batchId}`: with an id in it, each record would be a separate
 * series. `other` for an undocumented operation.
 */
export function endpointNames(wire: WireSettings): (request: RequestEnded) => string {
  const templates = allOperations.map((one) => {
    const transport = one.transport(wire)
    const { method } = transport
    const path = barePath(transport.path)
    const service = one.service === 'appraisal' ? 'appraisal' : 'vehicle-data'
    return { path, method, service, fits: patternOf(path) }
  })
  return ({ service, method, path }) =>
    templates.find((one) => one.service === service && one.method === method && one.fits.test(path))
      ?.path ?? 'other'
}

/** A pattern for the paths of a template: a parameter is one path segment. */
function patternOf(template: string): RegExp {
  const parts = template.split(/\{\w+\}/).map((part) => part.replaceAll(/[^\w/-]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}
