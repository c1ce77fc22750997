import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { openMailServer } from './alert-receivers.ts'
import { openScheduleFixture } from './schedule-fixture.ts'

let folder: TemporaryFolder
let file: string

/** A certificate of the host of these tests that no authority has signed. */
beforeAll(async () => {
  folder = await temporaryFolder()
  file = join(folder.path, 'mail.pem')
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ...['-keyout', join(folder.path, 'mail.key'), '-out', file],
  ])
  return async () => await folder[Symbol.asyncDispose]()
})

test.for([
  ['tls', true],
  ['starttls', false],
] as const)(
  'a mail over %s reaches a server whose certificate is trusted, and no other',
  async ([security, secure]) => {
    const [cert, key] = await Promise.all([
      readFile(file, 'utf8'),
      readFile(join(folder.path, 'mail.key'), 'utf8'),
    ])
    await using server = await openMailServer({ secure, cert, key })
    const smtp = { ...server.smtp, host: 'localhost', security }
    const alerts = { format: 'email' as const, to: ['kim@example.com'], smtp }
    await using fixture = await openScheduleFixture({}, { alerts })
    const sent = async (env: Record<string, string | undefined>) =>
      await fixture.start(['alerts', 'test'], { env }).ended

    const refused = await sent({ NODE_EXTRA_CA_CERTS: undefined })
    const before = [...server.got]
    const trusted = await sent({ NODE_EXTRA_CA_CERTS: file })

    expect(refused.code).toBe(1)
    expect(refused.stdout).toBe(
      'default (email, address 1): the mail server cannot be reached: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): ' +
        'correct it, or name the file of its authority in NODE_EXTRA_CA_CERTS\n',
    )
    expect(before).toEqual([])
    expect(trusted).toMatchObject({ code: 0 })
    expect(server.got).toMatchObject([
      { to: ['kim@example.com'], text: expect.stringContaining('Alerts reach default.') },
    ])
  },
)
