import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'

const mebibyte = 1024 * 1024

/** How the end of a body is marked: by a `content-length`, or by chunks of an unknown number. */
export const framings = ['a known length', 'chunks'] as const

/**
 * POSTs a body of 12 MB and goes on sending it after it was answered, then asks for `/nothing` on the same connection. Returns the
 * statuses of both answers. `headers`: lines of the first request.
 */
export async function statusesOfLargeBody(
  url: string,
  headers: readonly string[],
  framing: (typeof framings)[number],
): Promise<readonly number[]> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  let answers = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answers += text
  })
  const send = async (text: string | Buffer) => {
    if (!socket.write(text)) await once(socket, 'drain')
  }
  const sendHead = (path: string, more: readonly string[]) =>
    send([`POST ${path} HTTP/1.1`, 'host: localhost', ...more, '', ''].join('\r\n'))
  const statuses = () => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, text]) => Number(text))
  const isChunked = framing === 'chunks'
  const size = 12 * mebibyte
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${size}`
  try {
    await sendHead(pathname, [...headers, length])
    if (isChunked) await send(`${size.toString(16)}\r\n`)
    await send(Buffer.alloc(4 * mebibyte, ' '))
    await expect.poll(() => statuses().length, { timeout: 30_000 }).toBe(1)
    await send(Buffer.alloc(8 * mebibyte, ' '))
    if (isChunked) await send('\r\n0\r\n\r\n')
    await sendHead('/nothing', ['content-length: 0'])
    await expect.poll(() => statuses().length, { timeout: 30_000 }).toBe(2)
    return statuses()
  } finally {
    socket.destroy()
  }
}
