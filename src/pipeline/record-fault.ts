import { type Issue, RecordIssues } from '../streams/record.ts'
import { maxJsonDepth, isTooDeep } from '../values/json-depth.ts'

/** The largest payload that is worked on: a thousand times one of an evaluation with many photos. */
const mostCharacters = 16 * 1024 * 1024
/** Of a payload that is larger, so much is kept. */
const keptCharacters = 1024 * 1024

/** The JSON value of a payload. RecordIssues when it is too large, or nested too deeply to be walked. */
export function parsePayload(text: string): unknown {
  assertSize(text)
  const body: unknown = JSON.parse(text)
  assertDepth(body)
  return body
}

/** RecordIssues when the payload is larger than any is. */
export function assertSize(text: string): void {
  if (text.length > mostCharacters)
    throw fault(`has ${text.length} characters, more than the ${mostCharacters} that are read`)
}

/** RecordIssues when the body is nested too deeply to be walked. */
export function assertDepth(body: unknown): void {
  if (isTooDeep(body)) throw fault(`is nested more than ${maxJsonDepth} deep`)
}

/** What of a payload is kept in quarantine. */
export function truncatedPayload(text: string): string {
  return text.length > mostCharacters ? text.slice(0, keptCharacters) : text
}

/** What a record that causes an exception is put aside with. Never a value: it may be a customer's. */
export function issuesOf(error: unknown): readonly Issue[] {
  if (error instanceof RecordIssues) return error.issues
  const code = dataCodeOf(error)
  if (code !== null) return [{ path: columnOf(error), message: refusalText(code) }]
  if (error instanceof SyntaxError) return [{ path: '$', message: 'is not JSON' }]
  const name = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
  return [{ path: '$', message: `cannot be read (${name})` }]
}

/** Whether an exception comes of the data that is worked on, so that one record may be the cause of it. */
export function isDataFault(error: unknown): boolean {
  const kinds = [RecordIssues, RangeError, TypeError, SyntaxError]
  return dataCodeOf(error) !== null || kinds.some((kind) => error instanceof kind)
}

/** Data exceptions, broken constraints, and what is beyond a limit of Postgres. */
const dataClasses = ['22', '23', '54']

function dataCodeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown }
  const isState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
  return isState && dataClasses.includes(code.slice(0, 2)) ? code : null
}

const conditions: Readonly<Record<string, string>> = {
  '22001': 'a text is too long',
  '22003': 'a number is out of range',
  '22008': 'a time is out of range',
  '22021': 'a character cannot be stored',
  '22P05': 'a character cannot be stored',
  '23505': 'a key is there already',
  '23514': 'a check of its table fails',
  '54000': 'it is too large',
  '54001': 'it is nested too deeply',
}

function refusalText(code: string): string {
  const why = conditions[code] ?? 'see the codes of Postgres'
  return `Postgres cannot store it: ${why} (SQLSTATE ${code})`
}

/** Where Postgres names the table, column or constraint: their names are ours. */
function columnOf(error: unknown): string {
  const { table, column, constraint, where } = error as Record<string, unknown>
  const copied = /^COPY (\w+), line \d+(?:, column (\w+))?/.exec(String(where ?? ''))
  const names = [table ?? copied?.[1], column ?? constraint ?? copied?.[2]]
  const named = names.filter((name) => typeof name === 'string' && /^\w+$/.test(name))
  return named.join('.') || '$'
}

function fault(message: string): RecordIssues {
  return new RecordIssues([{ path: '$', message }])
}
