import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readJson } from 'node:stream/consumers'

/** A request to the webhook receiver. */
export interface Received {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly json: unknown
}

/** A webhook receiver on loopback that stores what it receives; it answers 200, or with the given answer. */
export async function startReceiver(
  answer: (response: ServerResponse) => void = (response) => response.end(),
) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request
    received.push({ method, path, headers, json: await readJson(request) })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return { url, received, [Symbol.asyncDispose]: close }
}
