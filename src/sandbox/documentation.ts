import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { exampleFields, findExampleSubject } from './examples.ts'
import { isBearer, openApiDocument } from './openapi.ts'
import { pagePolicy, sandboxPage } from './page.ts'
import type { SandboxState } from './sandbox-state.ts'

const folder = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

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
  const rooftopUid = findExampleSubject(service)?.rooftop.uid
  return openApiDocument({
    wire: service.wire,
    servers: { appraisal: `${service.origin}/v1`, vehicleData: service.vehicleDataOrigin },
    exampleOf: exampleFields(service),
    ...(rooftopUid === undefined ? {} : { rooftopUid }),
  })
}

function serveViewerFiles(app: FastifyInstance): void {
  const tag = viewerTag()
  for (const [name, type] of Object.entries(viewerFiles))
    app.get(`/docs/${name}`, (request, reply) => {
      reply.header('cache-control', 'public, max-age=86400').header('etag', tag)
      if (request.headers['if-none-match'] === tag) return reply.code(304).send()
      return reply.type(type).send(readFileSync(path.join(folder, name)))
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

/** The only files of the viewer that are served. */
const viewerFiles = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const

/** An ETag from the version of the viewer, the only thing on which its files depend. */
function viewerTag(): string {
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  return `"swagger-ui-${version}"`
}

/** The page of the viewer. */
const viewerPage = `<!doctype html>
<html lang="en-AU">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Forecourt sandbox: API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const viewerOptions = {
  dom_id: '#swagger-ui',
  layout: 'BaseLayout',
  deepLinking: true,
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // The default validator is on another host.
  validatorUrl: null,
}

/** The script that starts the viewer, already authorised with keys of this world. */
function viewerScript(service: SandboxState): string {
  const keys = { appraisal: appraisalKey(service), vehicleData: service.vehicleDataKey }
  return `const keys = ${JSON.stringify(keys)}
// Form fields without an example start empty and are not sent: otherwise the viewer would fill in guesses.
const emptied = (spec) => {
  for (const operation of Object.values(spec.paths).flatMap(Object.values)) {
    const form = operation.requestBody?.content['multipart/form-data']
    for (const field of Object.values(form?.schema.properties ?? {})) {
      // Otherwise the viewer would ask for a file.
      if (field.contentMediaType === 'application/json') delete field.contentMediaType
      if (field.type !== 'array' && !field.contentMediaType) field.examples ??= ['']
    }
  }
  return spec
}
const requestInterceptor = (request) => {
  if (request.body instanceof FormData)
    for (const [name, value] of [...request.body]) if (value === '') request.body.delete(name)
  return request
}
const start = async () => {
  const spec = emptied(await (await fetch('/openapi.json')).json())
  const ui = SwaggerUIBundle({ ...${JSON.stringify(viewerOptions)}, spec, requestInterceptor })
  for (const [name, key] of Object.entries(keys)) if (key) ui.preauthorizeApiKey(name, key)
}
start()
`
}

/** The value that the viewer must send: it adds the prefix of a bearer token, but no other prefix. */
function appraisalKey(service: SandboxState): string | null {
  const { appraisal } = service.wire
  const value = findExampleSubject(service)?.key.value
  if (value === undefined) return null
  return isBearer(appraisal) ? value : appraisal.authPrefix + value
}
