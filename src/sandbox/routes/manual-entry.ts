import type { z } from 'zod'
import { manualCarEntry } from '../../api/contract/appraisal/creation.ts'
import { type Call, serve } from '../call.ts'
import { type CatalogueVehicle, describe, lastSoldYear } from '../catalogue.ts'
import { decodeVin, plainVin } from '../find-vehicle.ts'
import { fieldsAt, isCompleted, isCreated, isVanished } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, renderEvaluation } from '../render.ts'
import { gccCodeType, styleCodeType, vehicleByDescription, vehicleByStyle } from '../styles.ts'
import type { Evaluation } from '../world-types.ts'
import { createEvaluation, vehicleNames } from './creation.ts'
import { writableEvaluation } from './requests.ts'

type EntryCall = Call<z.infer<typeof manualCarEntry.fields>>

/** AU begins an evaluation from a description; US and GCC choose the style of one, or begin it from a code [A §4]. */
export const carEntry = serve(manualCarEntry, (call) =>
  call.caller.key.region === 'AU' ? entryByDescription(call) : entryByCode(call),
)

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
