import type { IncomingHttpHeaders } from 'node:http'
import type { AppraisalWire } from '../values/wire.ts'
import { Refusal } from './refusal.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { World } from './world.ts'
import type { ApiKey, Rooftop } from './world-types.ts'

/** The caller of an authorised call [A §5]. */
export interface Caller {
  readonly key: ApiKey
  readonly rooftop: Rooftop
  /** Every rooftop of that rooftop's dealer group. */
  readonly groupRooftops: readonly Rooftop[]
}

/** What the headers claim; nothing is checked yet. */
export interface Claim {
  readonly key: ApiKey | undefined
  readonly rooftopUid: string | null
  /** Of the key, for the log. */
  readonly name: string | null
  /** Why every request of this caller is refused; null: it is not. */
  readonly refusal: Refusal | null
}

/** Reads the caller from the headers. A dedicated key is bound to its rooftop, whatever `X-Dealer-Id` is [A §5.2]. */
export function readClaim(headers: IncomingHttpHeaders, world: World, wire: AppraisalWire): Claim {
  const sent = headers[wire.authHeader.toLowerCase()]
  const value = typeof sent === 'string' && sent.startsWith(wire.authPrefix) ? sent : undefined
  const key = world.keys.find((candidate) => wire.authPrefix + candidate.value === value)
  const dealer = headers['x-dealer-id']
  const named = typeof dealer === 'string' && dealer !== '' ? dealer : null
  const rooftopUid = key?.kind === 'dedicated' ? (key.rooftopUids[0] ?? null) : named
  const refusal = key === undefined ? new Refusal(403, 'Invalid API key') : null
  return { key, rooftopUid, name: key?.name ?? null, refusal }
}

/** The caller, or 403: invalid key, `X-Dealer-Id` missing, or a rooftop that the key is not authorised for [A §5]. */
export function authorise({ key, rooftopUid }: Claim, world: World): Caller {
  if (key === undefined) throw new Refusal(403, 'Invalid API key')
  if (rooftopUid === null) throw new Refusal(403, 'X-Dealer-Id is required with this key')
  const rooftop = world.rooftop(rooftopUid)
  if (rooftop === undefined || !key.rooftopUids.includes(rooftopUid))
    throw new Refusal(403, 'This key is not authorised for the rooftop in X-Dealer-Id')
  const groupRooftops = world.rooftops.filter(({ groupId }) => groupId === rooftop.groupId)
  return { key, rooftop, groupRooftops }
}

/** The one key of the vehicle-data APIs: 401 when there is none, 403 when it is wrong [V §5]. */
export function readVehicleDataClaim(
  { authorization }: IncomingHttpHeaders,
  { vehicleDataKey }: SandboxState,
): Claim {
  const unknown = { key: undefined, rooftopUid: null }
  if (!authorization)
    return { ...unknown, name: null, refusal: new Refusal(401, 'No API key in Authorization') }
  if (authorization !== vehicleDataKey)
    return { ...unknown, name: null, refusal: new Refusal(403, 'Wrong API key') }
  return { ...unknown, name: 'vehicle-data', refusal: null }
}
