import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { TransportFault } from '#src/sources/http-fault.ts'
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
  'a port of %s that nobody listens on is told from a connection that broke',
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

test('a host name that is not known is told as such', async () => {
  const { code, syscall } = await causeAt('http://nowhere.invalid')

  expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(code)
  expect(syscall).toBe('getaddrinfo')
})

test('of several faults the one call that all of them are about is told, of different ones none', () => {
  const fault = (syscall: string) =>
    Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall })

  const same = new TransportFault(new AggregateError([fault('connect'), fault('connect')]))
  const mixed = new TransportFault(new AggregateError([fault('connect'), fault('read')]))

  expect([same.syscall, mixed.syscall]).toEqual(['connect', null])
})
