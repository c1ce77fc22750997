import type { z } from 'zod'
import { jsonValue } from '../../values/json-value.ts'

// Forms, queries, paths and command lines carry text alone: what a text means follows from the schema of its field.

/** How the text of a field is read. */
export type TextKind = 'number' | 'boolean' | 'list' | 'object' | 'text'

/** The kind of a field, whatever it is wrapped in (optional, default, nullable). */
export function textKind(field: z.core.$ZodType): TextKind {
  const def = field._zod.def as unknown as Record<string, unknown>
  switch (def['type']) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return textKind(def['innerType'] as z.core.$ZodType)
    case 'pipe':
      return textKind(def['in'] as z.core.$ZodType)
    case 'union':
      return textKind((def['options'] as z.core.$ZodType[])[0]!)
    case 'number':
    case 'int':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'array':
      return 'list'
    case 'object':
    case 'record':
      return 'object'
    default:
      return 'text'
  }
}

/** Whether the items of a list are objects, which only JSON can write. */
export function holdsObjects(field: z.core.$ZodType): boolean {
  const { element, innerType } = field._zod.def as {
    element?: z.core.$ZodType
    innerType?: z.core.$ZodType
  }
  if (element !== undefined) return textKind(element) === 'object'
  return innerType !== undefined && holdsObjects(innerType)
}

/** The values that a field may have, where it has a few; else null. */
export function fieldChoices(field: z.core.$ZodType): readonly string[] | null {
  const def = field._zod.def as unknown as Record<string, unknown>
  if (def['type'] === 'enum') return Object.values(def['entries'] as Record<string, string>)
  return def['innerType'] === undefined ? null : fieldChoices(def['innerType'] as z.core.$ZodType)
}

/** Texts by field name, turned into what the fields hold. What cannot be read stays text, so that the schema names it. */
export function fromText(
  fields: z.ZodObject,
  texts: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => {
      const field = Object.hasOwn(fields.shape, name) ? fields.shape[name] : undefined
      return [name, field && typeof value === 'string' ? readText(textKind(field), value) : value]
    }),
  )
}

function readText(kind: TextKind, text: string): unknown {
  if (kind === 'number') return /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : nullOr(text)
  if (kind === 'boolean') return readSwitch(text)
  if (kind === 'object') return readJson(text)
  if (kind === 'list') return /^\s*\[/.test(text) ? readJson(text) : readList(text)
  return text
}

function readSwitch(text: string): unknown {
  const value = text.trim().toLowerCase()
  if (value === '1' || value === 'true') return true
  return value === '0' || value === 'false' ? false : text
}

/** Reads `1,2,3`; whole numbers become numbers if all items are. */
function readList(text: string): unknown[] {
  const items = text.split(',').map((item) => item.trim())
  return items.every((item) => /^-?\d+$/.test(item)) ? items.map(Number) : items
}

/** The value of a JSON text, and any other text as it is. */
export function readJson(text: string): unknown {
  const value = jsonValue(text)
  return value === undefined ? text : value
}

function nullOr(text: string): string | null {
  return text.trim() === 'null' ? null : text
}
