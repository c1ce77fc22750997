import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Answers one request; `n` counts from 1. */
export type Answerer = (
  response: ServerResponse,
  request: Received,
  n: number,
) => void | Promise<void>

/** A real HTTP server on loopback that records what it received. */
export class FakeSource implements AsyncDisposable {
  readonly received: Received[] = []
  readonly #server: Server
  /** Sockets that were closed before their answer was whole. */
  cut = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(answer: Answerer): Promise<FakeSource> {
    const server = createServer()
    const source = new FakeSource(server)
    server.on('request', async (request, response) => {
      response.on('close', () => {
        if (!response.writableFinished) source.cut += 1
      })
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method = '', url: path = '', headers } = request
      const received = { method, path, headers, body: Buffer.concat(chunks).toString() }
      await answer(response, received, source.received.push(received))
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    return source
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** A JSON answer. */
export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
