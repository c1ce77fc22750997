import fastify, { type FastifyInstance } from 'fastify'
import { errorText, UsageError } from '../../errors.ts'
import type { Operations } from './operations.ts'

/** The running server of the operations endpoints. */
export interface OperationsServer extends AsyncDisposable {
  readonly url: string
}

/** Serves only `/healthz`, `/readyz` and `/metrics`. Port 0 takes any free port. UsageError when the address is not available. */
export async function startOperationsServer(
  operations: Operations,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<OperationsServer> {
  const app = fastify({ forceCloseConnections: true })
  app.setErrorHandler(async (error, _request, reply) => {
    operations.log.error(`a request for operations failed: ${errorText(error)}`)
    return await reply.code(500).send({ status: 'error' })
  })
  app.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).send({ status: 'not found', paths: ['/healthz', '/readyz', '/metrics'] }),
  )
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  serveOperations(app, operations, { metrics: true })
  try {
    const url = await app.listen({ host, port })
    return { url, [Symbol.asyncDispose]: async () => await app.close() }
  } catch (cause) {
    await app.close()
    throw new UsageError(
      `Cannot listen on port ${port} of ${host} for operations: ${errorText(cause)}. ` +
        'Choose another --operations-port (operations.host, operations.port in the config).',
      { cause },
    )
  }
}

/**
 * Serves `/healthz`, which answers while the process lives, `/readyz`, which answers 503 with a reason while it should get no work,
 * and `/metrics` in the text format of Prometheus (not when `metrics` is false, for the public port of `serve`).
 */
export function serveOperations(
  app: FastifyInstance,
  operations: Operations,
  { metrics }: { readonly metrics: boolean },
): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const { ready, ...why } = await operations.readiness()
    reply.code(ready ? 200 : 503)
    return { status: ready ? 'ok' : 'not ready', ...why }
  })
  if (!metrics) return
  app.get('/metrics', async (_request, reply) => {
    reply.type('text/plain; version=0.0.4; charset=utf-8')
    return await operations.metrics()
  })
}
