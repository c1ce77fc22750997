import fastify from 'fastify'
import { messageOf, UsageError } from '../errors.ts'
import type { Operations } from './operations.ts'
import { serveOperations } from './routes.ts'

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
    operations.log.error(`a request for operations failed: ${messageOf(error)}`)
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
      `Cannot listen on port ${port} of ${host} for operations: ${messageOf(cause)}. ` +
        'Choose another --operations-port (operations.host, operations.port in the config).',
      { cause },
    )
  }
}
