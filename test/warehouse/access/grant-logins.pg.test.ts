import pg from 'pg'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { drafts, openFixture } from './fixture.ts'
import { resultOf } from './logins.ts'

test('a login that moves to another role loses its old rights', async () => {
  await using fixture = await openFixture()
  const { logins } = fixture
  await logins.grant()

  const config = logins.configOf({
    reader: { role: 'bi_tenant', groups: ['south'] },
    tenant: { role: 'forecourt_writer' },
    people: { role: 'bi_reader' },
    writer: { role: 'bi_reader' },
  })
  await logins.grant({ config })

  const answers: Record<string, string[]> = {}
  for (const key of Object.keys(drafts)) {
    const client = await logins.as(key)
    const answer: string[] = []
    for (const table of [
      'mart.dim_rooftop',
      'mart_scoped.dim_rooftop',
      'mart_pii.customer',
      'core.photo',
    ])
      answer.push(await resultOf(client, `select from ${table}`))
    answers[key] = answer
  }
  const no = (schema: string) => `permission denied for schema ${schema}`
  expect(answers).toEqual({
    reader: [no('mart'), '1 rows', no('mart_pii'), no('core')],
    tenant: ['2 rows', no('mart_scoped'), no('mart_pii'), '0 rows'],
    people: ['2 rows', no('mart_scoped'), no('mart_pii'), no('core')],
    writer: ['2 rows', no('mart_scoped'), no('mart_pii'), no('core')],
  })
  const { rows } = await fixture.pool.query('select role_name from ops.bi_access')
  expect(rows).toEqual([{ role_name: logins.name('reader') }])
  expect((await logins.grant({ config })).steps).toEqual([])
})

test('a login that the config no longer names is reported until it is dropped', async () => {
  await using fixture = await openFixture()
  const { logins, pool } = fixture
  await logins.grant()
  const config = logins.configOf({ reader: { role: 'bi_reader' } })
  const name = logins.name('tenant')

  const report = await logins.grant({ config })
  await logins.as('tenant')
  const mine = report.unknownLogins.find((login) => login.name === name)
  await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${name}'`,
  )
  await pool.query(mine!.statement)
  const after = await logins.grant({ config })

  expect(report.steps).toEqual([])
  expect(mine).toEqual({
    name,
    roles: ['bi_tenant'],
    isOurs: true,
    statement: `drop role ${pg.escapeIdentifier(name)};`,
  })
  expect(after.steps.map(({ what }) => what)).toEqual([
    `login ${name} is deleted from ops.bi_login: its role no longer exists`,
  ])
  expect(after.unknownLogins.some((login) => login.name === name)).toBe(false)
})

test('a login that the config no longer names is disabled on request, and enabled when it is named again', async () => {
  await using fixture = await openFixture()
  const { logins, pool } = fixture
  await logins.grant()
  const config = logins.configOf({ reader: { role: 'bi_reader' } })
  const name = logins.name('tenant')

  const report = await logins.grant({ config, revokeRemoved: true })
  const again = await logins.grant({ config, revokeRemoved: true })
  const state = await pool.query(
    `select rolcanlogin as login, array(select roleid from pg_auth_members where member = r.oid) as roles,
       (select count(*)::int from ops.bi_access where role_name = rolname) as groups
     from pg_roles as r where rolname = '${name}'`,
  )
  const refused = logins.as('tenant')
  await expect(refused).rejects.toThrow(/is not permitted to log in/)
  await logins.grant()

  expect(report.steps.map(({ what }) => what)).toContain(
    `login ${name}, which the config no longer names, is no longer in bi_tenant and cannot log in`,
  )
  expect(report.unknownLogins.some((login) => login.isOurs)).toBe(false)
  expect(again.steps).toEqual([])
  expect(state.rows).toEqual([{ login: false, roles: [], groups: 0 }])
  expect((await (await logins.as('tenant')).query('select from dim_rooftop')).rowCount).toBe(1)
})

test('a login made for another purpose is not changed, unless it was put into a role of ours', async () => {
  await using fixture = await openFixture()
  const { logins, pool } = fixture
  const name = logins.name('reader')
  await pool.query(`create role ${name} login`)
  const { access } = makeConfig(
    { access: { logins: [{ name, role: 'bi_reader', password: '' }] } },
    '/nowhere',
  )
  const config = { ...logins.config, access }

  await expect(logins.grant({ config })).rejects.toThrow(
    `exists already and was not created by grant (if it is the right one, run: grant bi_reader to "${name}")`,
  )
  await logins.grant({ config: { ...config, access: { logins: [] } } })
  await pool.query(`grant bi_reader to ${name}`)
  const taken = await logins.grant({ config })

  expect(taken.steps.map(({ what }) => what)).toContain(
    `login ${name} is recorded as a login of this warehouse`,
  )
})

test('names of roles with other rights, and unknown groups, are refused', async () => {
  await using fixture = await openFixture()
  const { logins, pool } = fixture
  const { rows } = await pool.query<{ user: string }>('select current_user as user')
  await pool.query(`create role ${logins.name('reader')} login createrole`)
  const granting = async (login: object) => {
    const { access } = makeConfig({ access: { logins: [login as never] } }, '/nowhere')
    return await logins.grant({ config: { ...logins.config, access } })
  }

  await expect(granting({ name: rows[0]!.user, role: 'bi_reader' })).rejects.toThrow(
    /owns the warehouse or is your connected user, so it cannot be a login/,
  )
  await expect(granting({ name: logins.name('reader'), role: 'bi_reader' })).rejects.toThrow(
    /exists with other rights \(createrole\).*choose another name/,
  )
  await expect(
    granting({ name: logins.name('tenant'), role: 'bi_tenant', groups: ['nroth'] }),
  ).rejects.toThrow(/the dealer group "nroth".*did you mean north\?/)
})
