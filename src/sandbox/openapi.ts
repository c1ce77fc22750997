import {
  barePath,
  type Effect,
  type FieldValues,
  type Operation,
  pathQuery,
  type ServiceName,
} from '../api/contract/operation.ts'
import { operationGroups } from '../api/contract/operations.ts'
import { given } from '../values/given.ts'
import type { AppraisalWire, WireSettings } from '../values/wire.ts'
import {
  answerSchema,
  componentSchemas,
  type JsonSchema,
  nestedSchema,
  objectSchema,
  refTo,
  type WireField,
  wireFields,
  wireValues,
} from './openapi-schemas.ts'

/** What the document depends on: the wire names in force, and the addresses of the services. */
interface OpenApiInput {
  readonly wire: WireSettings
  /** Base URLs: of the appraisal service with `/v1`, of the vehicle-data APIs without. */
  readonly servers: Readonly<Record<ServiceName, string>>
  /** Fields of an example call, by our names; default: the operation's own. */
  readonly exampleOf?: (operation: Operation) => FieldValues
  /** A rooftop to show as `X-Dealer-Id`. */
  readonly rooftopUid?: string
}

type Json = Readonly<Record<string, unknown>>

/** The OpenAPI 3.1 document of both services, by the wire names in force. */
export function openApiDocument(input: OpenApiInput): Json {
  const { wire, servers } = input
  const paths: Record<string, Record<string, Json>> = {}
  for (const { name, operations } of operationGroups)
    for (const operation of operations) {
      const { method, path: template } = operation.transport(wire)
      const path = barePath(template)
      const entry = operationEntry(operation, input)
      paths[path] = { ...paths[path], [method.toLowerCase()]: { tags: [name], ...entry } }
    }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Appraisal service and vehicle-data APIs (Forecourt sandbox)',
      version: '1.3.0',
      description: about,
    },
    servers: (['appraisal', 'vehicleData'] as const).map((name) => serverEntry(servers, name)),
    tags: operationGroups.map(({ name, service }) => ({
      name,
      description: serviceTitles[service],
    })),
    paths,
    components: {
      securitySchemes: { appraisal: appraisalScheme(wire.appraisal), vehicleData: vehicleScheme },
      parameters: { dealerId: dealerIdParameter(input.rooftopUid) },
      schemas: { ...errorBodies(wire), ...componentSchemas(wire) },
    },
  }
}

const serviceTitles: Readonly<Record<ServiceName, string>> = {
  appraisal: 'Appraisal service',
  vehicleData: 'Vehicle-data APIs',
}

const effectTexts: Readonly<Record<Effect, string>> = {
  read: 'Reads.',
  write: 'Writes.',
  bill: 'Costs money at the real service.',
}

const about = [
  'Every operation of the two documents. Names that the documents leave open are those of the wire settings in force.',
  'Sources are cited as `[A §n]` (appraisal service) and `[V §n]` (vehicle data).',
].join(' ')

/** The error body that the document shows, and those of the wire settings [A §7, V §7]. */
function errorBodies({ appraisal, vehicleData }: WireSettings): Record<string, JsonSchema> {
  const text: JsonSchema = { type: 'string' }
  const about = (description: string): JsonSchema => ({ type: 'object', description })
  const unshown = about('Not shown by the document: its place is a wire setting.')
  return {
    ErrorBody: nestedSchema([['error', text]], about('Shown by the document [A §7].')),
    AppraisalError: nestedSchema([[appraisal.error, text]], unshown),
    VehicleDataError: nestedSchema([[vehicleData.error, text]], unshown),
  }
}

const vehicleScheme = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description: 'The key of the vehicle-data APIs [V §5].',
}

/** Whether the key of the appraisal service is sent as HTTP bearer authentication. */
function isBearer({ authHeader, authPrefix }: AppraisalWire): boolean {
  return /^authorization$/i.test(authHeader) && /^bearer $/i.test(authPrefix)
}

function appraisalScheme(wire: AppraisalWire): Json {
  const { authHeader, authPrefix } = wire
  const description = 'Dedicated or partner key [A §5]; the header is a wire setting.'
  if (isBearer(wire)) return { type: 'http', scheme: 'bearer', description }
  const prefixed = authPrefix === '' ? '' : ` The key follows the text "${authPrefix}".`
  return { type: 'apiKey', in: 'header', name: authHeader, description: description + prefixed }
}

function dealerIdParameter(rooftopUid: string | undefined): Json {
  return {
    name: 'X-Dealer-Id',
    in: 'header',
    required: false,
    description:
      'uid of the rooftop. Required with a partner key; ignored on a dedicated one [A §5].',
    schema: { type: 'string' },
    ...(rooftopUid === undefined ? {} : { example: rooftopUid }),
  }
}

function serverEntry(servers: OpenApiInput['servers'], name: ServiceName): Json {
  return { url: servers[name], description: serviceTitles[name] }
}

function operationEntry(operation: Operation, input: OpenApiInput): Json {
  const { service, effect, region, budget, source } = operation
  const request = requestParts(operation, input)
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: description(operation),
    servers: [serverEntry(input.servers, service)],
    security: [{ [service]: [] }],
    ...request,
    responses: describeResponses(operation, {
      answer: answerSchema(operation, input.wire),
      takesBody: 'requestBody' in request,
    }),
    'x-effect': effect,
    'x-source': source,
    ...given({ 'x-region': region, 'x-budget': budget }),
  }
}

function description({ source, effect, region, polling: follow }: Operation): string {
  const parts = [
    effectTexts[effect],
    ...(region === null ? [] : [`${region} keys alone.`]),
    ...(follow === null
      ? []
      : [`Asynchronous: asked again with \`${follow.operation}\` every ${follow.everySeconds} s.`]),
    `Source: ${source}`,
  ]
  return parts.join(' ')
}

function requestParts(operation: Operation, { wire, exampleOf }: OpenApiInput): Json {
  const { service, transport } = operation
  const { encoding, path } = transport(wire)
  const fields = wireFields(operation, wire)
  const example = wireValues(operation, exampleOf?.(operation) ?? operation.example, wire)
  const query = encoding === 'query' ? fields.rest : []
  const parameters = [
    ...fields.path.map((field) => pathParameter(path, field, example.path[field.name])),
    ...query.map((field) => parameter('query', field, example.rest[field.name])),
    ...(service === 'appraisal' ? [{ $ref: '#/components/parameters/dealerId' }] : []),
  ]
  const body = encoding === 'query' ? {} : requestBody(operation, fields.rest, { example, wire })
  return { ...(parameters.length === 0 ? {} : { parameters }), ...body }
}

/** A parameter of the path or of its query. */
function pathParameter(path: string, field: WireField, example: unknown): Json {
  const held = Object.entries(pathQuery(path)).find(([, value]) => value === `{${field.name}}`)
  if (held === undefined) return parameter('path', field, example)
  return parameter('query', { ...field, name: held[0] }, example)
}

function parameter(place: 'path' | 'query', field: WireField, example: unknown): Json {
  const { description: text, ...schema } = field.schema
  return {
    name: field.name,
    in: place,
    required: place === 'path' || field.required,
    ...(text === undefined ? {} : { description: text }),
    schema,
    ...(example === undefined ? {} : { example }),
  }
}

function requestBody(
  operation: Operation,
  fields: readonly WireField[],
  {
    example,
    wire,
  }: { readonly example: { readonly rest: FieldValues }; readonly wire: WireSettings },
): Json {
  const isForm = operation.transport(wire).encoding === 'form'
  const values = isForm ? formTexts(example.rest) : example.rest
  const all = isForm
    ? [...fields.map((field) => formField(field, values)), ...fileFields(operation, wire)]
    : fields
  if (all.length === 0) return {}
  const content = { schema: objectSchema(all), example: values }
  return {
    requestBody: {
      required: all.some((field) => field.required),
      content: { [isForm ? 'multipart/form-data' : 'application/json']: content },
    },
  }
}

/** In a form, lists and objects are sent as JSON text. */
function formTexts(values: FieldValues): FieldValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : value,
    ]),
  )
}

/** Viewers expect the example of a form at each field. */
function formField(field: WireField, examples: FieldValues): WireField {
  const { name, schema } = field
  const { description: text, ...content } = schema
  const isJson = schema.type === 'array' || schema.type === 'object'
  const json = { contentMediaType: 'application/json', contentSchema: content }
  const described = isJson
    ? { type: 'string', ...(text ? { description: text } : {}), ...json }
    : schema
  const example = examples[name] === undefined ? {} : { examples: [examples[name]] }
  return { ...field, schema: { ...described, ...example } }
}

function fileFields({ file }: Operation, wire: WireSettings): WireField[] {
  if (file === null) return []
  const { name, required, several, description: text } = file
  const one = { type: 'string', contentMediaType: 'application/octet-stream', format: 'binary' }
  const schema = several ? { type: 'array', items: one } : one
  return [{ name: name(wire), required, schema: { ...schema, description: text } }]
}

function errorSchema({ service, shownErrors }: Operation, status: string): JsonSchema {
  if (shownErrors.includes(Number(status))) return refTo('ErrorBody')
  return refTo(service === 'appraisal' ? 'AppraisalError' : 'VehicleDataError')
}

/** The documented statuses, and 400 for a body that the sandbox cannot read: the documents state it only for some operations. */
function describeResponses(
  operation: Operation,
  { answer, takesBody }: { readonly answer: JsonSchema; readonly takesBody: boolean },
): Json {
  const { status } = operation
  const statuses = {
    ...(takesBody ? { 400: 'the body is not a JSON object' } : {}),
    ...operation.statuses,
  }
  const response = (text: string, schema: JsonSchema) => ({
    description: text,
    content: { 'application/json': { schema } },
  })
  const others = Object.entries(statuses).map(([code, when]) => [
    code,
    response(when, Number(code) < 300 ? answer : errorSchema(operation, code)),
  ])
  return { ...Object.fromEntries(others), [status]: response('Success', answer) }
}
