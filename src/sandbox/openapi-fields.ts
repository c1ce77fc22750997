import { type FieldValues, type Operation, pathFields } from '../contract/operation.ts'
import type { WireSettings } from '../values/wire.ts'
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/** A field of a request by its wire name. */
export interface WireField {
  readonly name: string
  readonly schema: JsonSchema
  readonly required: boolean
}

/** The fields of an operation: those in the path, and those in the query, body or form. */
export interface WireFields {
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
  const { path, rest } = splitFields(carriers(jsonSchemaOf(operation.fields)), named)
  return {
    path: Object.entries(path).map(([name, value]) => fieldOf(name, value)),
    rest: Object.entries(operation.toWire(rest, wire)).map(([name, value]) => fieldOf(name, value)),
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

function fieldOf(name: string, value: unknown): WireField {
  if (value instanceof Carried) return { name, schema: value.schema, required: value.required }
  const inner = Object.entries(Object(Array.isArray(value) ? value[0] : value))
  const carried = inner.map(([, one]) => one).find((one) => one instanceof Carried)
  if (!carried?.within) throw new Error(`toWire does not carry the value of ${name}`)
  const { schema, required } = carried.within
  const items = objectSchema(inner.map(([innerName, one]) => fieldOf(innerName, one)))
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
