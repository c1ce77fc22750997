import {
  fieldsAt,
  isReadable,
  reconLineTotal,
  reconTotal,
  type ShownPhoto,
  showPhotos,
  updatedAt,
} from '#src/sandbox/lifecycle.ts'
import type { World } from '#src/sandbox/world.ts'
import type {
  Customer,
  CustomField,
  Evaluation,
  EvaluationFields,
  ReconLine,
  UserPrice,
} from '#src/sandbox/world-types.ts'

/** A photo as a correct reader of the service stores it. */
export type TruthPhoto = Pick<
  ShownPhoto,
  'id' | 'position' | 'order' | 'hero' | 'heroSource' | 'angle'
>

type Stated<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }
type PlainField =
  | 'vin'
  | 'make'
  | 'model'
  | 'variant'
  | 'year'
  | 'registration'
  | 'registrationState'
  | 'odometer'
  | 'colour'
  | 'condition'
  | 'notes'
  | 'finalPrice'

/** The true values of a readable evaluation at an instant; fields that the answer leaves out are null. Texts are as at the source,
 *  including `\u0000` and lone surrogates. Amounts in the currency of the rooftop. */
export interface TruthEvaluation extends Stated<Pick<EvaluationFields, PlainField>> {
  readonly evalId: number
  readonly rooftopUid: string
  readonly dealerId: number
  readonly groupId: string
  readonly createdAt: Date
  readonly completedAt: Date
  readonly updatedAt: Date
  readonly userName: string | null
  readonly userEmail: string | null
  readonly reconTotal: number | null
  /** Sum of the lines, 0 when there is none. */
  readonly reconLineTotal: number
  readonly reconditioning: readonly ReconLine[]
  readonly photos: readonly TruthPhoto[]
  readonly heroSource: 'manual' | 'default' | null
  readonly userPrices: readonly UserPrice[]
  readonly customFields: Readonly<Record<string, CustomField>>
  readonly customer: Stated<Customer>
  /** True: served with a wrong field on purpose, so it must be quarantined. */
  readonly poisoned: boolean
}

/** Every evaluation that can be read at that instant, by id, with its values as of then. */
export function truthAt(world: World, now: Date): TruthEvaluation[] {
  return [...world.evaluations()]
    .filter((evaluation) => isReadable(evaluation, now))
    .map((evaluation) => truthOf(world, evaluation, now))
    .sort((a, b) => a.evalId - b.evalId)
}

function truthOf(world: World, evaluation: Evaluation, now: Date): TruthEvaluation {
  const fields = fieldsAt(evaluation, now)
  const user = world.user(fields.userId)
  const { uid: rooftopUid, dealerId, groupId } = world.rooftop(evaluation.rooftopUid)!
  const { vin, make, model, variant, year, registration, registrationState } = fields
  const { odometer, colour, condition, notes, finalPrice, customer } = fields
  const { name, phone, email, postcode, state, address, suburb } = customer
  const photos = showPhotos(fields.photos)
  return {
    evalId: evaluation.evalId,
    ...{ rooftopUid, dealerId, groupId },
    createdAt: evaluation.createdAt,
    completedAt: evaluation.completedAt ?? evaluation.createdAt,
    updatedAt: updatedAt(evaluation, now),
    userName: user?.name ?? null,
    userEmail: user?.email ?? null,
    ...stated({ vin, make, model, variant, year, registration, registrationState }),
    ...stated({ odometer, colour, condition, notes, finalPrice }),
    reconTotal: reconTotal(fields) ?? null,
    reconLineTotal: reconLineTotal(fields.reconditioning),
    reconditioning: fields.reconditioning ?? [],
    photos: photos.map(({ id, position, order, hero, heroSource, angle }) => ({
      ...{ id, position, order, hero, heroSource, angle },
    })),
    heroSource: photos.find((photo) => photo.hero)?.heroSource ?? null,
    userPrices: fields.userPrices,
    customFields: fields.customFields,
    customer: stated({ name, phone, email, postcode, state, address, suburb }),
    poisoned: world.poisonOf(evaluation.evalId) !== undefined,
  }
}

/** Null for what is left out. */
function stated<T extends object>(fields: T): Stated<T> {
  const entries = Object.entries(fields).map(([name, value]) => [name, value ?? null])
  return Object.fromEntries(entries) as Stated<T>
}
