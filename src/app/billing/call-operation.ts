import type { Effect, Operation } from '../../api/contract/operation.ts'
import { openServices } from '../../api/sources/open-services.ts'
import { type Polling, pollUntilDone, type StartedCall } from '../../api/sources/poll.ts'
import type { ServiceCall } from '../../api/sources/service-client.ts'
import { UsageError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import { pay } from './pay.ts'

/** One call of a documented operation, which a person has confirmed if it writes or costs money. */
export interface OperationCall {
  readonly operation: Operation
  /** As the operation declares them. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Paths of the files to send. */
  readonly files: readonly string[]
  /** Null: none, for the vehicle-data APIs. */
  readonly rooftop: RooftopConfig | null
  /** Pay although an earlier call for the same subject is still valid or may have been billed. */
  readonly again: boolean
  /** Poll until the work is done; `every` in seconds, null: as documented. Null: do not poll. */
  readonly wait: { readonly every: number | null } | null
}

/** What a call works with, and who gets its answer. */
export interface Caller extends Pick<Polling, 'onProgress'> {
  readonly config: Config
  readonly log: Log
  readonly signal: AbortSignal
  /** Who calls, for the ledger of paid calls: `user@host`. */
  readonly requestedBy: string
  /** Called for a billable call alone; the caller closes it. */
  readonly openWarehouse: () => Promise<Warehouse>
  /** Receives the answer as received, once; before a paid one is loaded, so that a fault of the load cannot lose it. */
  readonly show: (answer: unknown) => void
}

/** Calls an operation. A billable call goes through its daily budget, is sent once, and its result is in the warehouse at the end.
 *  UsageError when the fields contradict each other or the call is not allowed; errors of `pay` and `pollUntilDone`. */
export async function callOperation(caller: Caller, request: OperationCall): Promise<void> {
  const { config, log, signal } = caller
  const { operation, fields, files, rooftop, again } = request
  const problem = operation.problem(fields, files.length)
  if (problem !== null)
    throw new UsageError(
      `${operation.name} ${problem}: see "forecourt api ${operation.name} --help".`,
    )
  requireApiKey(config, operation)
  const naturalKey = callSubject(fields)
  const call: ServiceCall<Record<string, unknown>> = {
    ...{ fields, files, signal },
    ...(rooftop === null ? {} : { rooftop: rooftopAccess(rooftop) }),
    ...(isNamed(operation, naturalKey) ? { naturalKey } : {}),
  }
  await using services = openServices<Effect>(config, log, ['read', 'write', 'bill'])
  const { client } = services
  const send = () => client.call(operation, call)
  const showLast = (body: unknown) =>
    showAnswer({ ...caller, client }, { operation, call, body }, request)
  if (operation.effect !== 'bill') {
    await showLast((await send()).body)
    return
  }
  const { pool, db } = await caller.openWarehouse()
  const [row = null] = rooftop === null ? [] : await registerRooftops(db, [rooftop], log)
  const billing = { config, log, signal, client, pool, db, requestedBy: caller.requestedBy }
  await using paid = await pay(billing, { operation, rooftop: row, naturalKey, again }, send)
  await paid.finish(await showLast(paid.body))
}

/** Shows the answer, or the last one of those that are polled, and returns it. */
async function showAnswer(
  caller: Caller & Polling,
  started: StartedCall,
  { wait }: OperationCall,
): Promise<unknown> {
  let last = started.body
  try {
    const done = wait === null ? null : await pollUntilDone(caller, started, wait.every)
    if (done !== null) last = done.body
    return last
  } finally {
    // When polling fails, the answer so far: it may be paid for, and has the id for polling again.
    caller.show(last)
  }
}

/** The subject of the call: an evaluation, else a VIN or a code with all that changes the answer. Normalised, so that a repeat is
 *  recognised. */
function callSubject(fields: OperationCall['fields']): string | null {
  const { evalid, vin, adcode, km, predictDate, reasoning } = fields
  const named = evalid ?? vin ?? adcode
  if (named === undefined) return null
  const changing = [km, predictDate, reasoning === true ? 'reasoning' : undefined]
  const details = evalid === undefined ? changing.filter((one) => one !== undefined) : []
  const suffix = details.map((one) => `/${String(one)}`).join('')
  return (
    String(named)
      .trim()
      .toUpperCase()
      .slice(0, 64 - suffix.length) + suffix
  )
}

/** Whether errors can name the subject: at the appraisal service only an evaluation. */
function isNamed({ service }: Operation, naturalKey: string | null): naturalKey is string {
  return naturalKey !== null && (service === 'vehicleData' || /^\d+$/.test(naturalKey))
}

function rooftopAccess({ uid, dealerId, key }: RooftopConfig) {
  return { uid, dealerId, keyName: key }
}

function requireApiKey({ vehicleData }: Config, { service, name }: Operation): void {
  if (service === 'appraisal' || vehicleData.apiKey !== null) return
  throw new UsageError(
    `${name} needs vehicleData.apiKey, which the config leaves out: set it to e.g. \${FORECOURT_VEHICLE_DATA_KEY}.`,
  )
}
