import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerMessages } from './bench-process.ts'

/** A node:http server that reads the id from the body and answers the stored bytes. */
async function start(stored: ReadonlyMap<number, Uint8Array>): Promise<{ readonly url: string }> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { evalid } = JSON.parse(Buffer.concat(parts).toString('utf8'))
      const bytes = stored.get(evalid)
      response.writeHead(bytes === undefined ? 400 : 200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': bytes?.length ?? 0,
      })
      response.end(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

answerMessages((stored) => start(stored as ReadonlyMap<number, Uint8Array>))
