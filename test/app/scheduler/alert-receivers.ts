import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { AlertMessage } from '#src/app/scheduler/alert-message.ts'

/** A webhook. While `status` is not 2xx it stores nothing; 0: it never answers. `isMute`: it stores the message and never answers. */
export async function openReceiver() {
  const got: AlertMessage[] = []
  const ids: unknown[] = []
  const state = { status: 204, asked: 0, isMute: false, headers: {} }
  const server = createServer(async (request, response) => {
    const body = await request.setEncoding('utf8').toArray()
    state.asked++
    if (state.status === 0) return
    if (state.status < 300) {
      got.push(JSON.parse(body.join('')) as AlertMessage)
      ids.push(request.headers['x-forecourt-message'])
    }
    if (state.isMute) return
    response.writeHead(state.status, { location: '/other', ...state.headers }).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    ...{ got, ids, state },
    url: `http://127.0.0.1:${port}/hook/secret-token`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** What a mail server got. */
export interface Mail {
  readonly to: readonly string[]
  readonly text: string
}

const withoutTls = { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }

/** A mail server that wants a password, and refuses the addresses in `refused`. Without options it has no TLS. */
export async function openMailServer(options: SMTPServerOptions = withoutTls) {
  const got: Mail[] = []
  const refused = new Set<string>()
  const server = new SMTPServer({
    ...{ ...options, logger: false },
    onAuth: ({ username, password }, _session, done) =>
      username === 'mailer' && password === 'mail-password'
        ? done(null, { user: username })
        : done(new Error(`535 no such user ${username}`)),
    onRcptTo: ({ address }, _session, done) =>
      done(refused.has(address) ? new Error(`no mailbox ${address}`) : null),
    onData: (stream, { envelope }, done) => {
      stream
        .setEncoding('utf8')
        .toArray()
        .then((parts) => {
          got.push({ to: envelope.rcptTo.map(({ address }) => address), text: parts.join('') })
          done()
        }, done)
    },
  })
  server.on('error', () => {})
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()))
  const { port } = server.server.address() as AddressInfo
  return {
    ...{ got, refused },
    smtp: {
      ...{ host: '127.0.0.1', port, security: 'none' as const, from: 'forecourt@example.com' },
      ...{ user: 'mailer', password: 'mail-password' },
    },
    [Symbol.asyncDispose]: async () => await new Promise<void>((done) => server.close(done)),
  }
}

/** A zone where it is about noon now, so that no day ends while a test runs. */
export function noonZone(): string {
  const ahead = new Date().getUTCHours() - 12
  return `Etc/GMT${ahead < 0 ? '' : '+'}${ahead}`
}
