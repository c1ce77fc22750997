import { z } from 'zod'
import { jsonValue } from '../../values/json-value.ts'
import type { WireSettings } from '../../values/wire.ts'
import {
  barePath,
  type FieldValues,
  type Operation,
  pathFields,
  pathQuery,
  receivedFields,
  type ServiceName,
} from '../contract/operation.ts'
import { allOperations, findOperation } from '../contract/operations.ts'
import type { Answer } from './answers.ts'

/** Whose answers are read: what came from other addresses belongs to others. */
export interface RecordedBy {
  readonly addresses: Readonly<Record<ServiceName, string>>
  readonly rooftops: readonly { readonly uid: string; readonly dealerId: number | null }[]
  readonly wire: WireSettings
}

/** What a recording holds; `ignored` counts what is not an answer of the services. */
interface Recording {
  readonly answers: readonly Answer[]
  readonly ignored: number
}

type Json = Readonly<Record<string, unknown>>

const recordedRooftop = z.object({ uid: z.string(), dealerId: z.int().nullable() })

/**
 * Reads a recorded file: a HAR file, `{ operation, rooftop, request, answer }` or a list of them, or the body of one answer in a file that is
 * named by its operation (`geteval-1.json`). SyntaxError: it is not JSON.
 */
export function readRecording(fileName: string, text: string, by: RecordedBy): Recording {
  const value: unknown = JSON.parse(text)
  const entries = (value as { log?: { entries?: unknown } } | null)?.log?.entries
  if (Array.isArray(entries))
    return buildRecording(entries.map((entry) => fromHar(entry as HarEntry, by)))
  const items = Array.isArray(value) ? (value as unknown[]) : [value]
  if (items.length > 0 && items.every(isCall)) return buildRecording(items.map(fromCall))
  const [name = ''] = fileName.split(/\.|[_-](?=\d)/, 1)
  return buildRecording([operationAnswer(findOperation(name), {}, value)])
}

function buildRecording(found: readonly (Answer | null)[]): Recording {
  const answers = found.filter((answer) => answer !== null)
  return { answers, ignored: found.length - answers.length }
}

function operationAnswer(
  operation: Operation | undefined,
  request: FieldValues,
  body: unknown,
): Answer | null {
  return operation === undefined ? null : { operation: operation.name, request, body }
}

function isCall(item: unknown): item is Json {
  return item !== null && typeof item === 'object' && 'operation' in item && 'answer' in item
}

function fromCall({ operation, request, rooftop, answer }: Json): Answer | null {
  const fields = request !== null && typeof request === 'object' ? (request as Json) : {}
  const found = operationAnswer(findOperation(String(operation)), fields, answer)
  const { data } = recordedRooftop.safeParse(rooftop)
  return found === null || data === undefined ? found : { ...found, rooftop: data }
}

/** What is read of an entry of a HAR file; its cookies, and its headers but the rooftop, are not. */
interface HarEntry {
  readonly request?: {
    readonly method?: string
    readonly url?: string
    readonly headers?: readonly { readonly name: string; readonly value: string }[]
    readonly postData?: {
      readonly text?: string
      readonly params?: readonly { readonly name: string; readonly value?: string }[]
    }
  }
  readonly response?: {
    readonly status?: number
    readonly content?: { readonly text?: string; readonly encoding?: string }
  }
}

function fromHar(
  { request, response }: HarEntry,
  { addresses, rooftops, wire }: RecordedBy,
): Answer | null {
  const url = request?.url ?? ''
  const service = (['appraisal', 'vehicleData'] as const).find((one) =>
    url.startsWith(`${addresses[one].replace(/\/$/, '')}/`),
  )
  if (service === undefined || !URL.canParse(url)) return null
  const path = url.slice(addresses[service].replace(/\/$/, '').length)
  const operation = allOperations.find(
    (one) => one.service === service && matchesPath(one, request?.method, path, wire),
  )
  if (operation === undefined) return null
  const uid = request?.headers?.find(({ name }) => name.toLowerCase() === 'x-dealer-id')?.value
  const rooftop = rooftops.find((one) => one.uid === uid)
  const body = responseBody(response)
  const answer =
    body === undefined
      ? null
      : operationAnswer(operation, requestFields(operation, path, request, wire), body)
  return answer === null || rooftop === undefined ? answer : { ...answer, rooftop }
}

function matchesPath(
  operation: Operation,
  method: string | undefined,
  path: string,
  wire: WireSettings,
): boolean {
  const { method: wanted, path: template } = operation.transport(wire)
  const parts = barePath(template).split('/')
  const sent = barePath(path).split('/')
  return (
    wanted === method &&
    parts.length === sent.length &&
    parts.every(
      (part, at) => /^\{\w+\}$/.test(part) || part.toLowerCase() === sent[at]!.toLowerCase(),
    )
  )
}

function requestFields(
  operation: Operation,
  path: string,
  request: HarEntry['request'],
  wire: WireSettings,
): FieldValues {
  const template = barePath(operation.transport(wire).path).split('/')
  const sent = barePath(path).split('/')
  const inPath = template.flatMap((part, at) =>
    pathFields(part).map((name) => [name, decodeURIComponent(sent[at]!)]),
  )
  const { text = '', params } = request?.postData ?? {}
  const rest =
    params === undefined
      ? jsonValue(text)
      : Object.fromEntries(params.map(({ name, value }) => [name, value]))
  const query = pathQuery(path)
  const fields = rest !== null && typeof rest === 'object' ? (rest as Json) : query
  return receivedFields(
    operation,
    { path: Object.fromEntries(inPath) as Json, query, rest: fields },
    wire,
  )
}

/** The body of a success, or `[]` where what was asked for is unknown; undefined: neither. */
function responseBody(response: HarEntry['response']): unknown {
  const { status = 0, content } = response ?? {}
  if (status === 400 || status === 404) return []
  if (status < 200 || status > 299) return undefined
  const text =
    content?.encoding === 'base64'
      ? Buffer.from(content.text ?? '', 'base64').toString()
      : content?.text
  return jsonValue(text ?? '')
}
