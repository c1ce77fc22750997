import { isTooDeep, maxJsonDepth } from '../../values/json-depth.ts'
import { type Issue, RecordIssues } from '../../values/record.ts'

/** The largest payload that is read: a thousand times that of an evaluation with many photos. */
const maxCharacters = 16 * 1024 * 1024
/** How much of a larger payload is stored. */
const storedCharacters = 1024 * 1024

/** Parses a payload. RecordIssues when it is too large or nested too deeply. */
export function parsePayload(text: string): unknown {
  assertSize(text)
  const body: unknown = JSON.parse(text)
  assertDepth(body)
  return body
}

/** Throws RecordIssues when the payload is too large. */
export function assertSize(text: string): void {
  if (text.length > maxCharacters)
    throw fault(`has ${text.length} characters, more than the ${maxCharacters} that are read`)
}

/** Throws RecordIssues when the body is nested too deeply. */
export function assertDepth(body: unknown): void {
  if (isTooDeep(body)) throw fault(`is nested more than ${maxJsonDepth} deep`)
}

/** The part of a payload that is stored in quarantine. */
export function truncatedPayload(text: string): string {
  return text.length > maxCharacters ? text.slice(0, storedCharacters) : text
}

/** The issues of a record that caused an exception. They never contain a value, which may be a customer's. */
export function errorIssues(error: unknown): readonly Issue[] {
  if (error instanceof RecordIssues) return error.issues
  const code = dataErrorCode(error)
  if (code !== null) return [{ path: errorColumn(error), message: refusalText(code) }]
  if (error instanceof SyntaxError) return [{ path: '$', message: 'is not JSON' }]
  const name = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
  return [{ path: '$', message: `cannot be read (${name})` }]
}

/** Whether an exception may be caused by the data of one record. */
export function isDataFault(error: unknown): boolean {
  const kinds = [RecordIssues, RangeError, TypeError, SyntaxError]
  return dataErrorCode(error) !== null || kinds.some((kind) => error instanceof kind)
}

/** SQLSTATE classes: data exceptions, broken constraints, exceeded limits of Postgres. */
const dataClasses = ['22', '23', '54']
/** Postgres ended a session that was silent within its transaction: one record took the process as long. */
const silentTooLong = '25P03'

/** The SQLSTATE of an exception if the data can be its cause; otherwise null. */
function dataErrorCode(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code !== 'string') return null
  const isState = /^[0-9A-Z]{5}$/.test(code)
  const isOfData = code === silentTooLong || (isState && dataClasses.includes(code.slice(0, 2)))
  return isOfData ? code : null
}

const conditions: Readonly<Record<string, string>> = {
  '22001': 'a text is too long',
  '22003': 'a number is out of range',
  '22008': 'a time is out of range',
  '22021': 'a character cannot be stored',
  '22P05': 'a character cannot be stored',
  [silentTooLong]: 'it takes too long to process',
  '23505': 'a key exists already',
  '23514': 'a check of its table fails',
  '54000': 'it is too large',
  '54001': 'it is nested too deeply',
}

function refusalText(code: string): string {
  const why = conditions[code] ?? 'see the error codes of Postgres'
  return `Postgres cannot store it: ${why} (SQLSTATE ${code})`
}

/** The table and column or constraint that Postgres names. These names are ours and hold no customer data. */
function errorColumn(error: unknown): string {
  const { table, column, constraint, where } = error as Record<string, unknown>
  const copied = /^COPY (\w+), line \d+(?:, column (\w+))?/.exec(String(where ?? ''))
  const names = [table ?? copied?.[1], column ?? constraint ?? copied?.[2]]
  const named = names.filter((name) => typeof name === 'string' && /^\w+$/.test(name))
  return named.join('.') || '$'
}

function fault(message: string): RecordIssues {
  return new RecordIssues([{ path: '$', message }])
}
