import type { FastifyInstance } from 'fastify'
import { exampleFields, findExampleSubject } from './examples.ts'
import { openApiDocument } from './openapi.ts'
import { pagePolicy, sandboxPage } from './page.ts'
import type { SandboxState } from './sandbox-state.ts'

/** Serves the documentation of the sandbox on both origins: the page at the root and the OpenAPI document. */
export function serveAbout(app: FastifyInstance, service: SandboxState): void {
  app.get('/', (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', pagePolicy)
      .send(sandboxPage(service)),
  )
  app.get('/openapi.json', (_request, reply) => reply.send(describe(service)))
}

function describe(service: SandboxState) {
  const rooftopUid = findExampleSubject(service)?.rooftop.uid
  return openApiDocument({
    wire: service.wire,
    servers: { appraisal: `${service.origin}/v1`, vehicleData: service.vehicleDataOrigin },
    exampleOf: exampleFields(service),
    ...(rooftopUid === undefined ? {} : { rooftopUid }),
  })
}
