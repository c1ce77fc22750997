import { expect, test } from 'vitest'
import { type TextTable, textTables } from '#src/privacy/erase/text-tables.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { createTestDatabase } from '../../support/postgres.ts'

/** Types that cannot name a person. */
const mute =
  /^(pg_snapshot|xid8|int[248]|_int[248]|bool|numeric|float[48]|date|timestamp(tz)?|tstzmultirange|interval|uuid|job_state)$/

/** Columns that an erasure does not search, and why they name no customer. */
const declared: readonly (readonly [RegExp, string])[] = [
  [
    /^core\.(evaluation|evaluation_version|stock_unit)\.content_hash$/,
    'digests, calculated again with the row',
  ],
  [/^raw\.payload\.content_hash$/, 'digest of the body, calculated again with it'],
  [/^core\.(stock_)?price_observation\.value_hash$/, 'digest of prices'],
  [/^(core\.stock_import|pii\.archived_pdf|pii\.erasure_file)\.sha256$/, 'digest of a whole file'],
  [/^ops\.stock_(inbox_part|upload)\.sha256$/, 'digest of a whole file'],
  [/^ops\.stock_inbox_file\.name_bytes$/, 'name of a file, emptied when it is done'],
  [/^ops\.window_certificate\.ids_digest$/, 'digest of EvalIDs'],
  [/^ops\.quarantine\.cause$/, 'digest of a path and a message, calculated again with the issues'],
  [/^ops\.stock_upload\.content$/, 'deleted by every erasure'],
  [/^ops\.webhook_\w+\.\w+_hash$/, 'HMAC under a secret that is not in the warehouse'],
  [/^ops\.verification\.fault$/, 'counts'],
  [/^ops\.console_(link|session)\.token_hash$/, 'digests of random tokens'],
  [/^core\.evaluation\.vehicle_vin$/, 'made of the VIN'],
  [/^core\.agg_appraisal\.recon$/, 'calculated again with its evaluation'],
  [/^core\.(dim_date|ref_watch_status)\./, 'days, and statuses of the service'],
  [/^ops\.(bi_login|bi_access|mart_version|schema_migration)\./, 'names of our own'],
  [/^pii\.erasure(_secret)?\./, 'masked by the erasure that wrote it'],
  [/^pii\.suppressed_(contact|evaluation)\./, 'digests under the secret'],
]

test('every column that could name a person is searched by an erasure, or declared as safe', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const searched = columnsOf(await textTables(openDb(pool)))

  const { rows } = await pool.query<{ name: string; type: string }>(
    `select format('%I.%I.%I', n.nspname, c.relname, a.attname) as name, t.typname as type
     from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     join pg_type as t on t.oid = a.atttypid
     where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`,
  )

  const unknown = rows
    .filter(({ name, type }) => !mute.test(type) && !searched.has(name))
    .filter(({ name }) => !declared.some(([pattern]) => pattern.test(name)))
  expect(unknown).toEqual([])
})

function columnsOf(tables: readonly TextTable[]): ReadonlySet<string> {
  return new Set(tables.flatMap(({ name, columns }) => columns.map((one) => `${name}.${one.name}`)))
}
