import type { Caller } from './access.ts'
import type { World } from './world.ts'
import type { Customer, Evaluation } from './world-types.ts'

/** The known facts of a vehicle when its evaluation begins. A null `variant`: the style must still be chosen. */
export type BeginningVehicle = Pick<
  Evaluation,
  'vin' | 'make' | 'model' | 'variant' | 'year' | 'registration' | 'registrationState'
>

const noCustomer: Customer = {
  name: null,
  phone: null,
  email: null,
  postcode: null,
  state: null,
  address: null,
  suburb: null,
}

/** Adds an evaluation in progress to the world: at the rooftop of the caller, with the user linked to the key. */
export function beginEvaluation(
  world: World,
  { key, rooftop }: Caller,
  vehicle: BeginningVehicle,
  now: Date,
): Evaluation {
  const evalId = world.nextEvalId
  world.add({
    ...vehicle,
    evalId,
    rooftopUid: rooftop.uid,
    createdAt: now,
    completedAt: null,
    userId: key.linkedUserId,
    odometer: null,
    colour: null,
    condition: null,
    notes: null,
    finalPrice: null,
    reconTotal: 'sum',
    reconditioning: [],
    photos: [],
    userPrices: [],
    customFields: Object.fromEntries(world.configuredFields.of(rooftop.groupId)),
    customer: noCustomer,
    extra: {},
    edits: [],
    vanishedAt: null,
    vanishedStaysListed: false,
  })
  return world.evaluation(evalId)!
}
