import { expect, test } from 'vitest'
import { listSecrets } from '#src/app/config/read.ts'
import { configOf, oneRooftop, problemsOf } from './config-support.ts'

const url = 'publicUrl: "http://127.0.0.1:4020"'
const withConsole = (settings: string) => `${oneRooftop}console: { ${settings} }\n`
const person = (settings: string) => withConsole(`${url}, people: [ { ${settings} } ]`)
const oidc = (settings: string) => withConsole(`${url}, people: [], oidc: { ${settings} }`)

test('the console is off unless the config has it', () => {
  expect(configOf(oneRooftop).console).toBeNull()
  expect(configOf(`${oneRooftop}console: ~\n`).console).toBeNull()
})

test('a console is read with its people and defaults', () => {
  const text = withConsole(
    'publicUrl: "https://forecourt.example.com/", people: [ { email: Kim@Example.com, role: engineer }, { email: sam@a.au, role: stock, rooftops: [u1], groups: ["key:a"] } ], ' +
      `oidc: { issuer: "https://login.example.com", clientId: forecourt, clientSecret: "\${SECRET}" }`,
  )

  const config = configOf(text, { SECRET: 'secret-of-oidc' })

  expect(config.console).toEqual({
    publicUrl: 'https://forecourt.example.com',
    timezone: 'UTC',
    sessionHours: 12,
    uploadMegabytes: 25,
    people: [
      { email: 'kim@example.com', role: 'engineer', rooftops: [], groups: [] },
      { email: 'sam@a.au', role: 'stock', rooftops: ['u1'], groups: ['key:a'] },
    ],
    oidc: {
      ...{ issuer: 'https://login.example.com', clientId: 'forecourt' },
      ...{ clientSecret: 'secret-of-oidc', requireVerifiedEmail: true },
    },
  })
  expect(listSecrets(config)).toContain('secret-of-oidc')
})

test.for([
  [
    person('email: kim@a.au, role: admin'),
    'console.people[0].role must be one of engineer, viewer, stock.',
  ],
  [
    person('email: kim, role: engineer'),
    'console.people[0].email is not an e-mail address: correct it.',
  ],
  [
    person('email: sam@a.au, role: stock'),
    'console.people[0].role is stock, which sees nothing without rooftops or groups: list them.',
  ],
  [
    person('email: kim@a.au, role: viewer, rooftops: [u1]'),
    'console.people[0].role is viewer, which sees every rooftop: leave out rooftops and groups.',
  ],
  [
    person('email: sam@a.au, role: stock, rooftops: [u1, u2]'),
    'console.people[0].rooftops[1] is not one of rooftops[] (did you mean u1?): correct it.',
  ],
  [
    person('email: sam@a.au, role: stock, groups: [northern]'),
    'console.people[0].groups[0] is not one of rooftops[] (known: key:a): correct it.',
  ],
  [
    withConsole(`${url}, people: [ { email: a@b, role: viewer }, { email: A@B, role: engineer } ]`),
    'console.people[1].email is listed twice: list every person once.',
  ],
  [withConsole(url), 'console.people is missing: add it.'],
  [
    withConsole('publicUrl: "http://forecourt.example.com", people: []'),
    'console.publicUrl is not https: write https://…; only a loopback address, e.g. http://127.0.0.1:4020, may do without.',
  ],
  [
    withConsole('publicUrl: "http://localhost.example.com", people: []'),
    'console.publicUrl is not https: write https://…; only a loopback address, e.g. http://127.0.0.1:4020, may do without.',
  ],
  [
    withConsole('publicUrl: "https://a.example/?b", people: []'),
    'console.publicUrl has more than scheme, host and port: write only them.',
  ],
  [
    withConsole('publicUrl: "https://a.example/forecourt", people: []'),
    'console.publicUrl has more than scheme, host and port: write only them.',
  ],
  [
    withConsole('publicUrl: "https://kim@a.example", people: []'),
    'console.publicUrl has more than scheme, host and port: write only them.',
  ],
  [
    oidc('issuer: "https://a.example", clientId: b'),
    'console.oidc.clientSecret is missing: add it.',
  ],
  [
    oidc(`issuer: "https://a.example", clientId: b, clientSecret: "\${NO_SECRET:-}"`),
    'console.oidc.clientSecret is empty: correct it.',
  ],
  [
    oidc('issuer: "http://a.example", clientId: b, clientSecret: c'),
    'console.oidc.issuer is not https: write https://…; only a loopback address may do without.',
  ],
] as const)('%# is reported with its path', ([text, problem]) => {
  const problems = problemsOf(text)

  expect(problems).toHaveLength(1)
  expect(problems[0]!.replace(/^forecourt\.yaml:\d+: /, '')).toBe(problem)
  expect(problems[0]).toMatch(/^forecourt\.yaml:\d+: /)
})

test('the host of an address has no case, and the port of its scheme is left out', () => {
  const text = withConsole('publicUrl: "https://Forecourt.Example.com:443/", people: []')

  expect(configOf(text).console?.publicUrl).toBe('https://forecourt.example.com')
})

test('a missing variable for the secret is named', () => {
  const text = oidc(`issuer: "https://a.example", clientId: b, clientSecret: "\${NO_SECRET}"`)

  expect(problemsOf(text).join()).toContain('NO_SECRET')
})

test('a person of a config without rooftops is checked too', () => {
  const text = `console: { ${url}, people: [ { email: a@b, role: stock, rooftops: [u1] } ] }\n`

  expect(problemsOf(text)).toEqual([
    'forecourt.yaml:1: console.people[0].rooftops[0] is not one of rooftops[] (known: none): correct it.',
  ])
})
