import { type FieldValues, type Operation, type Region, withQuery } from '../contract/operation.ts'
import { fieldsAt, isReadable } from './lifecycle.ts'
import { wireValues } from './openapi-fields.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { World } from './world.ts'
import type { ApiKey, Evaluation, Rooftop } from './world-types.ts'

/** The key, rooftop and evaluation of an example. */
export interface ExampleSubject {
  readonly key: ApiKey
  readonly rooftop: Rooftop
  /** Null where the world has no completed evaluation that the key may read. */
  readonly evaluation: Evaluation | null
}

/** An example call that this sandbox answers. */
export interface ExampleCall {
  /** By our field names. */
  readonly fields: FieldValues
  /** Uid of the rooftop; null where the service knows none. */
  readonly rooftopUid: string | null
  readonly request: ExampleRequest
}

/** The HTTP request of an example. */
export interface ExampleRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Fields by wire names; null when the body has none. */
  readonly json: FieldValues | null
  readonly form: Readonly<Record<string, string>> | null
  /** Form field of a required file. */
  readonly file: string | null
}

/** Examples with keys, rooftops, evaluations and photos of the current world. */
export function exampleCalls(service: SandboxState): (operation: Operation) => ExampleCall {
  const scenes = new Map<string, ExampleSubject | null>()
  const sceneIn = (region: Region | 'any'): ExampleSubject | null => {
    const known = scenes.get(region)
    if (known !== undefined) return known
    const found = findExampleSubject(service, region)
    scenes.set(region, found)
    return found
  }
  return (operation) => {
    const scene = operation.service === 'appraisal' ? sceneIn(operation.region ?? 'any') : null
    const fields = exampleFields(operation, scene, service)
    const rooftopUid = scene?.rooftop.uid ?? null
    return { fields, rooftopUid, request: requestOf(service, operation, { fields, scene }) }
  }
}

/** A key of the region with a rooftop and a completed evaluation that it reads; null in a world without keys. */
export function findExampleSubject(
  { world, clock }: SandboxState,
  region: Region | 'any' = 'any',
): ExampleSubject | null {
  const now = clock.now()
  const keys = world.keys
    .filter((key) => region === 'any' || key.region === region)
    .toSorted((a, b) => Number(a.linkedUserId === null) - Number(b.linkedUserId === null))
  for (const key of keys) {
    const covered = key.rooftopUids.flatMap((uid) => world.rooftop(uid) ?? [])
    const evaluation = fullEvaluation(world, covered, now)
    const rooftop =
      covered.find(({ uid }) => uid === evaluation?.rooftopUid) ??
      covered.find(({ carHistory }) => carHistory !== false) ??
      covered[0]
    if (rooftop !== undefined) return { key, rooftop, evaluation }
  }
  return null
}

/** An evaluation with data for every operation, if there is one. */
function fullEvaluation(world: World, rooftops: readonly Rooftop[], now: Date): Evaluation | null {
  const uids = new Set(
    rooftops.filter(({ carHistory }) => carHistory !== false).map(({ uid }) => uid),
  )
  let any: Evaluation | null = null
  for (const evaluation of world.evaluations()) {
    if (!uids.has(evaluation.rooftopUid) || !isReadable(evaluation, now)) continue
    const { photos, vin, odometer } = fieldsAt(evaluation, now)
    if (photos.length > 1 && vin?.length === 17 && odometer) return evaluation
    any ??= evaluation
  }
  return any
}

/** The example of the operation, with ids that exist in this world. */
function exampleFields(
  operation: Operation,
  scene: ExampleSubject | null,
  { clock }: SandboxState,
): FieldValues {
  const { example } = operation
  const evaluation = scene?.evaluation ?? null
  const user = needsUser(operation, scene) ? { user: scene!.key.user } : {}
  if (evaluation === null) return { ...example, ...user }
  const photoIds = fieldsAt(evaluation, clock.now()).photos.map(({ id }) => id)
  const real: FieldValues = {
    evalid: evaluation.evalId,
    ...(photoIds.length === 0 ? {} : { ids: photoIds.toReversed(), imgid: photoIds[0] }),
  }
  const replaced = Object.entries(example).map(([name, value]) => [name, real[name] ?? value])
  return { ...Object.fromEntries(replaced), ...user }
}

/** A key without a linked user must send the user on whose behalf it reads [A §4 /geteval]. */
function needsUser({ name }: Operation, scene: ExampleSubject | null): boolean {
  return name === 'geteval' && scene !== null && scene.key.linkedUserId === null
}

function requestOf(
  service: SandboxState,
  operation: Operation,
  { fields, scene }: { readonly fields: FieldValues; readonly scene: ExampleSubject | null },
): ExampleRequest {
  const { wire } = service
  const { method, path: template, encoding } = operation.transport(wire)
  const { path, rest } = wireValues(operation, fields, wire)
  const texts = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  )
  const query = encoding === 'query' ? new URLSearchParams(texts).toString() : ''
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(path[name])),
  )
  return {
    method,
    url: baseUrlOf(service, operation) + withQuery(filled, query),
    headers: headersOf(service, operation, scene),
    json: encoding === 'json' ? rest : null,
    form: encoding === 'form' ? texts : null,
    file: operation.file?.required ? operation.file.name(wire) : null,
  }
}

/** The base URL of the appraisal service includes /v1; paths of the vehicle-data APIs begin with /v1. */
export function baseUrlOf(
  { origin, vehicleDataOrigin }: SandboxState,
  { service }: Pick<Operation, 'service'>,
): string {
  return service === 'appraisal' ? `${origin}/v1` : vehicleDataOrigin
}

function headersOf(
  { wire, vehicleDataKey }: SandboxState,
  { service }: Operation,
  scene: ExampleSubject | null,
): Record<string, string> {
  if (service === 'vehicleData') return { Authorization: vehicleDataKey }
  if (scene === null) return {}
  const { authHeader, authPrefix } = wire.appraisal
  const { key, rooftop } = scene
  return {
    [authHeader]: authPrefix + key.value,
    ...(key.kind === 'partner' ? { 'X-Dealer-Id': rooftop.uid } : {}),
  }
}
