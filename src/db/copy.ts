import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { storableJson } from '../values/text.ts'
import type { CopyText } from './copy-text.ts'
import { columns } from './tables.ts'

export type CopyRow = Readonly<Record<string, unknown>>

type EncodeRow = (row: CopyRow) => string
const encoders = new Map<string, { names: string; encode: EncodeRow }>()

/**
 * COPYs rows straight into a table: nothing is faster, and nothing is asked back (performance.md section 1).
 * Rows are objects by column name; a column that the row lacks is null. Throws as Postgres does: a key that exists already is an error.
 */
export async function copyInto(
  client: pg.PoolClient,
  table: string,
  rows: readonly CopyRow[],
): Promise<void> {
  if (rows.length === 0) return
  const { names, encode } = encoderOf(table)
  const target = client.query(copyFrom(`copy ${table} (${names}) from stdin`))
  await pipeline(chunks(rows, encode), target)
}

/** Lines in chunks of about 64 KB, so that a large batch never stands in memory twice. */
function* chunks(rows: readonly CopyRow[], encode: EncodeRow): Generator<Buffer> {
  let text = ''
  for (const row of rows) {
    text += encode(row)
    if (text.length > 65_536) {
      yield Buffer.from(text)
      text = ''
    }
  }
  if (text !== '') yield Buffer.from(text)
}

function encoderOf(table: string): { names: string; encode: EncodeRow } {
  const found = encoders.get(table)
  if (found) return found
  const list = columns[table]
  if (!list) throw new Error(`Table ${table} is not in src/db/tables.ts: run "npm run schema".`)
  const names = list.filter((column) => !column.generated).map((column) => column.name)
  const encode: EncodeRow = (row) => {
    let line = encodeCell(row[names[0]!])
    for (let index = 1; index < names.length; index++) line += '\t' + encodeCell(row[names[index]!])
    return line + '\n'
  }
  const made = { names: names.map((name) => `"${name}"`).join(', '), encode }
  encoders.set(table, made)
  return made
}

const special = /[\\\t\n\r]/
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
}

/** One cell of COPY's text format. */
export function encodeCell(value: unknown): string {
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return '\\\\x' + value.toString('hex')
  if (Array.isArray(value)) return escapeText(`{${value.map(arrayElement).join(',')}}`)
  return escapeText(JSON.stringify(value))
}

function escapeText(text: string): string {
  return special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (char) => escapes[char]!) : text
}

function arrayElement(value: unknown): string {
  return value === null ? 'null' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`
}

/** COPYs lines that are in COPY's text format already; `target` is a table with the columns of the lines. */
export async function copyText(
  client: pg.ClientBase,
  target: string,
  { bytes }: CopyText,
): Promise<void> {
  if (bytes.length === 0) return
  await pipeline([bytes], client.query(copyFrom(`copy ${target} from stdin`)))
}

/** A JSON value as one cell of COPY's text format, fit for jsonb. */
export function encodeJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\')) return text
  // jsonb refuses both; a backslash that was there before merely takes the long way.
  const isOdd = text.includes('\\u0000') || text.includes('\\ud')
  const fit = isOdd ? JSON.stringify(storableJson(value)) : text
  return fit.replaceAll('\\', '\\\\')
}
