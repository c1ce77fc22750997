import { sandboxKeyPrefix } from '../values/service-address.ts'
import type { World } from './world.ts'

/** The one key of the sandbox's vehicle-data APIs. */
export const sandboxVehicleDataKey = `${sandboxKeyPrefix}vehicle-data-5d1f0c8e7a2b`

/** The addresses of a sandbox. */
interface SandboxAddresses {
  readonly baseUrl: string
  readonly vehicleDataUrl: string
  readonly vehicleDataKey: string
}

/** The services, `keys` and `rooftops` of a `forecourt.yaml`. */
export type ClientConfig = ReturnType<typeof clientConfigFor>

/** The config with which a client reads every rooftop that a key covers, by the first such key. */
export function clientConfigFor(
  world: World,
  { baseUrl, vehicleDataUrl, vehicleDataKey }: SandboxAddresses,
) {
  const keys = world.keys.map(
    ({ name, value, kind, region, user }) => [name, { value, kind, region, user }] as const,
  )
  return {
    appraisal: { baseUrl },
    vehicleData: { baseUrl: vehicleDataUrl, apiKey: vehicleDataKey },
    keys: Object.fromEntries(keys),
    rooftops: world.rooftops.flatMap((rooftop) => {
      const key = world.keys.find(({ rooftopUids }) => rooftopUids.includes(rooftop.uid))
      if (key === undefined) return []
      const { uid, name, dealerId, region, timezone, currency } = rooftop
      return [{ uid, name, dealerId, key: key.name, region, timezone, currency }]
    }),
  }
}
