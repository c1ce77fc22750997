import { accessSync, constants, statSync } from 'node:fs'
import type { Command } from 'commander'
import type { Effect, Operation } from '../../api/contract/operation.ts'
import { allOperations, findOperation } from '../../api/contract/operations.ts'
import { assertInterval, type PollProgress } from '../../api/sources/poll.ts'
import { errorText, UsageError } from '../../errors.ts'
import type { Caller, OperationCall } from '../billing/call-operation.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RooftopConfig } from '../config/read.ts'
import { addFieldFlags, fieldsFromFlags } from './api-fields.ts'
import { addToList, type CommandDefinition } from './command.ts'
import { requester } from './requester.ts'
import type { Session } from './session.ts'

const effects: Readonly<Record<Effect, string>> = {
  read: 'reads',
  write: 'writes: needs --yes',
  bill: 'costs money: needs --yes and a budget',
}

/** Every documented operation as a subcommand of `api`, made from its declaration. */
export const operationCommands: Pick<CommandDefinition, 'subcommands' | 'subcommandName'> = {
  subcommands: allOperations.map(defineCommand),
  // As the documents write it: /geteval, /v1/historyCheck, any case.
  subcommandName: (typed) => findOperation(typed)?.name,
}

function defineCommand(operation: Operation): CommandDefinition {
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
  command.addHelpText('after', helpText(operation))
}

/** Commander shows a default, so there is none. */
function collectFiles(path: string, before: readonly string[] | undefined): string[] {
  return addToList(path, before ?? [])
}

function helpText({ source, status, statuses, region }: Operation): string {
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
  const every = readEveryOption(options)
  const request: OperationCall = {
    operation,
    fields: fieldsFromFlags(operation, options),
    files: readFileOption(operation, options),
    rooftop: rooftopFor(session, operation, options),
    again: options['again'] === true,
    wait: options['wait'] === true ? { every } : null,
  }
  requireYes(operation, options)
  const meter = await openMeter(session)
  const caller: Caller = {
    config: session.config,
    log: session.log,
    signal: session.io.signal,
    requestedBy: requester(),
    openWarehouse: () => session.warehouse('write'),
    onProgress: meter.show,
    show: (answer) => {
      meter.end()
      // As received, including signed links, which the user wants to open.
      session.resultWithSecrets(answer, () => [JSON.stringify(answer, null, 2)])
    },
  }
  const { callOperation } = await import('../billing/call-operation.ts')
  await callOperation(caller, request)
  return 0
}

/** One line on a terminal, else log lines. */
async function openMeter({ io, globals, log }: Session): Promise<{
  readonly show: (progress: PollProgress) => void
  readonly end: () => void
}> {
  const { drawsProgress } = await import('./progress.ts')
  if (!drawsProgress(io, globals))
    return {
      show: ({ operation, fields, percent, seconds }) =>
        log.info({ ...fields, percent, seconds }, `waiting for ${operation}`),
      end: () => {},
    }
  const { createLogUpdate } = await import('log-update')
  const update = createLogUpdate(io.stderr as NodeJS.WriteStream, { showCursor: true })
  return {
    show: ({ operation, percent, seconds }) =>
      update(`${operation}  ${percent ?? 0} %  ${seconds} s`),
    end: () => update.clear(),
  }
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

function readFileOption(
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
    throw new UsageError(`--file ${path} cannot be read: ${errorText(cause)}.`, { cause })
  }
  if (!statSync(path).isFile()) throw new UsageError(`--file ${path} is not a file.`)
}

function readEveryOption(options: Readonly<Record<string, unknown>>): number | null {
  const text = options['every']
  if (text === undefined) return null
  const seconds = Number(text)
  assertInterval(seconds, `--every ${String(text)}`)
  return seconds
}
