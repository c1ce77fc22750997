import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { restoreAccess } from '#src/warehouse/access/restore.ts'
import { readMarts } from '#src/warehouse/db/mart-files.ts'
import { buildMarts } from '#src/warehouse/db/marts.ts'
import { sqlFolder } from '#src/warehouse/db/migration-files.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openFixture } from './fixture.ts'
import { resultOf } from './logins.ts'

test('rebuilt and new marts get owner and rights in the same transaction', async () => {
  await using fixture = await openFixture()
  const { pool, logins } = fixture
  await logins.grant()
  await using folder = await temporaryFolder()
  await cp(sqlFolder('marts'), folder.path, { recursive: true })
  await pool.query(
    'create table core.novelty as select rooftop_id, rooftop_name as novelty from core.rooftop',
  )
  const comment = "comment on view mart.novelty is 'New';"
  await writeFile(
    join(folder.path, '95_novelty.sql'),
    `-- grain: one row per rooftop\ncreate or replace view mart.novelty as\nselect n.* from core.novelty as n;\n${comment}\n`,
  )
  // A new column before another one: the views must be dropped.
  const file = join(folder.path, '01_dim_rooftop.sql')
  await writeFile(
    file,
    (await readFile(file, 'utf8')).replace('\nselect\n', '\nselect\n  1 as first,\n'),
  )
  const reader = await logins.as('reader')
  const seen: string[] = []

  await buildMarts(
    pool,
    async (db) => {
      await restoreAccess(db)
      seen.push(await resultOf(reader, 'select from mart.novelty'))
    },
    await readMarts(folder.path),
  )

  const tenant = await logins.as('tenant')
  expect(seen).toEqual(['relation "mart.novelty" does not exist'])
  expect(await resultOf(reader, 'select from mart.novelty')).toBe('2 rows')
  expect((await tenant.query('select novelty from novelty')).rows).toEqual([{ novelty: 'north' }])
  expect(await resultOf(tenant, 'select from dim_rooftop')).toBe('1 rows')
  expect((await logins.grant()).steps).toEqual([])
})

test('without granted access, marts belong to the user who builds them', async () => {
  await using database = await createTestDatabase()
  await database.pool.query('select ops.drop_marts()')

  await buildMarts(database.pool, restoreAccess)

  const { rows } = await database.pool.query<{ acl: string | null; own: boolean }>(
    `select distinct relacl as acl, pg_get_userbyid(relowner) = current_user as own from pg_class
     where relnamespace in ('mart'::regnamespace, 'mart_scoped'::regnamespace, 'core_scoped'::regnamespace)`,
  )
  expect(rows).toEqual([{ acl: null, own: true }])
})
