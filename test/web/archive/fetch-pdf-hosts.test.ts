import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { fetchPdf, requestAt } from '#src/web/archive/fetch-pdf.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aPdf, canary, neverAborted, refusalOf, rulesFor, startPdfServer } from './pdf-server.ts'

const servesPdf: RequestListener = (_request, response) => response.end(aPdf())

/** Answers a path `/to/<n>` with a redirect to `/to/<n - 1>`, and anything else with a PDF. */
const countsDown: RequestListener = ({ url }, response) => {
  const left = Number(/^\/to\/(\d+)/.exec(url!)?.[1] ?? 0)
  if (left === 0) response.end(aPdf())
  else response.writeHead(302, { location: `/to/${left - 1}` }).end('x'.repeat(100_000))
}

test('a host that is not in the list is refused before anything is sent', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(servesPdf)
  const links = [
    server.link(),
    `http://localhost:${server.port}/a?${canary}`,
    `http://user:word@127.0.0.1:${server.port}/a?${canary}`,
    `ftp://127.0.0.1:${server.port}/a`,
    'file:///etc/passwd',
    'data:application/pdf,%25PDF-',
    'certificate.pdf',
  ]
  const entries = [
    'files.example.com',
    `https://127.0.0.1:${server.port}`,
    'http://127.0.0.1',
    'http://127.0.0.1:1',
  ]

  const codes = await Promise.all(
    links.map((link) => refusalOf(link, rulesFor(folder.path, entries))),
  )

  expect(codes).toEqual(links.map(() => 'host'))
  expect(server.requests).toEqual([])
})

test('a link with a user name is refused although its host is in the list', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(servesPdf)
  const link = `http://user:word@127.0.0.1:${server.port}/a?${canary}`

  const code = await refusalOf(link, rulesFor(folder.path, [server.origin]))

  expect(code).toBe('host')
  expect(server.requests).toEqual([])
})

test.for([
  ['127.0.0.1'],
  ['10.1.2.3'],
  ['169.254.169.254'],
  ['::1'],
  ['::ffff:127.0.0.1'],
  ['fd00:ec2::254'],
  ['93.184.215.14', '127.0.0.1'],
  [],
])('a name in the list that resolves to %s is refused', async (addresses) => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(servesPdf)
  const rules = rulesFor(folder.path, [`http://files.example.com:${server.port}`], {
    resolve: async () => addresses,
  })

  const code = await refusalOf(`http://files.example.com:${server.port}/a?${canary}`, rules)

  expect(code).toBe('address')
  expect(server.requests).toEqual([])
})

test('localhost is accepted when it is this machine, and only then', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(servesPdf)
  const origin = `http://localhost:${server.port}`
  const rules = (address: string) =>
    rulesFor(folder.path, [origin], { resolve: async () => [address] })

  const other = await refusalOf(`${origin}/a`, rules('10.0.0.7'))
  const here = await fetchPdf(`${origin}/a`, rules('127.0.0.1'), neverAborted)

  expect(other).toBe('address')
  expect(here.kind).toBe('pdf')
})

test('a name that does not resolve is a fault of the network', async () => {
  await using folder = await temporaryFolder()
  const rules = rulesFor(folder.path, ['files.example.com'], {
    resolve: async () => await Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
  })

  const fetched = await fetchPdf(`https://files.example.com/a?${canary}`, rules, neverAborted)

  expect(fetched).toEqual({
    kind: 'refused',
    code: 'network',
    reason: 'the host name files.example.com could not be looked up (ENOTFOUND)',
  })
})

test('a redirect to a private address, by number or by name, is refused and not followed', async () => {
  await using folder = await temporaryFolder()
  await using inner = await startPdfServer(servesPdf)
  const targets = {
    loopback: inner.link(),
    metadata: 'http://169.254.169.254/latest/meta-data',
    private: 'http://10.0.0.1/certificate.pdf',
    mapped: `http://[::ffff:127.0.0.1]:${inner.port}/certificate.pdf`,
    decimal: `http://2130706433:${inner.port}/certificate.pdf`,
    named: `http://inner.example.com:${inner.port}/certificate.pdf`,
    resource: '//inner.example.com/certificate.pdf',
    file: 'file:///etc/passwd',
  }
  await using outer = await startPdfServer(({ url }, response) => {
    const target = targets[url!.slice(1).split('?')[0] as keyof typeof targets]
    response.writeHead(302, { location: target }).end()
  })
  const rules = rulesFor(
    folder.path,
    [outer.origin, `http://*.example.com:${inner.port}`, 'http://*.example.com'],
    { resolve: async () => ['127.0.0.1'] },
  )

  const codes = await Promise.all(
    Object.keys(targets).map(async (name) => [
      name,
      await refusalOf(outer.link(`/${name}`), rules),
    ]),
  )

  expect(Object.fromEntries(codes)).toEqual({
    loopback: 'host',
    metadata: 'host',
    private: 'host',
    mapped: 'host',
    decimal: 'host',
    named: 'address',
    resource: 'address',
    file: 'host',
  })
  expect(inner.requests).toEqual([])
})

test('three redirects are followed, a fourth is not, nor one to nowhere', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(countsDown)
  await using lost = await startPdfServer((_request, response) => response.writeHead(302).end())
  const rules = rulesFor(folder.path, [server.origin, lost.origin])

  const four = await refusalOf(server.link('/to/4'), rules)
  const nowhere = await refusalOf(lost.link(), rules)
  const three = await fetchPdf(server.link('/to/3'), rules, neverAborted)

  expect([four, nowhere, three.kind]).toEqual(['redirects', 'redirects', 'pdf'])
  expect(server.requests).toHaveLength(8)
})

test('nothing that could be a credential goes to the server or on to where it redirects', async () => {
  await using folder = await temporaryFolder()
  const seen: IncomingHttpHeaders[] = []
  await using second = await startPdfServer(({ headers }, response) => {
    seen.push(headers)
    response.end(aPdf())
  })
  await using first = await startPdfServer(({ headers }, response) => {
    seen.push(headers)
    response.writeHead(302, { location: `${second.origin}/b`, 'set-cookie': 'a=b' }).end()
  })

  const rules = rulesFor(folder.path, [first.origin, second.origin])
  const fetched = await fetchPdf(first.link(), rules, neverAborted)

  expect(fetched.kind).toBe('pdf')
  const usual = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent']
  expect(seen.map((headers) => Object.keys(headers).sort())).toEqual([usual, usual])
  expect(second.requests).toEqual(['GET /b'])
})

test('a name is resolved once, and the connection goes to the address that was checked', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(servesPdf)
  const origin = `http://localhost:${server.port}`
  const resolved: string[] = []
  const rules = rulesFor(folder.path, [origin], {
    resolve: async (name) => {
      resolved.push(name)
      return ['127.0.0.1']
    },
  })

  const fetched = await fetchPdf(`${origin}/a`, rules, neverAborted)
  // No resolver knows this name: only the address that is given can be meant.
  const unknown = new URL(`http://files.invalid:${server.port}/a`)
  const status = await requestAt(unknown, ['127.0.0.1'], neverAborted, async (answer) => {
    return answer.statusCode
  })

  expect([fetched.kind, resolved]).toEqual(['pdf', ['localhost']])
  expect(status).toBe(200)
})
