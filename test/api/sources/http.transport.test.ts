import { createServer } from 'node:net'
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { expect, test } from 'vitest'
import { runCarHistory } from '#src/api/contract/appraisal/checks.ts'
import { DeadlineExceeded } from '#src/api/sources/http-exchange.ts'
import { KeyLimiter } from '#src/api/sources/limiter.ts'
import { FakeSource, json } from './fake-source.ts'
import { faultOf, post, sourceAt, withSource } from './http-support.ts'

test('a slow-loris body meets the total deadline, and its socket is destroyed', async () => {
  const timers = new Set<NodeJS.Timeout>()
  await withSource(
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 20)
      timers.add(timer)
      response.on('close', () => clearInterval(timer))
    },
    async (http, source) => {
      const began = performance.now()

      const error = await faultOf(http.request(post()))

      expect(performance.now() - began).toBeLessThan(30_000)
      expect(error).toMatchObject({ errorAction: 'retry', status: undefined })
      expect(error.cause).toBeInstanceOf(DeadlineExceeded)
      expect(error.message).toContain('no whole answer within 0.2 s (2 attempts)')
      await expect.poll(() => source.cut).toBe(2)
    },
    { timeoutSeconds: 0.2, maxRetries: 1 },
  )
})

test('headers that never come meet the deadline too', async () => {
  await withSource(
    () => {},
    async (http) => {
      const error = await faultOf(http.request(post()))

      expect(error.cause).toBeInstanceOf(DeadlineExceeded)
    },
    { timeoutSeconds: 0.1, maxRetries: 0 },
  )
})

test('an answer beyond the cap is cut off, whether it names its length or not', async () => {
  const endless = Buffer.alloc(64 * 1024, ' ')
  await withSource(
    (response, _request, n) => {
      if (n === 1) response.writeHead(200, { 'content-length': String(1024 ** 3) })
      else response.writeHead(200)
      const write = () => {
        while (!response.destroyed && response.write(endless));
      }
      response.on('drain', write)
      write()
    },
    async (http, source) => {
      for (const calls of [1, 2]) {
        const error = await faultOf(http.request(post()))

        expect(error.errorAction).toBe('abort')
        expect(error.meaning).toBe('tooLarge')
        expect(source.received).toHaveLength(calls)
      }
      await expect.poll(() => source.cut).toBe(2)
    },
    { maxBytes: 1_000_000 },
  )
})

test('the cap counts decoded bytes: a compression bomb is not decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000, ' '))
  await withSource(
    (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    async (http) => {
      const error = await faultOf(http.request(post()))

      expect(bomb.length).toBeLessThan(1_000_000)
      expect(error.meaning).toBe('tooLarge')
    },
    { maxBytes: 1_000_000 },
  )
})

test('compressed answers are read, and the byte order mark is stripped', async () => {
  const body = Buffer.from('\ufeff{"name":"Zoë"}')
  const codings = [
    ['gzip', gzipSync(body)],
    ['br', brotliCompressSync(body)],
    ['identity', body],
  ] as const
  await withSource(
    (response, _request, n) => {
      const [coding, bytes] = codings[n - 1]!
      response.writeHead(200, { 'content-encoding': coding }).end(bytes)
    },
    async (http) => {
      for (const _coding of codings)
        expect((await http.request(post())).text).toBe('{"name":"Zoë"}')
    },
  )
})

const running = Buffer.from('{"error":"Request in progress, please wait"}')

// One status has two reasons there, and only the text shows which [A §7 /carhistory].
test.each([
  ['plain', 'identity', running, 'reportRunning'],
  ['gzip', 'gzip', gzipSync(running), 'reportRunning'],
  ['x-gzip', 'x-gzip', gzipSync(running), 'reportRunning'],
  ['gzip in capitals', ' GZIP ', gzipSync(running), 'reportRunning'],
  ['deflate', 'deflate', deflateSync(running), 'reportRunning'],
  ['deflate without a header', 'deflate', deflateRawSync(running), 'reportRunning'],
  ['brotli', 'br', brotliCompressSync(running), 'reportRunning'],
  ['zstd', 'zstd', zstdCompressSync(running), 'reportRunning'],
  ['gzip without its checksum', 'gzip', gzipSync(running).subarray(0, -8), 'reportRunning'],
  ['gzip with a byte order mark', 'gzip', gzipSync(`\ufeff${running}`), 'reportRunning'],
  ['plain text that is called gzip', 'gzip', running, 'reportRunning'],
  ['plain text of an unknown encoding', 'compress', running, 'reportRunning'],
  ['gzip that was cut within its text', 'gzip', gzipSync(running).subarray(0, 20), 'quotaUsed'],
  ['a compression bomb', 'gzip', gzipSync(Buffer.alloc(50_000_000, ' ')), 'quotaUsed'],
  ['another reason', 'gzip', gzipSync('{"error":"Daily limit"}'), 'quotaUsed'],
] as const)('the text of a 429 is read: %s', async (_, coding, bytes, meaning) => {
  await withSource(
    (response) => void response.writeHead(429, { 'content-encoding': coding }).end(bytes),
    async (http) => {
      const error = await faultOf(http.request({ ...post(), contract: runCarHistory }))

      expect([error.status, error.meaning]).toEqual([429, meaning])
    },
  )
})

test('the documented words of a compressed 500 show that the service answered', async () => {
  const body = gzipSync('{"error":"Failed to get vehicle history"}')
  await withSource(
    (response) => void response.writeHead(500, { 'content-encoding': 'gzip' }).end(body),
    async (http) => {
      const error = await faultOf(http.request({ ...post(), contract: runCarHistory }))

      expect(error.meaning).toBe('recordRefused')
      expect(error.message).toContain('answered 500: "Failed to get vehicle history"')
    },
  )
})

test('a reset connection is repeated and slows the key down', async () => {
  await withSource(
    (response, _request, n) => (n === 1 ? void response.destroy() : json(response, [])),
    async (http) => {
      const limiter = new KeyLimiter({ max: 4 })

      const answer = await http.request(post(limiter))

      expect(answer.attempts).toBe(2)
      expect(limiter.concurrency).toBe(2)
    },
  )
})

test('an answer that ends before its length is repeated', async () => {
  await withSource(
    (response, _request, n) => {
      if (n > 1) return json(response, [])
      response.writeHead(200, { 'content-length': '100' })
      response.write('[1,2')
      setTimeout(() => response.destroy(), 20)
    },
    async (http) => expect((await http.request(post())).attempts).toBe(2),
  )
})

test('a page, an empty body and a plain text with status 200 are repeated like a 5xx', async () => {
  const bodies = ['<!doctype html><p>Please wait</p>', '', '  ', 'upstream connect error', '{}']
  await withSource(
    (response, _request, n) => void response.writeHead(200).end(bodies[n - 1]),
    async (http) => {
      const limiter = new KeyLimiter({ max: 4 })

      const seen: number[] = []

      const onAttempt = () => seen.push(limiter.concurrency)
      const answer = await http.request({ ...post(limiter), onAttempt })

      expect(answer).toMatchObject({ text: '{}', attempts: 5 })
      expect(seen.slice(0, 4)).toEqual([2, 1, 1, 1])
    },
    { maxRetries: 4 },
  )
})

test('a page at every attempt is an error with the action retry, and nothing of it is quoted', async () => {
  await withSource(
    (response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('[ "jane@example.com" ]'),
    async (http) => {
      const error = await faultOf(http.request(post()))

      expect(error).toMatchObject({ errorAction: 'retry', status: 200 })
      expect(error.message).toContain('answered 200, but: the body is a web page, not JSON (4 att')
      expect(error.message).not.toContain('jane')
    },
  )
})

test('a refused connection says so and names the setting', async () => {
  const source = await FakeSource.start(() => {})
  const { baseUrl } = source
  await source[Symbol.asyncDispose]()
  const http = sourceAt(baseUrl)

  const error = await faultOf(http.request(post()))
  await http.close()

  expect(error.errorAction).toBe('retry')
  expect(error.message).toContain('failed: the connection was refused (4 attempts)')
  expect(error.message).toContain('appraisal.baseUrl')
})

test('an answer that is not HTTP is a fault without its bytes', async () => {
  const server = createServer((socket) => void socket.end('SSH-2.0 jane@example.com\r\n'))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const http = sourceAt(`http://127.0.0.1:${port}`, { maxRetries: 0 })

  const error = await faultOf(http.request(post()))
  await http.close()
  server.close()

  expect(error.errorAction).toBe('retry')
  expect(JSON.stringify([error.message, error.cause, String(error.cause)])).not.toContain('jane')
})

test('connections stay open between calls', async () => {
  const ports = new Set<number | undefined>()
  await withSource(
    (response) => {
      ports.add(response.socket?.remotePort)
      json(response, {})
    },
    async (http) => {
      for (let calls = 0; calls < 20; calls += 1) await http.request(post())

      // An answer ends a tick before its connection is free again: two connections alternate.
      expect(ports.size).toBeLessThanOrEqual(2)
    },
  )
})
