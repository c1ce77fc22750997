import type { z } from 'zod'
import { enterVin } from '../../api/contract/appraisal/creation.ts'
import type { Caller } from '../access.ts'
import { Answer, type Call, serve } from '../call.ts'
import { type CatalogueVehicle, describe } from '../catalogue.ts'
import {
  type Decoded,
  decodeVin,
  findKnownVehicle,
  findSample,
  plainVin,
  vinOfPlate,
} from '../find-vehicle.ts'
import { fieldsAt, isCreated } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, renderEvaluation, valuesAt } from '../render.ts'
import { styleOption } from '../styles.ts'
import type { World } from '../world.ts'
import type { Customer, Evaluation } from '../world-types.ts'
import { takeLookup } from './requests.ts'

/** The entry: a VIN, or a plate with its VIN (null when it has none). */
interface Entered {
  readonly vin: string | null
  readonly registration: string | null
  readonly registrationState: string | null
}

type VinCall = Call<z.infer<typeof enterVin.fields>>
type Ambiguous = Extract<Decoded, { kind: 'ambiguous' }>

/** Begins an evaluation, unless the VIN cannot be decoded or is ambiguous in Australia; samples use no quota [A §4, §7]. */
export const vinEntry = serve(enterVin, (call) => {
  const entered = enteredIn(call)
  const { key } = call.caller
  takeLookup(call, entered.vin)
  const status = findSample(entered.vin) !== undefined && key.region === 'AU' ? 200 : 201
  return new Answer(status, decodedAnswer(call, entered))
})

function enteredIn(call: VinCall): Entered {
  const { vin: text, state } = call.fields
  const vin = plainVin(text)
  if (vin.length === 17) return { vin, registration: null, registrationState: null }
  if (state === undefined)
    throw new Refusal(400, 'vin: has to be a 17-character VIN, or a plate together with state')
  requireState(call, state)
  const plate = vin.replaceAll(/[\s-]/g, '')
  return { vin: vinBehind(call, plate, state), registration: plate, registrationState: state }
}

const australianStates = ['ACT', 'NSW', 'NT', 'QLD', 'SA', 'TAS', 'VIC', 'WA']

/** AU plates take an AU state abbreviation, US ones a 2-letter state [A §1]. */
function requireState({ caller }: VinCall, state: string): void {
  const { region } = caller.key
  if (region === 'AU' && !australianStates.includes(state))
    throw new Refusal(400, `state: has to be one of ${australianStates.join(', ')} with an AU key`)
  if (region === 'US' && state.length !== 2)
    throw new Refusal(400, 'state: has to be a 2-letter state with a US key')
}

/** The VIN of the newest evaluation with that plate and a complete VIN, else one made up from the plate. */
function vinBehind({ world, now }: VinCall, plate: string, state: string): string | null {
  const known = world
    .withPlate(plate, now)
    .filter((evaluation) => isCreated(evaluation, now))
    .map((evaluation) => fieldsAt(evaluation, now))
    .findLast(({ vin, registrationState }) => vin?.length === 17 && registrationState === state)
  if (known?.vin) return plainVin(known.vin)
  return /^[A-Z0-9]{1,9}$/.test(plate) ? vinOfPlate(plate, state) : null
}

function decodedAnswer(call: VinCall, entered: Entered): unknown {
  const { region } = call.caller.key
  const decoded = entered.vin === null ? null : decodedIn(call, entered.vin)
  if (decoded === null || decoded.kind === 'unknown')
    return { error: 'The VIN or plate could not be decoded' }
  if (decoded.kind === 'ambiguous')
    return region === 'AU'
      ? auOptions(call, entered, decoded)
      : createdOptions(call, entered, decoded)
  const { vehicle, year } = decoded
  return createEvaluation(call, { ...entered, ...vehicleNames(vehicle), year })
}

/** The vehicle of an earlier appraisal in this region, else what the VIN decodes to. */
function decodedIn({ world, now, caller }: VinCall, vin: string): Decoded {
  const { region } = caller.key
  const appraised = findKnownVehicle(vin, world, now)
  return appraised?.vehicle.region === region
    ? { kind: 'single', ...appraised }
    : decodeVin(vin, region)
}

/** Creates nothing. A caller who entered a plate gets the VIN to send to `/manualcarentry`. */
function auOptions({ rendering }: VinCall, { vin }: Entered, { vehicles }: Ambiguous) {
  const names = rendering.wire.enterVin
  const options = vehicles.map((one) => valuesAt(names, { description: describe(one) }))
  return [valuesAt(names, { options }, { VIN: vin })]
}

function createdOptions(call: VinCall, entered: Entered, { vehicles, year }: Ambiguous) {
  const { world, caller, now } = call
  const { make, model } = vehicles[0]!
  const vehicle = { ...entered, make, model, variant: null, year }
  const { evalId } = beginEvaluation(world, caller, vehicle, now)
  return {
    VIN: entered.vin,
    EvalID: evalId,
    descriptionSelect: true,
    descriptionOptions: vehicles.map((one) => styleOption(one, year)),
  }
}

/** Begins an evaluation and returns it as the answer. */
export function createEvaluation(
  { world, caller, rendering, now }: Pick<Call, 'world' | 'caller' | 'rendering' | 'now'>,
  vehicle: Parameters<typeof beginEvaluation>[2],
): JsonObject {
  const evaluation = beginEvaluation(world, caller, vehicle, now)
  return renderEvaluation(world, evaluation, rendering, now)
}

/** The fields that an evaluation takes from the catalogue. */
export function vehicleNames({ make, model, variant }: CatalogueVehicle) {
  return { make, model, variant }
}

/** The known facts of a vehicle when its evaluation begins. A null `variant`: the style must still be chosen. */
type BeginningVehicle = Pick<
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
function beginEvaluation(
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
