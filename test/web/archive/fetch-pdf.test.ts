import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { fetchPdf } from '#src/web/archive/fetch-pdf.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import {
  aPdf,
  neverAborted,
  refusalOf,
  rulesFor,
  startPdfServer,
  unfinishedIn,
} from './pdf-server.ts'

test('a PDF is written to a file with its digest and size, however its bytes arrive', async () => {
  await using folder = await temporaryFolder()
  const pdf = aPdf()
  await using server = await startPdfServer(async (_request, response) => {
    for (const byte of pdf) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  })

  const fetched = await fetchPdf(
    server.link(),
    rulesFor(folder.path, [server.origin]),
    neverAborted,
  )

  const sha256 = createHash('sha256').update(pdf).digest()
  expect(fetched).toMatchObject({ kind: 'pdf', sha256, byteCount: pdf.length })
  expect(await readFile((fetched as { file: string }).file)).toEqual(pdf)
})

test('an answer that is not a PDF is refused', async () => {
  await using folder = await temporaryFolder()
  const answers: Record<string, readonly [number, string, string | Buffer]> = {
    '/page': [200, 'text/html; charset=utf-8', aPdf()],
    '/page-in-disguise': [200, 'application/pdf', '\ufeff \n<!doctype html><p>Sign in'],
    '/zip': [200, 'application/pdf', 'PK\u0003\u0004 %PDF- %%EOF'],
    '/late': [200, 'application/pdf', Buffer.concat([Buffer.from('\n'), aPdf()])],
    '/brief': [200, 'application/pdf', '%PD'],
    '/nothing': [200, 'application/pdf', ''],
    '/cut': [200, 'application/pdf', aPdf().subarray(0, -8)],
    '/long-gone-end': [200, 'application/pdf', Buffer.concat([aPdf(), Buffer.alloc(2048)])],
    '/403': [403, 'application/json', aPdf()],
    '/404': [404, 'application/pdf', aPdf()],
    '/410': [410, 'application/pdf', aPdf()],
    '/500': [500, 'application/pdf', aPdf()],
    '/206': [206, 'application/pdf', aPdf()],
  }
  await using server = await startPdfServer(({ url }, response) => {
    const [status, type, body] = answers[url!.split('?')[0]!]!
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  const rules = rulesFor(folder.path, [server.origin])

  const codes: Record<string, string> = {}
  for (const path of Object.keys(answers)) codes[path] = await refusalOf(server.link(path), rules)

  expect(codes).toEqual({
    '/page': 'web-page',
    '/page-in-disguise': 'web-page',
    '/zip': 'not-a-pdf',
    '/late': 'not-a-pdf',
    '/brief': 'not-a-pdf',
    '/nothing': 'not-a-pdf',
    '/cut': 'truncated',
    '/long-gone-end': 'truncated',
    '/403': 'expired',
    '/404': 'expired',
    '/410': 'expired',
    '/500': 'status',
    '/206': 'status',
  })
})

test('a mark that ends 2 kB before the end is found, one byte earlier it is not', async () => {
  await using folder = await temporaryFolder()
  const body = Buffer.from('%PDF-1.7\n%%EOF')
  await using server = await startPdfServer(({ url }, response) => {
    response.end(Buffer.concat([body, Buffer.alloc(url!.startsWith('/near') ? 2043 : 2044)]))
  })
  const rules = rulesFor(folder.path, [server.origin])

  const near = await fetchPdf(server.link('/near'), rules, neverAborted)

  expect(near.kind).toBe('pdf')
  await using other = await temporaryFolder()
  expect(await refusalOf(server.link('/far'), { ...rules, folder: other.path })).toBe('truncated')
})

test('an answer that says that it is too large is refused before its first byte, and the connection is closed', async () => {
  await using folder = await temporaryFolder()
  const hungUp = Promise.withResolvers<void>()
  await using server = await startPdfServer((_request, response) => {
    response.on('close', hungUp.resolve)
    response.writeHead(200, { 'content-length': 100_001 })
    response.flushHeaders()
  })

  const code = await refusalOf(server.link(), rulesFor(folder.path, [server.origin]))

  expect(code).toBe('too-large')
  await hungUp.promise
})

test('an answer that does not say how large it is, is refused once it grows too large', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(aPdf(10_000)));
    }
    response.on('drain', more)
    more()
  })

  const code = await refusalOf(server.link(), rulesFor(folder.path, [server.origin]))

  expect(code).toBe('too-large')
})

test('a PDF of exactly the allowed size is accepted', async () => {
  await using folder = await temporaryFolder()
  const pdf = aPdf(1000)
  await using server = await startPdfServer((_request, response) => response.end(pdf))
  const rules = rulesFor(folder.path, [server.origin], { maxBytes: pdf.length })

  const code = await refusalOf(server.link(), { ...rules, maxBytes: pdf.length - 1 })
  const fetched = await fetchPdf(server.link(), rules, neverAborted)

  expect(code).toBe('too-large')
  expect(fetched).toMatchObject({ kind: 'pdf', byteCount: pdf.length })
})

test.for([
  ['more than it says', (pdf: Buffer) => pdf.length - 8],
  ['less than it says', (pdf: Buffer) => pdf.length + 8],
] as const)('an answer that holds %s is refused as cut off', async ([, lengthOf]) => {
  await using folder = await temporaryFolder()
  const pdf = aPdf()
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () =>
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${lengthOf(pdf)}\r\n\r\n${pdf.toString()}`),
    )
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const code = await refusalOf(`${origin}/a`, rulesFor(folder.path, [origin]))

  expect(code).toBe('truncated')
  server.close()
})

test('time runs out for slow headers, for a slow body and for a name that takes too long', async () => {
  await using folder = await temporaryFolder()
  await using server = await startPdfServer(({ url }, response) => {
    if (url!.startsWith('/headers')) return
    response.write(aPdf())
  })
  const never = () => new Promise<never>(() => {})
  const rules = rulesFor(folder.path, [server.origin, 'slow.example'], {
    timeoutMs: 300,
    resolve: never,
  })

  const codes = [
    await refusalOf(server.link('/headers'), rules),
    await refusalOf(server.link('/body'), rules),
    await refusalOf('https://slow.example/certificate.pdf', rules),
  ]

  expect(codes).toEqual(['time-out', 'time-out', 'time-out'])
  expect(server.requests).toHaveLength(2)
})

test('a signal ends the download with its own reason and leaves no file', async () => {
  await using folder = await temporaryFolder()
  const stop = new AbortController()
  await using server = await startPdfServer((_request, response) => {
    response.write(aPdf(), () => stop.abort(new Error('stopped by SIGTERM')))
  })
  const rules = rulesFor(folder.path, [server.origin])

  await expect(fetchPdf(server.link(), rules, stop.signal)).rejects.toThrow('stopped by SIGTERM')
  await expect(fetchPdf(server.link(), rules, stop.signal)).rejects.toThrow('stopped by SIGTERM')

  expect(server.requests).toHaveLength(1)
  expect(await unfinishedIn(folder.path)).toEqual([])
})

test('a refused connection is reported by its code alone', async () => {
  await using folder = await temporaryFolder()
  const server = await startPdfServer(() => undefined)
  await server[Symbol.asyncDispose]()

  const fetched = await fetchPdf(
    server.link(),
    rulesFor(folder.path, [server.origin]),
    neverAborted,
  )

  expect(fetched).toEqual({
    kind: 'refused',
    code: 'network',
    reason: 'the connection failed (ECONNREFUSED)',
  })
})

test('a folder that cannot be written is not a fault of the link', async () => {
  await using server = await startPdfServer((_request, response) => response.end(aPdf()))
  const rules = rulesFor('/dev/null/archive', [server.origin])

  await expect(fetchPdf(server.link(), rules, neverAborted)).rejects.toThrow('ENOTDIR')
})
