import { expect, test } from 'vitest'
import { grantAccess } from '#src/warehouse/access/grant.ts'
import { isClockShifted } from '../../support/clock-shift.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { drafts, type Fixture, openFixture } from './fixture.ts'

/** Everything that grant may write, with xmin, which changes when a row is written again. */
async function written({ pool, logins }: Fixture): Promise<unknown> {
  const names = Object.keys(drafts).map(logins.name)
  const roles = [...names, 'bi_reader', 'bi_tenant', 'mart_owner', 'mart_scoped_owner']
  const catalogues: [string, unknown[]][] = [
    ['select xmin, * from pg_authid where rolname = any ($1) order by rolname', [roles]],
    [
      `select m.xmin, m.* from pg_auth_members as m join pg_roles as r on r.oid = m.member where r.rolname = any ($1) order by m.roleid, m.member, m.grantor`,
      [roles],
    ],
    [
      'select s.* from pg_db_role_setting as s join pg_roles as r on r.oid = s.setrole where r.rolname = any ($1) order by 1, 2',
      [names],
    ],
    ['select xmin, oid, relowner, relacl, relrowsecurity from pg_class order by oid', []],
    ['select xmin, oid, nspacl from pg_namespace order by oid', []],
    ['select xmin, oid, datacl from pg_database where datname = current_database()', []],
    ['select xmin, * from pg_policy order by oid', []],
    ['select xmin, * from ops.bi_login order by role_name', []],
    ['select xmin, * from ops.bi_access order by role_name', []],
  ]
  const all: unknown[] = []
  for (const [query, values] of catalogues) all.push((await pool.query(query, values)).rows)
  return all
}

test('a second grant writes nothing', async () => {
  await using fixture = await openFixture()
  const first = await fixture.logins.grant()
  const before = await written(fixture)

  const second = await fixture.logins.grant()

  expect(first.steps.length).toBeGreaterThan(40)
  expect(second).toMatchObject({ steps: [], notes: [] })
  expect(await written(fixture)).toEqual(before)
})

test('a dry run writes nothing, and its statements do what grant would', async () => {
  await using fixture = await openFixture()
  const before = await written(fixture)

  const planned = await fixture.logins.grant({ dryRun: true })

  expect(await written(fixture)).toEqual(before)
  for (const { sql } of planned.steps)
    if (!sql.includes('is not shown')) await fixture.pool.query(sql)
  const rest = await fixture.logins.grant()
  const passwords = planned.steps.filter(({ sql }) => sql.includes('is not shown'))
  expect(rest.steps).toEqual(passwords)
  expect(passwords).toHaveLength(4)
})

test('no password is in the report or in a statement that is sent', async () => {
  await using fixture = await openFixture()
  const sent: string[] = []
  fixture.pool.on('acquire', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    Object.assign(client, {
      query: (...args: unknown[]) => {
        sent.push(JSON.stringify(args[0]))
        return query(...args)
      },
    })
  })

  const report = await fixture.logins.grant()

  const { rows } = await fixture.pool.query<{ verifier: string }>(
    'select rolpassword as verifier from pg_authid where rolname = $1',
    [fixture.logins.name('reader')],
  )
  expect(rows[0]!.verifier).toMatch(/^SCRAM-SHA-256\$4096:/)
  expect(new Set(sent.filter((text) => text.includes(rows[0]!.verifier))).size).toBe(1)
  expect(JSON.stringify(report)).not.toContain('SCRAM')
  for (const key of Object.keys(drafts))
    expect(JSON.stringify([report, sent])).not.toContain(fixture.logins.password(key).slice(0, 14))
})

test('changes by hand are corrected', async () => {
  await using fixture = await openFixture()
  const { pool, logins } = fixture
  await logins.grant()
  const tenant = logins.name('tenant')
  await pool.query(
    `alter table core.evaluation disable row level security;
     drop policy bi_scoped on core.rooftop;
     alter policy bi_scoped on core.rooftop_group using (true);
     create or replace view mart_scoped.dim_date as select * from core.dim_date;
     alter view mart_scoped.dim_date owner to current_user;
     grant select on core.photo to bi_reader;
     grant usage on schema pii to bi_tenant;
     grant truncate on core.photo to forecourt_writer;
     revoke select on mart.dim_rooftop from bi_reader;
     grant temporary on database ${new URL(fixture.url).pathname.slice(1)} to public;
     grant create on schema public to public;
     grant bi_reader to ${tenant};
     alter role ${tenant} nologin connection limit 3;
     alter role ${logins.name('reader')} bypassrls password null;
     insert into ops.bi_access (role_name, group_code) values ('${tenant}', 'south')`,
  )

  const report = await logins.grant()

  expect(report.steps.map(({ what }) => what.replace(/test_(\w+?)_\w+/, '$1'))).toEqual([
    'bi_tenant may no longer use: schema pii',
    'bi_reader may no longer select: table core.photo',
    'forecourt_writer may no longer truncate: table core.photo',
    'bi_reader may select: table mart.dim_rooftop',
    expect.stringMatching(/^mart_scoped_owner owns 1 views of mart_scoped$/),
    'rows of core.evaluation are seen by dealer group',
    'rows of core.rooftop are seen by dealer group',
    'rows of core.rooftop_group are seen by dealer group',
    expect.stringMatching(/^no other role makes temporary tables in database/),
    'no other role makes anything in schema public',
    'login reader is changed: nobypassrls',
    'login reader has the password of the config',
    'login tenant is changed: login, connection limit 20',
    'login tenant is no longer in bi_reader',
    'login tenant sees the groups north',
  ])
  expect((await logins.grant()).steps).toEqual([])
})

test('grants in several databases at once, of the same logins, end in the same rights', {
  tags: 'ci',
}, async () => {
  await using one = await openFixture()
  await using two = await createTestDatabase()
  await using three = await createTestDatabase()
  for (const { pool } of [two, three])
    await pool.query("insert into core.rooftop_group (group_code) values ('north')")
  const places = [one, one, two, two, three, three]

  await Promise.all(
    places.map(async ({ pool, url }) => {
      await grantAccess({ pool, url, config: one.logins.config, dryRun: false })
    }),
  )

  for (const { pool, url } of [one, two, three]) {
    const again = await grantAccess({ pool, url, config: one.logins.config, dryRun: false })
    expect(again.steps).toEqual([])
  }
})

test.skipIf(isClockShifted)(
  'a grant waits for a loader that locks a table, and never stops it',
  { tags: 'ci' },
  async () => {
    await using fixture = await openFixture()
    const loader = await fixture.pool.connect()
    await loader.query('begin; lock table core.photo in row exclusive mode')

    const granting = fixture.logins.grant()
    await new Promise((done) => setTimeout(done, 2_000))
    await loader.query('lock table core.evaluation in row exclusive mode; commit')
    loader.release()

    expect((await granting).steps.length).toBeGreaterThan(40)
  },
)
