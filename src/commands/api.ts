import { accessSync, constants, statSync } from 'node:fs'
import type { Command } from 'commander'
import type { RooftopConfig } from '../config/read.ts'
import { openServices } from '../context.ts'
import type { Effect, Operation } from '../contract/operation.ts'
import { allOperations, findOperation } from '../contract/operations.ts'
import { messageOf, UsageError } from '../errors.ts'
import { chooseRooftops, registerRooftops } from '../pipeline/rooftops.ts'
import type { ServiceCall, ServiceClient } from '../sources/service-client.ts'
import { pay } from './api-bill.ts'
import type { BillingContext } from './api-billing-context.ts'
import { addFieldFlags, fieldsFromFlags } from './api-fields.ts'
import { type StartedCall, waitUntilDone } from './api-wait.ts'
import { addToList, type CommandDefinition } from './command.ts'
import type { Session } from './session.ts'

const effects: Readonly<Record<Effect, string>> = {
  read: 'reads',
  write: 'writes: needs --yes',
  bill: 'costs money: needs --yes and a budget',
}

/** Every documented operation as a subcommand of `api`, made from its declaration. */
export const operationCommands: Pick<CommandDefinition, 'subcommands' | 'subcommandName'> = {
  subcommands: allOperations.map(commandOf),
  // As the documents write it: /geteval, /v1/historyCheck, any case.
  subcommandName: (typed) => findOperation(typed)?.name,
}

function commandOf(operation: Operation): CommandDefinition {
  return {
    usage: operation.name,
    group: operation.service === 'appraisal' ? 'Appraisal service:' : 'Vehicle-data APIs:',
    summary: `${operation.summary} (${effects[operation.effect]})`,
    options: (command) => addOptions(command, operation),
    run: (session, options) => runOperation(session, operation, options),
  }
}

function addOptions(command: Command, operation: Operation): void {
  addFieldFlags(command, operation)
  const { service, effect, file, polling: follow } = operation
  const isNeeded = service === 'appraisal'
  const about = isNeeded ? 'as which rooftop (default: the only one of the config)' : 'not needed'
  command.option('--rooftop <uid>', about)
  if (file !== null)
    command.option('--file <path>', `${file.description} (repeatable)`, collectFiles)
  if (effect !== 'read') command.option('--yes', `confirm: ${effects[effect].split(':')[0]}`)
  if (effect === 'bill')
    command.option(
      '--again',
      'pay again, although an earlier call for the same subject is valid or may have been billed',
    )
  if (follow !== null) {
    command.option('--wait', 'ask again until it is done')
    command.option('--every <seconds>', `with --wait, default ${follow.everySeconds}`)
  }
  command.addHelpText('after', helpOf(operation))
}

/** Commander shows a default, so there is none. */
function collectFiles(path: string, before: readonly string[] | undefined): string[] {
  return addToList(path, before ?? [])
}

function helpOf({ source, status, statuses, region }: Operation): string {
  const stated = Object.entries(statuses).map(([code, when]) => `  ${code}  ${when}`)
  return [
    '',
    `Document: ${source}${region === null ? '' : `, ${region} keys alone`}`,
    'Statuses:',
    `  ${status}  success`,
    ...stated,
  ].join('\n')
}

async function runOperation(
  session: Session,
  operation: Operation,
  options: Readonly<Record<string, unknown>>,
): Promise<number> {
  const fields = fieldsFromFlags(operation, options)
  const files = filesOf(operation, options)
  const every = everyOf(options)
  const waiting = options['wait'] === true ? { every } : null
  const rooftop = rooftopFor(session, operation, options)
  const problem = operation.problem(fields, files.length)
  if (problem !== null)
    throw new UsageError(
      `${operation.name} ${problem}: see "forecourt api ${operation.name} --help".`,
    )
  requireYes(operation, options)
  requireApiKey(session, operation)
  const naturalKey = subjectOf(fields)
  const call: ServiceCall<Record<string, unknown>> = {
    fields,
    files,
    signal: session.io.signal,
    ...(rooftop === null ? {} : { rooftop: accessOf(rooftop) }),
    ...(isNamed(operation, naturalKey) ? { naturalKey } : {}),
  }
  await using services = openServices<Effect>(session.config, session.log, [
    'read',
    'write',
    'bill',
  ])
  const { client } = services
  const send = () => client.call(operation, call)
  if (operation.effect !== 'bill') {
    await answerTo(session, client, { operation, call, body: (await send()).body }, waiting)
    return 0
  }
  const again = options['again'] === true
  const { pool, db } = await session.warehouse('write')
  const [row = null] = rooftop === null ? [] : await registerRooftops(db, [rooftop], session.log)
  const billing: BillingContext = { session, client, pool, db }
  const { body, finish } = await pay(billing, { operation, rooftop: row, naturalKey, again }, send)
  await finish(await answerTo(session, client, { operation, call, body }, waiting))
  return 0
}

/** Shows the answer, or with --wait the last one, and returns it. */
async function answerTo(
  session: Session,
  client: ServiceClient<Effect>,
  started: StartedCall,
  waiting: { readonly every: number | null } | null,
): Promise<unknown> {
  const last =
    waiting === null
      ? started.body
      : await waitUntilDone(session, client, started, waiting.every).catch((error: unknown) => {
          // The answer so far may be paid for, and has the id for polling again.
          showAnswer(session, started.body)
          throw error
        })
  showAnswer(session, last)
  return last
}

/** Shows the answer as received, including signed links, which the user wants to open. */
function showAnswer(session: Session, answer: unknown): void {
  session.resultWithSecrets(answer, () => [JSON.stringify(answer, null, 2)])
}

/** The subject of the call: an evaluation, else a VIN, else a code with its kilometres. Normalised, so that a repeat is recognised. */
function subjectOf({ evalid, vin, adcode, km }: Readonly<Record<string, unknown>>): string | null {
  const model = adcode === undefined || km === undefined ? adcode : `${adcode}/${km}`
  const named = evalid ?? vin ?? model
  return named === undefined ? null : String(named).trim().toUpperCase().slice(0, 64)
}

/** Whether errors can name the subject: at the appraisal service only an evaluation. */
function isNamed({ service }: Operation, naturalKey: string | null): naturalKey is string {
  return naturalKey !== null && (service === 'vehicleData' || /^\d+$/.test(naturalKey))
}

function accessOf({ uid, dealerId, key }: RooftopConfig) {
  return { uid, dealerId, keyName: key }
}

/** UsageError without --yes: a mistyped command must not write or bill. */
function requireYes(
  { name, effect, budget }: Operation,
  options: Readonly<Record<string, unknown>>,
) {
  if (effect === 'read' || options['yes'] === true) return
  const what = effect === 'bill' ? `costs money (budget.${budget})` : 'writes at the source'
  throw new UsageError(`${name} ${what}: nothing was sent. Add --yes to do it.`)
}

function requireApiKey({ config }: Session, { service, name }: Operation): void {
  if (service === 'appraisal' || config.vehicleData.apiKey !== null) return
  throw new UsageError(
    `${name} needs vehicleData.apiKey, which the config leaves out: set it to e.g. \${FORECOURT_VEHICLE_DATA_KEY}.`,
  )
}

/** The rooftop of the call; null when the vehicle-data APIs need none. */
function rooftopFor(
  { config }: Session,
  { service, name }: Operation,
  options: Readonly<Record<string, unknown>>,
): RooftopConfig | null {
  const uid = options['rooftop']
  if (typeof uid === 'string') return chooseRooftops(config, [uid])[0]!
  if (service === 'vehicleData') return null
  const rooftops = chooseRooftops(config, [])
  if (rooftops.length === 1) return rooftops[0]!
  const known = rooftops.map((one) => `${one.uid} (${one.name})`).join(', ')
  throw new UsageError(`${name} needs --rooftop <uid>, one of: ${known}.`)
}

function filesOf(
  { name, file }: Operation,
  options: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (file === null) return []
  const files = (options['file'] ?? []) as readonly string[]
  if (file.required && files.length === 0)
    throw new UsageError(`${name} needs --file <path>: ${file.description}.`)
  if (!file.several && files.length > 1) throw new UsageError(`${name} takes one --file.`)
  for (const path of files) {
    requireReadable(path)
  }
  return files
}

function requireReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK)
  } catch (cause) {
    throw new UsageError(`--file ${path} cannot be read: ${messageOf(cause)}.`, { cause })
  }
  if (!statSync(path).isFile()) throw new UsageError(`--file ${path} is not a file.`)
}

function everyOf(options: Readonly<Record<string, unknown>>): number | null {
  const text = options['every']
  if (text === undefined) return null
  const seconds = Number(text)
  if (seconds > 0 && seconds <= 3600) return seconds
  throw new UsageError(`--every ${String(text)} must be a number of seconds up to 3600.`)
}
