import { isIP } from 'node:net'
import { z } from 'zod'
import { parseInstant } from '../../values/instant.ts'

// Schemas for the values of settings, each with the message for an invalid value.

/** Numbers and booleans may come from the environment, where everything is text. */
export const number = (schema: z.ZodNumber) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value),
    schema,
  )
export const flag = z.preprocess(
  (value) => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean(),
)
/** A whole number within bounds. */
export const whole = (min: number, max: number) => number(z.int().min(min).max(max))
/** A number within bounds, perhaps with decimals. */
export const amount = (min: number, max: number) => number(z.number().min(min).max(max))
/** A setting that may be null, as it is where it is left out. */
export const orNull = <S extends z.ZodType>(schema: S) => schema.nullable().default(null as never)
/** Empty counts as left out: `${NAME:-}` gives it. */
export const optionalText = orNull(z.string().min(1, 'is empty'))
/** A group of settings. If the file leaves it out, its settings have their defaults. */
export const group = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject(shape).prefault({} as never)

/** Adds the problem of a setting below `path` of what is checked. */
export function reporter(context: z.RefinementCtx, ...path: readonly PropertyKey[]) {
  return (setting: string, message: string) =>
    context.addIssue({ code: 'custom', path: [...path, setting], message })
}

export const url = z
  .string()
  .refine((text) => /^https?:\/\/[^\s/]/.test(text) && URL.canParse(text), {
    error: 'is not an http:// or https:// address',
    abort: true,
  })
export const urlOfV1 = url
  .refine(
    (text) => /^[^?#]*\/v1\/*$/.test(text),
    'does not end in /v1: write the address with it, e.g. https://host/v1',
  )
  .transform((text) => text.replace(/\/+$/, ''))
/** An IP address, or a range of them as `address/bits`. */
export const addressRange = z.string().refine((text) => {
  const [, address = '', bits] = /^([^/]*)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)]!
  return longest > 0 && !address.includes('%') && Number(bits ?? 1) <= longest
}, 'is not an IP address or a range of them, e.g. 10.0.0.5 or 10.0.0.0/8')
/** The URL of the warehouse. */
export const warehouseUrl = z
  .string()
  .refine(
    (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text),
    'is not of the form postgres://user:password@host:5432/database (special characters of the password are %-encoded)',
  )
export const zone = z.string().refine(isTimeZone, 'is not an IANA time zone, e.g. Australia/Sydney')
/** A date or an ISO instant. YAML may give it as a Date. */
export const start = z.preprocess(
  (value) => (value instanceof Date ? value.toISOString() : value),
  z
    .string()
    .refine((text) => parseInstant(text) !== null, 'is not a date (2024-01-01) or an ISO instant')
    .transform((text) => parseInstant(text)!),
)
/** A text that HTTP allows as the value of a header. */
export const headerValue = z
  .string()
  .min(1, { error: 'is empty', abort: true })
  .refine(
    (text) => /^[\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/.test(text),
    'begins or ends with a space or has a line end or another character that an HTTP header cannot have',
  )
export const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a header name')
/** A host of PDFs: exact, with port, or `*.example.com` for its subdomains. */
export const archiveHost = z
  .string()
  .regex(
    /^(https?:\/\/)?(\*\.)?[^\s/?#@*\\]+\/?$/i,
    'is not a host: write files.example.com, files.example.com:8443, *.example.com or, without TLS, http://127.0.0.1:4010',
  )
export const region = z.enum(['AU', 'US', 'GCC'])

/** The schema below defaults and optional marks. */
export function unwrap(schema: z.ZodType): z.ZodType {
  const inner = (schema.def as { innerType?: z.ZodType }).innerType
  return inner ? unwrap(inner) : schema
}

/** Postgres reads offsets (+10:00) with the other sign, abbreviations (CST) as other zones, and has dropped some old names. */
const noZoneOfPostgres = /^(?!(UTC|GMT)$)[^/]*$|^(SystemV\/|US\/Pacific-New$|Canada\/East-Sask)/i

function isTimeZone(text: string): boolean {
  if (noZoneOfPostgres.test(text)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return true
  } catch {
    return false
  }
}
