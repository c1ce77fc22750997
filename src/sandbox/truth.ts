import {
  fieldsAt,
  reconLineTotal,
  reconTotal,
  type ShownPhoto,
  showPhotos,
  updatedAt,
} from './lifecycle.ts'
import type {
  Customer,
  CustomField,
  Evaluation,
  EvaluationFields,
  ReconLine,
  Rooftop,
  Salesperson,
  UserPrice,
} from './world-types.ts'

/** A photo as a correct reader of the service stores it. */
export interface TruthPhoto {
  readonly id: number
  /** 1-based display position. */
  readonly position: number
  readonly order: number | null
  readonly hero: boolean
  readonly heroSource: 'manual' | 'default' | null
  readonly angle: string | null
}

/** The true values of a readable evaluation at an instant; fields that the answer leaves out are null. Texts are as at the source,
 *  including `\u0000` and lone surrogates. Amounts in the currency of the rooftop. */
export interface TruthEvaluation {
  readonly evalId: number
  readonly rooftopUid: string
  readonly dealerId: number
  readonly groupId: string
  readonly vin: string | null
  readonly createdAt: Date
  readonly completedAt: Date
  readonly updatedAt: Date
  readonly userName: string | null
  readonly userEmail: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
  readonly year: number | null
  readonly registration: string | null
  readonly registrationState: string | null
  readonly odometer: number | null
  readonly colour: string | null
  readonly condition: number | null
  readonly notes: string | null
  readonly finalPrice: number | null
  readonly reconTotal: number | null
  /** Sum of the lines, 0 when there is none. */
  readonly reconLineTotal: number
  readonly reconditioning: readonly ReconLine[]
  readonly photos: readonly TruthPhoto[]
  readonly heroSource: 'manual' | 'default' | null
  readonly userPrices: readonly UserPrice[]
  readonly customFields: Readonly<Record<string, CustomField>>
  readonly customer: {
    readonly name: string | null
    readonly phone: string | null
    readonly email: string | null
    readonly postcode: string | null
    readonly state: string | null
    readonly address: string | null
    readonly suburb: string | null
  }
  /** True: served with a wrong field on purpose, so it must be quarantined. */
  readonly poisoned: boolean
}

/** The rooftop and user of an evaluation, and whether it is poisoned. */
export interface TruthContext {
  readonly rooftop: Rooftop
  readonly user: Salesperson | undefined
  readonly poisoned: boolean
}

/** The true values of a completed evaluation at an instant. */
export function truthOf(
  evaluation: Evaluation,
  { rooftop, user, poisoned }: TruthContext,
  now: Date,
): TruthEvaluation {
  const fields = fieldsAt(evaluation, now)
  const photos = showPhotos(fields.photos)
  return {
    evalId: evaluation.evalId,
    rooftopUid: rooftop.uid,
    dealerId: rooftop.dealerId,
    groupId: rooftop.groupId,
    createdAt: evaluation.createdAt,
    completedAt: evaluation.completedAt ?? evaluation.createdAt,
    updatedAt: updatedAt(evaluation, now),
    userName: user?.name ?? null,
    userEmail: user?.email ?? null,
    ...vehicleTruth(fields),
    finalPrice: fields.finalPrice ?? null,
    reconTotal: reconTotal(fields) ?? null,
    reconLineTotal: reconLineTotal(fields.reconditioning),
    reconditioning: fields.reconditioning ?? [],
    photos: photos.map(photoTruth),
    heroSource: photos.find((photo) => photo.hero)?.heroSource ?? null,
    userPrices: fields.userPrices,
    customFields: fields.customFields,
    customer: customerTruth(fields.customer),
    poisoned,
  }
}

function vehicleTruth(fields: EvaluationFields) {
  return {
    vin: fields.vin ?? null,
    make: fields.make ?? null,
    model: fields.model ?? null,
    variant: fields.variant ?? null,
    year: fields.year ?? null,
    registration: fields.registration ?? null,
    registrationState: fields.registrationState ?? null,
    odometer: fields.odometer ?? null,
    colour: fields.colour ?? null,
    condition: fields.condition ?? null,
    notes: fields.notes ?? null,
  }
}

function customerTruth(customer: Customer): TruthEvaluation['customer'] {
  return {
    name: customer.name ?? null,
    phone: customer.phone ?? null,
    email: customer.email ?? null,
    postcode: customer.postcode ?? null,
    state: customer.state ?? null,
    address: customer.address ?? null,
    suburb: customer.suburb ?? null,
  }
}

function photoTruth({ id, position, order, hero, heroSource, angle }: ShownPhoto): TruthPhoto {
  return { id, position, order, hero, heroSource, angle }
}
