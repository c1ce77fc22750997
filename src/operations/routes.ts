import type { FastifyInstance } from 'fastify'
import type { Operations } from './operations.ts'

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
