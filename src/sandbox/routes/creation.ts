import type { z } from 'zod'
import { enterVin, manualCarEntry } from '../../api/contract/appraisal/creation.ts'
import type { Caller } from '../access.ts'
import { Answer, type Call, type Endpoint, serve } from '../call.ts'
import { type CatalogueVehicle, describe, lastSoldYear } from '../catalogue.ts'
import {
  type Decoded,
  decodeVin,
  findKnownVehicle,
  findSample,
  plainVin,
  vinOfPlate,
} from '../find-vehicle.ts'
import { fieldsAt, isCompleted, isCreated, isVanished } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, renderEvaluation, valuesAt } from '../render.ts'
import {
  gccCodeType,
  styleCodeType,
  styleOption,
  vehicleByDescription,
  vehicleByStyle,
} from '../styles.ts'
import type { World } from '../world.ts'
import { type Evaluation, unknownCustomer } from '../world-types.ts'
import { takeLookup, writableEvaluation } from './requests.ts'

/** The entry: a VIN, or a plate with its VIN (null when it has none). */
interface Entered {
  readonly vin: string | null
  readonly registration: string | null
  readonly registrationState: string | null
}

type VinCall = Call<z.infer<typeof enterVin.fields>>
type Ambiguous = Extract<Decoded, { kind: 'ambiguous' }>

/** The operations that begin an evaluation. */
export const creationEndpoints: readonly Endpoint[] = [
  /** Begins an evaluation, unless the VIN cannot be decoded or is ambiguous in Australia; samples use no quota [A §4, §7]. */
  serve(enterVin, (call) => {
    const entered = enteredIn(call)
    const { key } = call.caller
    takeLookup(call, entered.vin)
    const status = findSample(entered.vin) !== undefined && key.region === 'AU' ? 200 : 201
    return new Answer(status, decodedAnswer(call, entered))
  }),
  /** AU begins an evaluation from a description; US and GCC choose the style of one, or begin it from a code [A §4]. */
  serve(manualCarEntry, (call) =>
    call.caller.key.region === 'AU' ? entryByDescription(call) : entryByCode(call),
  ),
]

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
function createEvaluation(
  { world, caller, rendering, now }: Pick<Call, 'world' | 'caller' | 'rendering' | 'now'>,
  vehicle: Parameters<typeof beginEvaluation>[2],
): JsonObject {
  const evaluation = beginEvaluation(world, caller, vehicle, now)
  return renderEvaluation(world, evaluation, rendering, now)
}

/** The fields that an evaluation takes from the catalogue. */
function vehicleNames({ make, model, variant }: CatalogueVehicle) {
  return { make, model, variant }
}

/** The known facts of a vehicle when its evaluation begins. A null `variant`: the style must still be chosen. */
type BeginningVehicle = Pick<
  Evaluation,
  'vin' | 'make' | 'model' | 'variant' | 'year' | 'registration' | 'registrationState'
>

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
    customer: unknownCustomer(null),
    extra: {},
    edits: [],
    vanishedAt: null,
    vanishedStaysListed: false,
  })
  return world.evaluation(evalId)!
}

type EntryCall = Call<z.infer<typeof manualCarEntry.fields>>

function entryByDescription(call: EntryCall): JsonObject {
  const { desc } = call.fields
  if (desc === undefined) throw new Refusal(400, 'desc: is required with an AU key')
  const chosen = vehicleByDescription('AU', desc)
  if (chosen === undefined) throw new Refusal(400, `desc: there is no vehicle "${desc}"`)
  const vin = sentVin(call)
  const year = yearFor(call, chosen.vehicle, vin) ?? chosen.year
  return begunFrom(call, chosen.vehicle, vin, year)
}

function entryByCode(call: EntryCall): JsonObject {
  const { evalid, code } = call.fields
  if (code === undefined) throw new Refusal(400, 'code: is required with a key of this region')
  const evaluation = evalid === undefined ? awaitingStyle(call) : writableEvaluation(call, evalid)
  const vehicle = vehicleOfCode(call, code)
  requireCodeType(call, vehicle, evaluation)
  if (evaluation !== undefined) return styled(call, evaluation, vehicle)
  const vin = sentVin(call)
  return begunFrom(call, vehicle, vin, yearFor(call, vehicle, vin))
}

/** US: the newest evaluation of the rooftop in progress for the VIN that has no style yet. */
function awaitingStyle(call: EntryCall): Evaluation | undefined {
  const { world, caller, now } = call
  const vin = sentVin(call)
  if (caller.key.region !== 'US' || vin === null) return undefined
  return world
    .withVin(vin, now)
    .filter(
      (evaluation) =>
        evaluation.rooftopUid === caller.rooftop.uid &&
        isCreated(evaluation, now) &&
        !isCompleted(evaluation, now) &&
        !isVanished(evaluation, now) &&
        fieldsAt(evaluation, now).variant === null,
    )
    .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || a.evalId - b.evalId)
    .at(-1)
}

function vehicleOfCode({ caller }: EntryCall, code: string): CatalogueVehicle {
  const { region } = caller.key
  if (region === 'GCC' && code.trim().length !== 13)
    throw new Refusal(400, 'code: has to be a 13-character ADCode')
  const vehicle = vehicleByStyle(region, code)
  if (vehicle === undefined) throw new Refusal(400, `code: there is no style ${code}`)
  return vehicle
}

/** US: without a code type, the one that `/entervin` gave for the VIN counts [A §4 /manualcarentry]. */
function requireCodeType(
  call: EntryCall,
  vehicle: CatalogueVehicle,
  evaluation: Evaluation | undefined,
): void {
  const { caller, fields, now } = call
  const { codeType } = fields
  const { region } = caller.key
  if (region === 'GCC' && codeType !== gccCodeType)
    throw new Refusal(400, `codeType: has to be ${gccCodeType} with a GCC key, never ADCode`)
  if (codeType === styleCodeType(vehicle)) return
  if (codeType !== undefined)
    throw new Refusal(400, 'codeType: is not the one that /entervin gave with this code')
  const vin = evaluation ? fieldsAt(evaluation, now).vin : cachedVin(call)
  const decoded = vin ? decodeVin(vin, region) : undefined
  if (decoded?.kind !== 'ambiguous' || !decoded.vehicles.includes(vehicle))
    throw new Refusal(400, 'codeType: cannot be inferred, /entervin gave no such option')
}

/** The VIN of the call, if `/entervin` decoded it for this rooftop before: the decode is cached. */
function cachedVin(call: EntryCall): string | null {
  const { world, caller, now } = call
  const vin = sentVin(call)
  const isKnown =
    vin !== null &&
    world.withVin(vin, now).some(({ rooftopUid }) => rooftopUid === caller.rooftop.uid)
  return isKnown ? vin : null
}

/** The style is chosen on the evaluation itself: its EvalID stays. */
function styled(call: EntryCall, evaluation: Evaluation, vehicle: CatalogueVehicle): JsonObject {
  const { world, rendering, now } = call
  const { evalId } = evaluation
  if (isCompleted(evaluation, now))
    throw new Refusal(
      400,
      'The evaluation is Complete: its style is chosen while it is in progress',
    )
  const before = fieldsAt(evaluation, now)
  const sent = sentVin(call)
  const known = before.vin ? plainVin(before.vin) : null
  if (sent !== null && known !== null && sent !== known)
    throw new Refusal(400, 'vin: is not the VIN of the evaluation')
  const vin = known ?? sent
  const year = yearFor(call, vehicle, vin) ?? before.year ?? lastSoldYear(vehicle, now)
  world.edit(evalId, now, { ...vehicleNames(vehicle), year, vin })
  return renderEvaluation(world, world.evaluation(evalId)!, rendering, now)
}

/** The model year of the VIN, if it has one; 400 when the VIN is ambiguous and the vehicle is not among its options. */
function yearFor(
  { caller }: EntryCall,
  vehicle: CatalogueVehicle,
  vin: string | null,
): number | null {
  const decoded = vin === null ? null : decodeVin(vin, caller.key.region)
  if (decoded === null || decoded.kind === 'unknown') return null
  if (decoded.kind === 'ambiguous' && !decoded.vehicles.includes(vehicle))
    throw new Refusal(400, `${describe(vehicle)} is not an option of this VIN`)
  return decoded.year
}

function begunFrom(
  call: EntryCall,
  vehicle: CatalogueVehicle,
  vin: string | null,
  year: number | null,
): JsonObject {
  return createEvaluation(call, {
    ...vehicleNames(vehicle),
    vin,
    year: year ?? lastSoldYear(vehicle, call.now),
    registration: null,
    registrationState: null,
  })
}

function sentVin({ fields }: EntryCall): string | null {
  return fields.vin === undefined ? null : plainVin(fields.vin)
}
