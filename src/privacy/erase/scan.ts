import { CompiledQuery, sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import { redactJson, redactText, withheldBody } from '../screen/redact.ts'
import { parseJson } from '../screen/scrub-payload.ts'
import { contactsOnly, type SearchTerms, withoutNames } from '../screen/search-terms.ts'
import { disguised, matching, type Patterns, patternParameters } from './pattern.ts'
import { columnValue, rowTextsSql, type TextColumn, type TextTable } from './text-tables.ts'

/** A row that may name the person. */
export interface Hit {
  readonly table: TextTable
  /** The row's physical position, valid within the transaction. */
  readonly ctid: string
  /** The evaluation that it belongs to; null: none. */
  readonly evaluation: { readonly rooftopId: number; readonly evalId: number } | null
  /** Whether its rooftop is not among those searched for names. Names in it are not the customer's. */
  readonly isForeign: boolean
  /** The value of each text column. */
  readonly texts: readonly (string | null)[]
}

/** The part of a table to search, and whether to lock the rows found until the commit. */
interface Extent {
  /** These rows, and those written by transactions from `since` on (xid8); null: all rows. */
  readonly part: { readonly ctids: readonly string[]; readonly since: string } | null
  readonly locks: boolean
}

/** Rows of the table that match a pattern. Rows that SQL cannot judge are read again, in parts, and compared here. */
export async function scanTable(
  db: Db,
  table: TextTable,
  patterns: Patterns,
  { part, locks }: Extent,
): Promise<Hit[]> {
  const anyColumn = (test: (name: string) => string) =>
    `coalesce(${table.columns.map(({ name }) => test(name)).join(' or ')}, false)`
  const matches = anyColumn((name) => matching(name, table.rooftop))
  const isCertain = { sql: matches, home: patterns.rooftopIds }
  const values = patternParameters(patterns)
  const read = async (where: string, more: readonly unknown[]) => {
    const found = { where: `${where} and (${matches} or ${anyColumn(disguised)})`, locks }
    const hits = await select(db, table, found, [...values, ...more], isCertain)
    const unsure = hits.filter(({ texts }) => texts.length === 0).map(({ ctid }) => ctid)
    const sure = hits.filter(({ texts }) => texts.length > 0)
    for (let at = 0; at < unsure.length; at += unsureAtOnce) {
      const some = { where: 'ctid = any($1::tid[])', locks }
      const rows = await select(db, table, some, [unsure.slice(at, at + unsureAtOnce)], {
        sql: 'true',
        home: patterns.rooftopIds,
      })
      sure.push(...rows.filter((hit) => matchesTerms(hit, patterns.terms)))
    }
    return sure
  }
  if (part === null) return await read('true', [])
  const { ctids, since } = part
  // A row that was written again has a new position, and the id of the transaction that wrote it.
  const fresh = await read('age(xmin) <= age($7::xid8::xid)', [since])
  if (ctids.length === 0) return fresh
  const again = await read('ctid = any($7::tid[])', [ctids])
  return [...new Map([...again, ...fresh].map((hit) => [hit.ctid, hit])).values()]
}

/** Limits the bodies in memory. */
const unsureAtOnce = 200

/** All rows of evaluations of one dealer group, whatever their text. `locks`: until the commit. */
export async function rowsOfEvaluations(
  db: Db,
  table: TextTable,
  rooftopIds: readonly number[],
  evalIds: readonly number[],
  locks = false,
): Promise<Hit[]> {
  if (table.belongs === null) return []
  const rooftop = table.isOfAnyGroup ? `coalesce(${table.rooftop}, ($1::int[])[1])` : table.rooftop
  const where = `${rooftop} = any($1::int[]) and ${table.belongs}`
  return await select(db, { ...table, rooftop }, { where, locks }, [rooftopIds, evalIds])
}

async function select(
  db: Db,
  table: TextTable,
  { where, locks }: { readonly where: string; readonly locks: boolean },
  values: unknown[],
  texts: { readonly sql: string; readonly home: Patterns['rooftopIds'] } = {
    sql: 'true',
    home: null,
  },
): Promise<Hit[]> {
  // By numbered parameters: the patterns are sent once, and each column is compared with them.
  const query = CompiledQuery.raw(
    `select ctid::text as ctid, ${table.owner} as owner, ${table.rooftop} as rooftop, case when ${texts.sql} then ${rowTextsSql(table)} end as texts
     from ${table.name} where ${where} ${locks ? 'for no key update' : ''}`,
    values,
  )
  const { rows } = await db.executeQuery<{
    ctid: string
    owner: number | null
    rooftop: number | null
    texts: (string | null)[] | null
  }>(query)
  const { home } = texts
  return rows.map((row) => ({
    table,
    ctid: row.ctid,
    // A delivery may name an evaluation and no rooftop of the config.
    evaluation:
      row.owner === null || row.rooftop === null
        ? null
        : { rooftopId: row.rooftop, evalId: Number(row.owner) },
    isForeign: row.rooftop !== null && home !== null && !home.includes(row.rooftop),
    texts: row.texts ?? [],
  }))
}

/** Columns that are counted and compared. A customer's name stays in them, as it may equal a value; an e-mail or phone number goes. */
const factColumns = new Set([
  ...['vin', 'make', 'model', 'variant', 'colour', 'registration_state'],
  ...['recon_type', 'source', 'price_source', 'field_name', 'field_type', 'angle', 'hero_source'],
])

/** The terms that an erasure removes from a column. */
function removedFrom({ name }: TextColumn, terms: SearchTerms): SearchTerms {
  return factColumns.has(name) ? contactsOnly(terms) : terms
}

/** Redacts the text of a column; returns the same text if it has no term. */
export function redactColumn(column: TextColumn, text: string, terms: SearchTerms): string {
  return redactStored(column, text, removedFrom(column, terms))
}

function redactStored({ type, isWebhook }: TextColumn, text: string, terms: SearchTerms): string {
  const body = type === 'text' ? undefined : parseJson(text)
  const redacted = body === undefined ? redactText(text, terms) : redactJson(body, terms)
  if (redacted === (body === undefined ? text : body)) return text
  if (isWebhook) return withheldBody
  return body === undefined ? String(redacted) : JSON.stringify(redacted)
}

/** Whether a row contains a term; `ignoreFacts` ignores names in the facts of a vehicle. */
export function matchesTerms(
  { table, texts, isForeign }: Hit,
  terms: SearchTerms,
  { ignoreFacts = false } = {},
): boolean {
  const known = isForeign ? withoutNames(terms) : terms
  return table.columns.some((column, index) => {
    const text = texts[index] ?? null
    if (text === null) return false
    const sought = ignoreFacts ? removedFrom(column, known) : known
    return redactStored(column, text, sought) !== text
  })
}

/** Updates the rows whose text changes. Returns their number. */
export async function rewrite(
  db: Db,
  hits: readonly Hit[],
  change: (text: string, column: TextColumn, hit: Hit) => string,
): Promise<number> {
  let changed = 0
  for (const hit of hits) {
    const { table, ctid, texts } = hit
    const next = table.columns.flatMap((column, index) => {
      const text = texts[index] ?? null
      if (text === null || column.isKey) return []
      const value = change(text, column, hit)
      return value === text ? [] : [{ column, value }]
    })
    if (next.length === 0) continue
    const set = next.map(
      ({ column, value }) => sql`${sql.raw(column.name)} = ${columnValue(column, value)}`,
    )
    const { numAffectedRows } = await sql`
      update ${sql.raw(table.name)} set ${sql.join(set)} where ctid = ${ctid}::tid`.execute(db)
    // A row that belongs to the customer's evaluation was changed before, and has a new position.
    changed += Number(numAffectedRows)
  }
  return changed
}
