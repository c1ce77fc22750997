import type pg from 'pg'
import { expect, test } from 'vitest'
import { erase } from '#src/privacy/erase/erase.ts'
import type { Receipt } from '#src/privacy/erase/receipt.ts'
import { defaultWire } from '#src/values/wire.ts'
import { someOf } from '../../support/cases.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { asked, emailSpellings, othersSpellings, phoneSpellings } from './spellings.ts'

/** A column of the warehouse that may hold a text. */
interface Place {
  readonly table: string
  readonly column: string
  readonly type: string
  /** Characters that fit; null: any number. */
  readonly size: number | null
}

/** Written by erasures, or with names of our own; `columns.pg.test.ts` says why of each. */
const ours =
  /^(pii\.(erasure|suppressed).*|ops\.(schema_migration|mart_version|bi_login|bi_access)|core\.(ref|dim)_.*)$/

/** What the dealer says of itself and its staff: it stays, and the receipt names it. */
const ofTheDealer = /^(core\.(rooftop|rooftop_group|app_user)|pii\.app_user_email|ops\.bi_access)$/

/** Every text of the schemas, except keys and what Postgres computes. */
async function placesOf(pool: pg.Pool): Promise<Place[]> {
  const { rows } = await pool.query<Place>(
    `select format('%I.%I', n.nspname, c.relname) as table, quote_ident(a.attname) as column, t.typname as type,
       case when t.typname in ('varchar', 'bpchar', '_varchar') and a.atttypmod > 0 then a.atttypmod - 4 end as size
     from pg_attribute as a join pg_class as c on c.oid = a.attrelid join pg_namespace as n on n.oid = c.relnamespace
     join pg_type as t on t.oid = a.atttypid
     where n.nspname in ('core', 'raw', 'ops', 'pii') and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
       and a.attgenerated = '' and t.typname in ('text', 'varchar', 'bpchar', 'json', 'jsonb', '_text', '_varchar')
       and not exists (select from pg_index as i where i.indrelid = c.oid and i.indisunique and a.attnum = any(i.indkey))
     order by 1, 2`,
  )
  return rows.filter(({ table }) => !ours.test(table))
}

/** Removes every rule of the tables, so that a row can have one column alone, with any text. */
async function dropRules(pool: pg.Pool, tables: readonly string[]): Promise<void> {
  const { rows } = await pool.query<{ statement: string }>(
    `with of_table as (select c.* from pg_class as c where c.oid = any($1::regclass[]))
     select statement from (
       select 1, format('alter table %s drop constraint if exists %I cascade', conrelid::regclass, conname) as statement
       from pg_constraint join of_table on of_table.oid = conrelid where contype in ('c', 'f', 'p', 'u', 'x')
       union all
       select 2, format('drop index if exists %s cascade', indexrelid::regclass)
       from pg_index join of_table on of_table.oid = indrelid where indisunique
       union all
       select 3, format('alter table %s alter column %I drop identity if exists', attrelid::regclass, attname)
       from pg_attribute join of_table on of_table.oid = attrelid where attidentity <> ''
       union all
       select 4, format('alter table %s alter column %I drop not null', attrelid::regclass, attname)
       from pg_attribute join of_table on of_table.oid = attrelid where attnum > 0 and not attisdropped
       union all
       select 5, format('alter table %s disable trigger user', oid::regclass) from of_table
     ) as steps (step, statement) order by step`,
    [tables],
  )
  await pool.query(rows.map(({ statement }) => statement).join(';'))
}

async function plant(pool: pg.Pool, place: Place, texts: readonly string[]): Promise<void> {
  const { table, column, type, size } = place
  const fitting = texts.filter((text) => size === null || text.length <= size)
  const value = type.startsWith('json')
    ? `json_build_object('note', text)::${type}`
    : type.startsWith('_')
      ? 'array[text]'
      : 'text'
  await pool.query(
    `insert into ${table} (${column}) select ${value} from unnest($1::text[]) as planted (text)`,
    [fitting],
  )
}

async function textsOf(pool: pg.Pool, { table, column, type }: Place): Promise<string[]> {
  const text = type.startsWith('json')
    ? `${column}->>'note'`
    : type.startsWith('_')
      ? `array_to_string(${column}, ' ')`
      : `${column}::text`
  const { rows } = await pool.query<{ text: string }>(
    `select ${text} as text from ${table} where ${text} is not null`,
  )
  return rows.map((row) => row.text)
}

test.each(
  someOf(
    [
      ['email', asked.email, emailSpellings],
      ['phone', asked.phone, phoneSpellings],
    ] as const,
    1,
  ),
)(
  'an erase by %s finds every spelling in every column, and no other person',
  async (kind, value, spellings) => {
    await using database = await createTestDatabase()
    const { pool } = database
    const places = await placesOf(pool)
    await dropRules(pool, [...new Set(places.map(({ table }) => table))])
    for (const place of places) await plant(pool, place, [...spellings, ...othersSpellings])

    const receipt: Receipt = await erase(pool, defaultWire.appraisal, {
      ...{ subject: { kind, value }, reason: null, requestedBy: 'test@host', dryRun: false },
    })

    const left: string[] = []
    const lost: string[] = []
    for (const place of places) {
      const texts = await textsOf(pool, place)
      const name = `${place.table}.${place.column}`
      const fits = (text: string) => place.size === null || text.length <= place.size
      if (ofTheDealer.test(place.table)) continue
      left.push(...spellings.filter((one) => texts.includes(one)).map((one) => `${name}: ${one}`))
      lost.push(
        ...othersSpellings
          .filter((one) => fits(one) && !texts.includes(one))
          .map((one) => `${name}: ${one}`),
      )
    }
    expect({ left, lost }).toEqual({ left: [], lost: [] })
    expect(places.length).toBeGreaterThan(100)
    expect(Object.keys(receipt.rescan.left).filter((table) => !ofTheDealer.test(table))).toEqual([])
    expect(receipt.rescan.left).toHaveProperty(['core.app_user'])
  },
)
