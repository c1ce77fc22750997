import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import type { z } from 'zod'
import { issueText } from '../../api/contract/issue-text.ts'
import type { Effect, Operation } from '../../api/contract/operation.ts'
import { allOperations, findOperation } from '../../api/contract/operations.ts'
import {
  fieldChoices,
  fromText,
  holdsObjects,
  type TextKind,
  textKind,
} from '../../api/contract/text-fields.ts'
import { assertInterval, type PollProgress } from '../../api/sources/poll.ts'
import { errorText, UsageError } from '../../errors.ts'
import { isObject } from '../../values/json-path.ts'
import type { Caller, OperationCall } from '../billing/call-operation.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RooftopConfig } from '../config/read.ts'
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
  if (file !== null) command.option('--file <path>', `${file.description} (repeatable)`, addToList)
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

// The fields of an operation as flags of the command line, from its schema.

const placeholders: Readonly<Record<TextKind, string>> = {
  number: '<number>',
  boolean: '[true|false]',
  list: '<a,b,…|@file>',
  object: '<json|@file>',
  text: '<text>',
}

/** Adds one flag per field, described as in the contract. */
function addFieldFlags(command: Command, { fields }: Operation): void {
  for (const [name, field] of Object.entries(fields.shape)) {
    const choices = fieldChoices(field)
    const holder = choices === null ? placeholders[textKind(field)] : `<${choices.join('|')}>`
    const needed = field._zod.optin === 'optional' ? '' : ' (required)'
    const about = `${fieldDescription(field)}${needed}`.trim()
    command.option(`--${name} ${holder}`, about)
  }
}

/** The fields from the flags. UsageError names every missing or invalid flag. */
function fieldsFromFlags(
  operation: Operation,
  flags: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { name, fields } = operation
  const texts = Object.entries(fields.shape).flatMap(([flag, field]) => {
    // A switch without a value is on.
    const value = flags[flag] === true ? 'true' : flags[flag]
    return typeof value === 'string' ? [[flag, fieldText(flag, field, value)] as const] : []
  })
  const found = fields.safeParse(fromText(fields, Object.fromEntries(texts)))
  if (found.success) return found.data
  const issues = found.error.issues.map((issue) => describeIssue(issue, flags))
  throw new UsageError(`${issues.join('; ')}: see "forecourt api ${name} --help".`)
}

/** The text of a field; a list or an object may be in a file. */
function fieldText(flag: string, field: z.core.$ZodType, text: string): string {
  const kind = textKind(field)
  if (kind !== 'list' && kind !== 'object') return text
  const isFile = text.startsWith('@')
  const found = isFile ? readFileFlag(flag, text) : text
  // A list of ids may be as short as 1,2,3, in a file also one a line.
  const isPlain = kind === 'list' && !holdsObjects(field) && !/^\s*[[{"]/.test(found)
  if (isPlain) return isFile ? found.split(/[\s,]+/).join(',') : found
  requireJson(kind, { place: isFile ? `--${flag} ${text}` : `--${flag}`, field }, found)
  return found
}

function readFileFlag(flag: string, text: string): string {
  try {
    return readFileSync(text.slice(1), 'utf8').trim()
  } catch (cause) {
    throw new UsageError(`--${flag} ${text} cannot be read: ${errorText(cause)}.`, { cause })
  }
}

/** UsageError that names what is expected. It does not quote the text, which may name a customer. */
function requireJson(
  kind: 'list' | 'object',
  { place, field }: { readonly place: string; readonly field: z.core.$ZodType },
  text: string,
): void {
  const wanted = kind === 'list' ? 'a JSON list' : 'a JSON object, e.g. {"name": "value"}'
  const what = `${wanted} is expected (${fieldDescription(field)})`
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${place} is not JSON: ${what}.`, { cause })
  }
  if (!(kind === 'list' ? Array.isArray(found) : isObject(found)))
    throw new UsageError(
      `${place} does not hold ${kind === 'list' ? 'a list' : 'an object'}: ${what}.`,
    )
}

function describeIssue(issue: z.core.$ZodIssue, flags: Readonly<Record<string, unknown>>): string {
  const [flag, ...rest] = issue.path.map(String)
  if (flag !== undefined && flags[flag] === undefined) return `--${flag} is missing`
  const place = rest.length === 0 ? `--${flag}` : `--${flag} (${rest.join('.')})`
  return `${place} ${issueText(issue)}`
}

/** The description may be inside of `optional`. */
function fieldDescription(field: z.core.$ZodType): string {
  const { description } = field as z.ZodType
  if (description !== undefined) return description
  const inner = (field._zod.def as { innerType?: z.core.$ZodType }).innerType
  return inner === undefined ? '' : fieldDescription(inner)
}
