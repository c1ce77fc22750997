import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { z } from 'zod'
import type { Operation } from '../contract/operation.ts'
import { fromText, kindOf, type TextKind } from '../contract/text-fields.ts'
import { messageOf, UsageError } from '../errors.ts'

// The fields of an operation as flags of the command line, made from its schema.

const placeholders: Readonly<Record<TextKind, string>> = {
  number: '<number>',
  boolean: '[true|false]',
  list: '<a,b,…|@file>',
  object: '<json|@file>',
  text: '<text>',
}

/** One flag per field, with what the contract says about it. */
export function addFieldFlags(command: Command, { fields }: Operation): void {
  for (const [name, field] of Object.entries(fields.shape)) {
    const kind = kindOf(field)
    const needed = isRequired(field) ? ' (required)' : ''
    const about = `${descriptionOf(field)}${needed}`.trim()
    command.option(`--${name} ${placeholders[kind]}`, about)
  }
}

/** The fields that the flags say. UsageError that names every flag that is missing or does not fit. */
export function fieldsFromFlags(
  operation: Operation,
  flags: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { name, fields } = operation
  const texts = Object.entries(fields.shape).flatMap(([flag, field]) => {
    // A switch without a value is on.
    const said = flags[flag] === true ? 'true' : flags[flag]
    return typeof said === 'string' ? [[flag, ownText(flag, field, said)] as const] : []
  })
  const found = fields.safeParse(fromText(fields, Object.fromEntries(texts)))
  if (found.success) return found.data
  const issues = found.error.issues.map((issue) => describeIssue(issue, flags))
  throw new UsageError(`${issues.join('; ')}: see "forecourt api ${name} --help".`)
}

/** A list or an object may stand in a file. */
function ownText(flag: string, field: z.core.$ZodType, text: string): string {
  const kind = kindOf(field)
  if (!text.startsWith('@') || (kind !== 'list' && kind !== 'object')) return text
  try {
    return readFileSync(text.slice(1), 'utf8').trim()
  } catch (cause) {
    throw new UsageError(`--${flag} ${text} cannot be read: ${messageOf(cause)}.`, { cause })
  }
}

function describeIssue(
  { path, message }: z.core.$ZodIssue,
  flags: Readonly<Record<string, unknown>>,
): string {
  const [flag, ...rest] = path.map(String)
  if (flag !== undefined && flags[flag] === undefined) return `--${flag} is missing`
  const place = rest.length === 0 ? `--${flag}` : `--${flag} (${rest.join('.')})`
  return `${place}: ${message[0]?.toLowerCase()}${message.slice(1)}`
}

function isRequired(field: z.core.$ZodType): boolean {
  return field._zod.optin !== 'optional'
}

/** The description may stand within `optional`. */
function descriptionOf(field: z.core.$ZodType): string {
  const { description } = field as z.ZodType
  if (description !== undefined) return description
  const inner = (field._zod.def as { innerType?: z.core.$ZodType }).innerType
  return inner === undefined ? '' : descriptionOf(inner)
}
