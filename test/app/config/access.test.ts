import { expect, test } from 'vitest'
import { listSecrets } from '#src/app/config/read.ts'
import { configOf, problemsOf } from './config-support.ts'

const login = (settings: string) => `access: { logins: [ { ${settings} } ] }`

test('a login is read with its role, groups, limits and a password from the environment', () => {
  const text = login(
    `name: bi_north, role: bi_tenant, groups: ["key:north"], password: "\${BI}", connectionLimit: "\${LIMIT}"`,
  )

  const config = configOf(text, { BI: 'a long password', LIMIT: '5' })

  expect(config.access.logins).toEqual([
    {
      name: 'bi_north',
      role: 'bi_tenant',
      groups: ['key:north'],
      password: 'a long password',
      connectionLimit: 5,
      statementTimeoutSeconds: null,
    },
  ])
  expect(listSecrets(config)).toContain('a long password')
})

test.each([
  ['name: BI-Tool, role: bi_reader', 'access.logins[0].name is not a role name'],
  [
    'name: pg_monitor, role: bi_reader',
    'access.logins[0].name is already the name of a role of Postgres',
  ],
  [
    'name: bi_reader, role: bi_reader',
    'access.logins[0].name is already the name of a role of Postgres',
  ],
  ['name: bi, role: bi_writer', 'access.logins[0].role'],
  ['name: bi, role: bi_reader, groups: [north]', 'access.logins[0].groups is only for bi_tenant'],
  [
    'name: bi, role: bi_tenant',
    'access.logins[0].role is bi_tenant, which sees nothing without groups',
  ],
  ['name: bi, role: bi_reader, password: short', 'access.logins[0].password is shorter than 12'],
  [
    'name: bi, role: bi_reader, password: "pässwörter und so"',
    'access.logins[0].password has chara',
  ],
  ['name: bi, role: bi_reader, connectionLimit: 0', 'access.logins[0].connectionLimit must be 1'],
  [
    'name: bi, role: bi_reader }, { name: bi, role: bi_reader',
    'access.logins[1].name is listed twice: list every login once.',
  ],
])('%s is refused', (settings, problem) => {
  const problems = problemsOf(login(settings))

  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(problem)
  expect(problems[0]).not.toMatch(/short$|pässwörter/)
})
