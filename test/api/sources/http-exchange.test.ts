import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import type { HttpRequest } from '#src/api/sources/http.ts'
import { TransportFault } from '#src/api/sources/http-exchange.ts'
import { plainRead } from '#src/api/sources/status-rules.ts'
import { faultOf, post, sourceAt } from './http-support.ts'

/** What the connection to an address fails with. */
async function causeAt(baseUrl: string): Promise<TransportFault> {
  const http = sourceAt(baseUrl, { maxRetries: 0 })
  try {
    const { cause } = await faultOf(http.request(post()))
    expect(cause).toBeInstanceOf(TransportFault)
    return cause as TransportFault
  } finally {
    await http.close()
  }
}

test.each(['127.0.0.1', 'localhost'])(
  'a port of %s without a listener is reported otherwise than a connection that broke',
  async (host) => {
    const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await new Promise<void>((done) => server.listen(0, done))
    const { port } = server.address() as AddressInfo

    const broken = await causeAt(`http://${host}:${port}`)
    await new Promise((done) => server.close(done))
    const refused = await causeAt(`http://${host}:${port}`)

    expect(refused).toMatchObject({ code: 'ECONNREFUSED', syscall: 'connect' })
    expect(broken).toMatchObject({ code: 'ECONNRESET', syscall: 'read' })
  },
)

test('an unknown host name is reported as such', async () => {
  const { code, syscall } = await causeAt('http://nowhere.invalid')

  expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(code)
  expect(syscall).toBe('getaddrinfo')
})

test('a call without an answer names the host and port that it went to, and no path', async () => {
  const http = sourceAt('http://127.0.0.1:1/a-path', { maxRetries: 0 })

  const { message } = await faultOf(http.request(post()))
  await http.close()

  expect(message).toContain('Nothing is lost: try again later.')
  expect(message).toMatch(/check \S+ \(http:\/\/127\.0\.0\.1:1\) and the network\.$/)
  expect(message).not.toContain('a-path')
})

test('a call that may succeed later names who tries it again', async () => {
  const http = sourceAt('http://127.0.0.1:1', { maxRetries: 0 })
  const write = { ...post(), contract: { ...plainRead, repeatable: false } }
  const messageOf = async (request: HttpRequest) => (await faultOf(http.request(request))).message

  const refusedWrite = await messageOf(write)
  const ofRun = await messageOf({ ...post(), nextTry: 'the next sync tries again.' })
  await http.close()

  expect(refusedWrite).toContain('. Nothing was changed: try again later. If this')
  expect(ofRun).toContain('. Nothing is lost: the next sync tries again. If this')
})

test('faults of several addresses name their system call only if it is the same', () => {
  const fault = (syscall: string) =>
    Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall })

  const same = new TransportFault(new AggregateError([fault('connect'), fault('connect')]))
  const mixed = new TransportFault(new AggregateError([fault('connect'), fault('read')]))

  expect([same.syscall, mixed.syscall]).toEqual(['connect', null])
})
