import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { restoreAccess } from '#src/warehouse/access/restore.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { ensureEmbedded, stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { buildMarts } from '#src/warehouse/db/marts.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openLogins, resultOf } from './logins.ts'

/** A server without our roles, and a database whose owner may create roles but is not a superuser. */
async function openManaged() {
  const folder = await temporaryFolder(0o755)
  const place = join(folder.path, 'postgres')
  const { url } = await ensureEmbedded(place)
  const admin = await openPool(url, { applicationName: 'test', max: 1 })
  await admin.query(`create role shop login createrole password 'of the shop'`)
  await admin.query('create database shop owner shop')
  const address = new URL(url)
  Object.assign(address, { username: 'shop', password: 'of%20the%20shop', pathname: '/shop' })
  const pool = await openPool(address.href, { applicationName: 'test', max: 4 })
  await prepareWarehouse(pool)
  await pool.query(`insert into core.rooftop_group (group_code) values ('north')`)
  const drafts: Parameters<typeof openLogins>[2] = {
    reader: { role: 'bi_reader' },
    tenant: { role: 'bi_tenant', groups: ['north'] },
    writer: { role: 'forecourt_writer' },
  }
  const logins = await openLogins({ url: address.href, pool }, makeConfig({}, '/nowhere'), drafts)
  return {
    ...{ admin, pool, logins },
    [Symbol.asyncDispose]: async () => {
      await logins[Symbol.asyncDispose]()
      await pool.end()
      await admin.end()
      await stopEmbedded(place)
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('an owner with CREATEROLE needs no superuser, and is report what only a superuser can do', async () => {
  await using fixture = await openManaged()
  const { pool, logins } = fixture
  await fixture.admin.query('alter role shop nocreaterole')
  const refused = logins.grant()
  await expect(refused).rejects.toThrow(
    /^Postgres refused a step \(role bi_pii_reader is made: permission denied to create role\), and nothing was granted: run "forecourt grant" as a role that owns the warehouse and has CREATEROLE, or have a superuser run what "forecourt grant --dry-run" prints\.$/,
  )
  await fixture.admin.query('alter role shop createrole')

  const first = await logins.grant()
  // Stored passwords cannot be read here, so grant tries to log in.
  const second = await logins.grant()
  await pool.query("update ops.mart_version set checksum = 'of an older release'")
  await buildMarts(pool, restoreAccess)
  await pool.query('select ops.drop_marts()')
  await buildMarts(pool, restoreAccess)
  const third = await logins.grant()

  expect(first.steps.length).toBeGreaterThan(50)
  expect([second.steps, third.steps]).toEqual([[], []])
  const note = `alter role ${pg.escapeIdentifier(logins.name('writer'))} bypassrls;`
  expect(first.notes).toEqual([expect.stringContaining(note)])
  expect(first.notes[0]).toContain('Let the loader connect as shop')
  const [reader, tenant, writer] = [
    await logins.as('reader'),
    await logins.as('tenant'),
    await logins.as('writer'),
  ]
  expect(await resultOf(reader, 'select from mart.data_freshness')).toBe('0 rows')
  expect(await resultOf(tenant, 'select from mart_scoped.data_freshness')).toBe('0 rows')
  expect(await resultOf(tenant, 'select from mart.dim_date')).toBe(
    'permission denied for schema mart',
  )
  expect(await resultOf(writer, 'select from core.evaluation')).toBe('0 rows')
  expect(await resultOf(writer, 'create temporary table mine (id int)')).toBe('0 rows')
  expect(await resultOf(reader, 'create temporary table mine (id int)')).toMatch(/denied|read-only/)

  await fixture.admin.query(`alter role ${logins.name('writer')} bypassrls`)
  expect((await logins.grant()).notes).toEqual([])
})

test('a password changed in the config is set, even if the stored one cannot be read', {
  tags: 'ci',
}, async () => {
  await using fixture = await openManaged()
  const { logins } = fixture
  await logins.grant()

  const config = logins.configOf({ reader: { role: 'bi_reader', password: 'another password' } })
  const changed = await logins.grant({ config })
  const again = await logins.grant({ config })

  expect(changed.steps.map(({ sql }) => sql)).toEqual([
    `-- the password of ${logins.name('reader')} is not shown: "forecourt grant" sets it;`,
  ])
  expect(again.steps).toEqual([])
  await expect(logins.as('reader')).rejects.toThrow(/password authentication failed/)
})
