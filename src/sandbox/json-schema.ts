import { z } from 'zod'
import { firstCandidate, type JsonPath } from '../values/json-path.ts'

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
export type PathSchemas = readonly (readonly [JsonPath, JsonSchema])[]

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

/** The JSON schema of what is sent. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...made } = z.toJSONSchema(schema, makeOptions)
  return made as JsonSchema
}

/** JSON schemas by name that refer to each other, for the components of an OpenAPI document. */
export function componentSchemas(
  shapes: Readonly<Record<string, z.ZodType>>,
): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, shape] of Object.entries(shapes)) registry.add(shape, { id })
  const { schemas } = z.toJSONSchema(registry, { ...makeOptions, uri: componentUri })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...made }]) => [
      id,
      made as JsonSchema,
    ]),
  )
}

function componentUri(id: string): string {
  return `#/components/schemas/${id}`
}

export function refTo(component: string): JsonSchema {
  return { $ref: componentUri(component) }
}

export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

/** An object schema with these values, each at the first path where a reader expects it; `""` is the body itself. */
export function objectOf(placed: PathSchemas, base: JsonSchema = { type: 'object' }): JsonSchema {
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
