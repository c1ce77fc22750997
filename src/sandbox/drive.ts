import { fieldsAt } from './lifecycle.ts'
import { type JsonObject, type Rendering, valuesAt } from './render.ts'
import { seededRandom } from './seeded-random.ts'
import type { World } from './world.ts'
import type { EvaluationFields, Evaluation } from './world-types.ts'

const minuteMs = 60_000

/** A test drive with the vehicle of an evaluation; the document shows only the event of a drive [A §6]. */
export interface Drive {
  readonly id: number
  readonly evalId: number
  readonly fields: EvaluationFields
  readonly startedAt: Date
  readonly completedAt: Date
  readonly distanceKm: number
}

/** The drive that ends now; the same evaluation and instant always give the same drive. */
export function driveOf(evaluation: Evaluation, now: Date): Drive {
  const { evalId } = evaluation
  const random = seededRandom(evalId, `drive until ${now.toISOString()}`)
  return {
    id: random.int(100_000, 9_999_999),
    evalId,
    fields: fieldsAt(evaluation, now),
    startedAt: new Date(now.getTime() - random.int(8, 45) * minuteMs),
    completedAt: now,
    distanceKm: random.int(20, 280) / 10,
  }
}

/** The body of a drive webhook: ids at the paths of the wire settings, and plausible other fields. */
export function renderDrive(
  { id, evalId, fields, startedAt, completedAt, distanceKm }: Drive,
  { world, rendering }: { readonly world: World; readonly rendering: Rendering },
): JsonObject {
  const user = world.user(fields.userId)
  const body: JsonObject = {
    VIN: fields.vin,
    StartedAt: startedAt,
    CompletedAt: completedAt,
    DistanceKm: distanceKm,
    UserName: user?.name ?? null,
    UserEmail: user?.email ?? null,
    CustomerName: fields.customer.name,
  }
  return valuesAt(rendering.wire.webhookBody, { driveId: id, driveEvalId: evalId }, body)
}
