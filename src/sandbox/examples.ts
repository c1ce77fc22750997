import type { FieldValues, Operation, Region } from '../api/contract/operation.ts'
import { fieldsAt, isReadable } from './lifecycle.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { World } from './world.ts'
import type { ApiKey, Evaluation, Rooftop } from './world-types.ts'

/** The key, rooftop and evaluation of an example. */
interface ExampleSubject {
  readonly key: ApiKey
  readonly rooftop: Rooftop
  /** Null where the world has no completed evaluation that the key may read. */
  readonly evaluation: Evaluation | null
}

/** The fields of an example of each operation, by our names, with ids that exist in the current world. */
export function exampleFields(service: SandboxState): (operation: Operation) => FieldValues {
  const subjects = new Map<string, ExampleSubject | null>()
  return (operation) => {
    if (operation.service !== 'appraisal') return operation.example
    const region = operation.region ?? 'any'
    if (!subjects.has(region)) subjects.set(region, findExampleSubject(service, region))
    return fieldsFor(operation, subjects.get(region) ?? null, service.clock.now())
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

function fieldsFor(operation: Operation, subject: ExampleSubject | null, now: Date): FieldValues {
  const { name, example } = operation
  // A key without a linked user must send the user on whose behalf it reads [A §4 /geteval].
  const needsUser = name === 'geteval' && subject !== null && subject.key.linkedUserId === null
  const user = needsUser ? { user: subject.key.user } : {}
  const evaluation = subject?.evaluation ?? null
  if (evaluation === null) return { ...example, ...user }
  const photoIds = fieldsAt(evaluation, now).photos.map(({ id }) => id)
  const real: FieldValues = {
    evalid: evaluation.evalId,
    ...(photoIds.length === 0 ? {} : { ids: photoIds.toReversed(), imgid: photoIds[0] }),
  }
  const replaced = Object.entries(example).map(([field, value]) => [field, real[field] ?? value])
  return { ...Object.fromEntries(replaced), ...user }
}
