import type { FastifyInstance } from 'fastify'
import { baseUrlOf, exampleCalls, findExampleSubject } from '../example-calls.ts'
import { openApiDocument } from '../openapi.ts'
import { pagePolicy, sandboxPage } from '../page.ts'
import type { SandboxState } from '../sandbox-state.ts'
import {
  type ViewerFile,
  viewerFile,
  viewerFiles,
  viewerPage,
  viewerScript,
  viewerTag,
} from '../swagger-ui.ts'

/** Serves the documentation of the sandbox on both origins: the page at the root, the OpenAPI document and its viewer. Pages of
 *  this machine may call the services, so that the viewer can call the other origin. */
export function serveAbout(app: FastifyInstance, service: SandboxState): void {
  admitLocalPages(app)
  app.get('/', (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', pagePolicy)
      .send(sandboxPage(service)),
  )
  app.get('/openapi.json', (_request, reply) => reply.send(describe(service)))
  app.get('/docs', (_request, reply) => reply.type('text/html; charset=utf-8').send(viewerPage))
  app.get('/docs/start.js', (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(viewerScript(service)),
  )
  serveViewerFiles(app)
}

function describe(service: SandboxState) {
  const exampleOf = exampleCalls(service)
  const rooftopUid = findExampleSubject(service)?.rooftop.uid
  return openApiDocument({
    wire: service.wire,
    servers: {
      appraisal: baseUrlOf(service, { service: 'appraisal' }),
      vehicleData: baseUrlOf(service, { service: 'vehicleData' }),
    },
    exampleOf: (operation) => exampleOf(operation).fields,
    ...(rooftopUid === undefined ? {} : { rooftopUid }),
  })
}

function serveViewerFiles(app: FastifyInstance): void {
  const tag = viewerTag()
  for (const [name, type] of Object.entries(viewerFiles) as [ViewerFile, string][])
    app.get(`/docs/${name}`, (request, reply) => {
      reply.header('cache-control', 'public, max-age=86400').header('etag', tag)
      if (request.headers['if-none-match'] === tag) return reply.code(304).send()
      return reply.type(type).send(viewerFile(name))
    })
}

/** Browsers ask before a page of one port calls another; pages of other hosts are not admitted. */
function admitLocalPages(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin, 'access-control-request-headers': wanted } = request.headers
    if (origin === undefined || !isLocal(origin)) return
    reply.header('access-control-allow-origin', origin).header('vary', 'origin')
    if (request.method !== 'OPTIONS') return
    reply.header('access-control-allow-methods', 'GET, POST, PUT, DELETE')
    if (wanted !== undefined) reply.header('access-control-allow-headers', wanted)
    return reply.code(204).send()
  })
}

function isLocal(origin: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(origin)
}
