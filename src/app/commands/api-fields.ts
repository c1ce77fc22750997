import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { z } from 'zod'
import { issueText } from '../../api/contract/issue-text.ts'
import type { Operation } from '../../api/contract/operation.ts'
import {
  fieldChoices,
  fromText,
  holdsObjects,
  type TextKind,
  textKind,
} from '../../api/contract/text-fields.ts'
import { errorText, UsageError } from '../../errors.ts'

// The fields of an operation as flags of the command line, from its schema.

const placeholders: Readonly<Record<TextKind, string>> = {
  number: '<number>',
  boolean: '[true|false]',
  list: '<a,b,…|@file>',
  object: '<json|@file>',
  text: '<text>',
}

/** Adds one flag per field, described as in the contract. */
export function addFieldFlags(command: Command, { fields }: Operation): void {
  for (const [name, field] of Object.entries(fields.shape)) {
    const choices = fieldChoices(field)
    const holder = choices === null ? placeholders[textKind(field)] : `<${choices.join('|')}>`
    const needed = isRequired(field) ? ' (required)' : ''
    const about = `${fieldDescription(field)}${needed}`.trim()
    command.option(`--${name} ${holder}`, about)
  }
}

/** The fields from the flags. UsageError names every missing or invalid flag. */
export function fieldsFromFlags(
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
  const isFitting =
    kind === 'list'
      ? Array.isArray(found)
      : typeof found === 'object' && found !== null && !Array.isArray(found)
  if (!isFitting)
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

function isRequired(field: z.core.$ZodType): boolean {
  return field._zod.optin !== 'optional'
}

/** The description may be inside of `optional`. */
function fieldDescription(field: z.core.$ZodType): string {
  const { description } = field as z.ZodType
  if (description !== undefined) return description
  const inner = (field._zod.def as { innerType?: z.core.$ZodType }).innerType
  return inner === undefined ? '' : fieldDescription(inner)
}
