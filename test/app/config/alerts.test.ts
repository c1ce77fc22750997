import { expect, test } from 'vitest'
import { listSecrets } from '#src/app/config/read.ts'
import { configOf, oneRooftop, problemsOf } from './config-support.ts'

const withAlerts = (settings: string) => `${oneRooftop}alerts: { ${settings} }\n`
const hook = 'url: "https://hooks.example.com/secret-path"'
const withTarget = (settings: string) => withAlerts(`targets: [ { name: ops, ${settings} } ]`)
const withSmtp = (settings: string) =>
  withAlerts(`format: email, to: [kim@example.com], smtp: { host: mail, ${settings} }`)

test('the address alone is enough, as before', () => {
  const { alerts } = configOf(withAlerts(`${hook}, format: slack`))

  expect(alerts).toMatchObject({ format: 'slack', afterMinutes: 5, targets: [], smtp: null })
})

test('every address of a webhook and the password of the mail server are secrets', () => {
  const text = withAlerts(
    `${hook}, targets: [ { name: ops, url: "https://other.example.com/second-path" }, { name: mail, format: email, to: [kim@example.com] } ], ` +
      `smtp: { host: smtp.example.com, user: mailer, password: "\${MAIL}", from: forecourt@example.com }`,
  )

  const secrets = listSecrets(configOf(text, { MAIL: 'mail-password' }))

  expect(secrets).toContain('https://hooks.example.com/secret-path')
  expect(secrets).toContain('https://other.example.com/second-path')
  expect(secrets).toContain('mail-password')
})

test.for([
  [
    withTarget(`${hook}, digest: "07:00"`),
    'alerts.targets[0].digest is not a setting: remove it; known here are name, url, format, to, severity.',
  ],
  [
    withTarget('url: "https://kim:pass@hooks.example.com/x"'),
    'alerts.targets[0].url has a user or password before the host, which no webhook gets: remove them.',
  ],
  [withTarget('format: slack'), 'alerts.targets[0].url is missing: add it.'],
  [withAlerts('format: email, to: [kim@example.com]'), 'alerts.smtp is missing: add it.'],
  [withSmtp('user: mailer, from: a@b.au'), 'alerts.smtp.password is missing: add it.'],
  [
    withSmtp('user: mailer, password: secret, security: none, from: a@b.au'),
    'alerts.smtp.security is none, which shows the password: write starttls or tls.',
  ],
  [
    withAlerts(`targets: [ { name: ops, ${hook} }, { name: ops, ${hook} } ]`),
    'alerts.targets[1].name is listed twice: give each its own.',
  ],
  [
    withAlerts(`${hook}, to: [kim@example.com]`),
    'alerts.to is for e-mails: remove it, or write format: email instead of json.',
  ],
] as const)('%s', ([text, problem]) => {
  const [found, ...others] = problemsOf(text)

  expect(found).toMatch(/^forecourt\.yaml:\d+: /)
  expect(found!.replace(/^forecourt\.yaml:\d+: /, '')).toBe(problem)
  expect(others).toEqual([])
})

test('a password whose variable is not set is named by its path', () => {
  const text = withSmtp(`user: mailer, password: "\${MAIL_PASSWORD}", from: a@b.au`)

  expect(problemsOf(text)).toEqual([
    expect.stringMatching(/alerts\.smtp\.password needs the environment variable MAIL_PASSWORD/),
  ])
})
