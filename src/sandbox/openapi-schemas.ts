import { z } from 'zod'
import {
  carPic,
  decodeAnswer,
  evaluation,
  photo,
  pricingPayload,
  reconditioningItem,
  styleChoice,
  styleOptions,
  user,
} from '../api/contract/appraisal/shapes.ts'
import { type FieldValues, type Operation, pathFields } from '../api/contract/operation.ts'
import type { PathShapes, ShownAnswer } from '../api/contract/reading.ts'
import { firstCandidate, type JsonPath } from '../values/json-path.ts'
import type { WireSettings } from '../values/wire.ts'

// The schemas of the OpenAPI document: zod's JSON schemas, with the names of the wire settings.

/** A JSON schema of draft 2020-12, with the keywords used here. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly [keyword: string]: unknown
}

/** Schemas by their path in an answer. */
type PathSchemas = readonly (readonly [JsonPath, JsonSchema])[]

const makeOptions = {
  io: 'input',
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }) => {
    // Removes noise from the page: the bounds of a whole number, the pattern of a named format.
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.format?.startsWith('date')) delete jsonSchema.pattern
    if (zodSchema._zod.def.type === 'undefined') jsonSchema.not = {}
  },
} satisfies z.core.ToJSONSchemaParams

/** The shapes that answers share: each is a component of the document. */
const shared = {
  Evaluation: evaluation,
  Photo: photo,
  CarPic: carPic,
  ReconditioningItem: reconditioningItem,
  User: user,
  StyleChoice: styleChoice,
  StyleOptions: styleOptions,
  DecodeAnswer: decodeAnswer,
  PricingPayload: pricingPayload,
} as const
const components = z.registry<{ id: string }>()
for (const [id, shape] of Object.entries(shared)) components.add(shape, { id })

/** The JSON schema of an answer. A shared shape is a reference to its component. */
function toJsonSchema(shape: z.ZodType): JsonSchema {
  const known = components.get(shape)
  if (known !== undefined) return refTo(known.id)
  const {
    $schema: _,
    $defs: __,
    ...made
  } = z.toJSONSchema(shape, {
    ...makeOptions,
    metadata: components,
  })
  return JSON.parse(JSON.stringify(made).replaceAll('#/$defs/', componentUri('')))
}

/** The components that answers refer to, completed by the wire settings. */
export function componentSchemas(wire: WireSettings): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(components, { ...makeOptions, uri: componentUri })
  const made = Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
  ) as unknown as Record<keyof typeof shared, JsonSchema>
  const { enterVin } = wire.appraisal
  const option = listSchema(nestedSchema([[enterVin.description, { type: 'string' }]]))
  return {
    ...made,
    Evaluation: nestedSchema(evaluationFields(wire.appraisal), made.Evaluation),
    StyleOptions: listSchema(nestedSchema([[enterVin.options, option]], made.StyleOptions.items)),
    // An undecodable VIN is a success with an error [A §4 /entervin].
    DecodeAnswer: { anyOf: [made.DecodeAnswer, refTo('ErrorBody')] },
  }
}

function evaluationFields({ evaluation: names }: WireSettings['appraisal']): PathSchemas {
  const number = { type: ['number', 'null'] }
  const kinds: Partial<Record<keyof typeof names, JsonSchema>> = {
    dealerId: { type: 'integer' },
    ...{ year: number, odometer: number, condition: number },
  }
  return [
    ['CarPics', listSchema(refTo('CarPic'))],
    ...(Object.keys(names) as (keyof typeof names)[]).map(
      (field) => [names[field], kinds[field] ?? { type: ['string', 'null'] }] as const,
    ),
  ]
}

/** The answer of an operation; anything where nothing of it is documented. */
export function answerSchema({ read }: Operation, wire: WireSettings): JsonSchema {
  const { shape, placed } = read as ShownAnswer
  const base = shape === undefined ? undefined : toJsonSchema(shape)
  if (placed === undefined) return base ?? {}
  const fields = schemasAt(placed(wire))
  if (base?.['$ref'] !== undefined) return { allOf: [base, nestedSchema(fields)] }
  return base?.type === 'array'
    ? listSchema(nestedSchema(fields, base.items))
    : nestedSchema(fields, base)
}

function schemasAt(shapes: PathShapes): PathSchemas {
  return shapes.map(([path, shape]) => [
    path,
    shape instanceof z.ZodType ? toJsonSchema(shape) : listSchema(nestedSchema(schemasAt(shape))),
  ])
}

function componentUri(id: string): string {
  return `#/components/schemas/${id}`
}

export function refTo(component: string): JsonSchema {
  return { $ref: componentUri(component) }
}

function listSchema(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

/** An object schema with these values, each at the first path where a reader expects it; `""` is the body itself. */
export function nestedSchema(
  placed: PathSchemas,
  base: JsonSchema = { type: 'object' },
): JsonSchema {
  return placed.reduce<JsonSchema>((whole, [path, schema]) => {
    const name = firstCandidate(path)
    return name === '' ? schema : withProperty(whole, name.split('.'), schema)
  }, base)
}

function withProperty(
  base: JsonSchema,
  [name = '', ...deeper]: readonly string[],
  schema: JsonSchema,
): JsonSchema {
  const known = base.properties?.[name] ?? { type: 'object' }
  const property = deeper.length === 0 ? schema : withProperty(known, deeper, schema)
  return { ...base, properties: { ...base.properties, [name]: property } }
}

/** A field of a request by its wire name. */
export interface WireField {
  readonly name: string
  readonly schema: JsonSchema
  readonly required: boolean
}

/** The fields of an operation: those in the path, and those in the query, body or form. */
interface WireFields {
  readonly path: readonly WireField[]
  readonly rest: readonly WireField[]
}

/** A schema that is passed through `toWire` of an operation instead of the value that it describes. */
class Carried {
  readonly schema: JsonSchema
  readonly required: boolean
  /** The field whose items hold this one. */
  readonly within: Carried | null

  constructor(schema: JsonSchema, required: boolean, within: Carried | null = null) {
    this.schema = schema
    this.required = required
    this.within = within
  }
}

/** Finds the wire fields by passing schemas through `toWire`, which treats them like values. */
export function wireFields(operation: Operation, wire: WireSettings): WireFields {
  const named = pathFields(operation.transport(wire).path)
  const schema = z.toJSONSchema(operation.fields, makeOptions) as JsonSchema
  const { path, rest } = splitFields(carriers(schema), named)
  return {
    path: Object.entries(path).map(([name, value]) => describeField(name, value)),
    rest: Object.entries(operation.toWire(rest, wire)).map(([name, value]) =>
      describeField(name, value),
    ),
  }
}

/** The values of a call by wire names; values in the path by our names. */
export function wireValues(
  operation: Operation,
  fields: FieldValues,
  wire: WireSettings,
): { readonly path: FieldValues; readonly rest: FieldValues } {
  const named = pathFields(operation.transport(wire).path)
  const { path, rest } = splitFields(fields, named)
  return { path, rest: operation.toWire(rest, wire) }
}

function splitFields(fields: FieldValues, named: readonly string[]) {
  const inPath = ([name]: [string, unknown]) => named.includes(name)
  const entries = Object.entries(fields)
  return {
    path: Object.fromEntries(entries.filter(inPath)),
    rest: Object.fromEntries(entries.filter((entry) => !inPath(entry))),
  }
}

function carriers(schema: JsonSchema, within: Carried | null = null): FieldValues {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => {
      const carried = new Carried(property, schema.required?.includes(name) ?? false, within)
      const { items } = property
      return [name, items?.properties === undefined ? carried : [carriers(items, carried)]]
    }),
  )
}

function describeField(name: string, value: unknown): WireField {
  if (value instanceof Carried) return { name, schema: value.schema, required: value.required }
  const inner = Object.entries(Object(Array.isArray(value) ? value[0] : value))
  const carried = inner.map(([, one]) => one).find((one) => one instanceof Carried)
  if (!carried?.within) throw new Error(`toWire does not carry the value of ${name}`)
  const { schema, required } = carried.within
  const items = objectSchema(inner.map(([innerName, one]) => describeField(innerName, one)))
  return { name, required, schema: { ...schema, items } }
}

/** An object of these fields. */
export function objectSchema(fields: readonly WireField[]): JsonSchema {
  const required = fields.filter((field) => field.required).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    ...(required.length === 0 ? {} : { required }),
  }
}
