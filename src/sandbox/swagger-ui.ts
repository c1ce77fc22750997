import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { findExampleSubject } from './example-calls.ts'
import { isBearer } from './openapi.ts'
import { html } from './page-html.ts'
import type { SandboxState } from './sandbox-state.ts'

const folder = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** The only files of the viewer that are served. */
export const viewerFiles = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const
export type ViewerFile = keyof typeof viewerFiles

/** The bytes of a file of the viewer. */
export function viewerFile(name: ViewerFile): Buffer {
  return readFileSync(path.join(folder, name))
}

/** An ETag from the version of the viewer, the only thing on which its files depend. */
export function viewerTag(): string {
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  return `"swagger-ui-${version}"`
}

/** The page of the viewer. */
export const viewerPage = html`<!doctype html>
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
`.text

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
export function viewerScript(service: SandboxState): string {
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
