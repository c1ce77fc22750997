import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { FieldValues, Operation, Region } from '../api/contract/operation.ts'
import { type Content, Html, html } from '../values/html.ts'
import { changedSettings, defaultWire } from '../values/wire.ts'
import { faultKinds } from './faults.ts'
import { fieldsAt, isReadable } from './lifecycle.ts'
import { openApiDocument } from './openapi.ts'
import { samples } from './samples.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { World } from './world.ts'
import type { ApiKey, Evaluation, Rooftop } from './world-types.ts'

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

// The page at the root: the world and the controls, which the OpenAPI document does not show. It works without a script.

function code(text: string): Html {
  return html`<code>${text}</code>`
}

function section(id: string, title: string, ...content: readonly Content[]): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>
`
}

/** A table that scrolls sideways where it is too wide. */
function table(headings: readonly string[], rows: readonly (readonly Content[])[]): Html {
  return html`<div class="table" tabindex="0"><table>
<thead><tr>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody>
</table></div>`
}

const style = `
:root { color-scheme: light dark; --line: #8884; --muted: #667085; --accent: light-dark(#0b5fae, #7cb8f5); }
body { max-width: 76rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; font: 16px/1.55 system-ui, sans-serif; }
h1 { margin-bottom: 0; } h2 { margin: 2.4rem 0 .4rem; font-size: 1.3rem; } p { margin: .3rem 0 .9rem; max-width: 48rem; }
a { color: var(--accent); } nav a { margin-right: 1rem; }
code { font: .875em ui-monospace, Menlo, Consolas, monospace; user-select: all; white-space: pre-wrap; overflow-wrap: anywhere; }
.table { margin: .8rem 0 1.3rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .42rem .9rem; text-align: left; vertical-align: top; } td { border-top: 1px solid var(--line); }
th { color: var(--muted); font-size: .82rem; white-space: nowrap; }
`

/** Allows only the style of the page itself, and loads nothing. */
const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** The page: one document without further requests. */
function sandboxPage(service: SandboxState): string {
  const { world, clock } = service
  return html`<!doctype html>
<html lang="en-AU">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Forecourt sandbox</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<h1>Forecourt sandbox</h1>
<p>Both documented services on this machine, with a made-up world behind them: ${world.rooftops.length} rooftops,
  ${world.size.toLocaleString('en')} evaluations, its time ${clock.now().toISOString().slice(0, 19)}Z. Nothing here is
  real, and nothing costs money.</p>
<nav><a href="/openapi.json">Every operation, in OpenAPI 3.1</a></nav>
${servicesSection(service)}${keysSection(service)}${samplesSection}${controlsSection(service)}
${requestsSection(service)}${wireSection(service)}
<p>Sources: [A §n] the document of the appraisal service, [V §n] that of the vehicle-data APIs.</p>
</body>
</html>
`.text
}

function servicesSection({ origin, vehicleDataOrigin, wire }: SandboxState): Html {
  const { authHeader, authPrefix } = wire.appraisal
  const partner = html`; with a partner key also ${code('X-Dealer-Id: <rooftop uid>')}`
  return section(
    'services',
    'Services',
    table(
      ['service', 'base URL', 'headers', 'source'],
      [
        [
          'Appraisal service',
          code(`${origin}/v1`),
          [code(`${authHeader}: ${authPrefix}<key>`), partner],
          '[A §5]',
        ],
        [
          'Vehicle-data APIs (paths begin with /v1)',
          code(vehicleDataOrigin),
          code('Authorization: <key>'),
          '[V §5]',
        ],
      ],
    ),
  )
}

const shownRooftops = 60

function keysSection({ world, vehicleDataKey }: SandboxState): Html {
  const { rooftops } = world
  const keys = world.keys
    .slice(0, shownRooftops)
    .map(({ name, value, kind, region, rooftopUids, user }) => [
      ...[name, code(value), kind, region, rooftopUids.length],
      user === null ? 'linked' : code(user),
    ])
  const rows = rooftops
    .slice(0, shownRooftops)
    .map(({ uid, name, dealerId, region, timezone, currency }) => [
      ...[name, code(uid), dealerId, region, timezone, currency],
      world.keys.find(({ rooftopUids }) => rooftopUids.includes(uid))?.name ?? 'none',
    ])
  const more = rooftops.length - rows.length
  return section(
    'keys',
    'Keys and rooftops',
    html`<p>A key with a user in this table has no linked user: send this user as ${code('user')} with
  ${code('/geteval')} [A §4].</p>`,
    table(
      ['name', 'key', 'kind', 'region', 'rooftops', 'user'],
      [...keys, ['vehicle-data', code(vehicleDataKey), '–', 'any', '–', '–']],
    ),
    table(['rooftop', 'uid', 'DealerID', 'region', 'time zone', 'currency', 'key'], rows),
    more > 0 ? html`<p>… and ${more} more.</p>` : null,
  )
}

const samplesSection = section(
  'samples',
  'Sample VINs',
  html`<p>They behave the same in every world, and use no look-up quota. An image of a VIN is really decoded, but its VIN
  is taken from its file name, e.g. ${code('SAMPLEGCC00000001.jpg')}.</p>`,
  table(
    ['VIN', 'region', 'what it shows'],
    Object.values(samples).map(({ vin, region, shows }) => [code(vin), region, shows]),
  ),
)

/** Path, effect and an example body of each control; for what happens at the real service without a call. */
function controls(evalid: number): [path: string, does: string, body?: object][] {
  const fault = { match: { path: '/geteval' }, times: 1, fault: { kind: 'status', status: 503 } }
  return [
    ['GET /clock', 'shows the virtual time, which the whole sandbox uses'],
    ['POST /clock', 'moves it: advanceSeconds, or set to an instant', { advanceSeconds: 86_400 }],
    ['POST /export', 'presses Export in the app: sends ON_EXPORT webhooks', { evalid }],
    ['POST /drive', 'ends a drive: sends ON_DRIVE_COMPLETED webhooks', { evalid }],
    ['GET /deliveries', 'lists what was delivered to webhooks'],
    [
      'POST /deliveries',
      'loses, doubles or delays shares of the later deliveries',
      { lose: 0.1, double: 0.1, late: 0.1 },
    ],
    ['GET /requests', 'counts the answered requests by path'],
    ['GET /limits', 'shows the quotas and throttles in force'],
    ['POST /limits', 'changes some of them, e.g. to get a 429', { lookupsPerDay: 10 }],
    ['POST /faults', 'adds a fault, of one of the kinds below', fault],
    ['DELETE /faults', 'clears every fault'],
  ]
}

function controlsSection(service: SandboxState): Html {
  const all = controls(findExampleSubject(service)?.evaluation?.evalId ?? 1001)
  const rows = all.map(([control, does, body]) => {
    const [method = '', path = ''] = control.split(' ')
    const json = "-H 'Content-Type: application/json' -d"
    const sent = body === undefined ? '' : ` ${json} '${JSON.stringify(body)}'`
    return [does, code(`curl -X ${method} '${service.origin}/sandbox${path}'${sent}`)]
  })
  return section(
    'controls',
    'Controls',
    html`<p>Not part of the documented services: JSON without a key, answered only to this machine.</p>`,
    table(['what it does', 'command'], rows),
    table(
      ['kind of fault', 'its settings'],
      faultKinds.map(({ kind, settings }) => [code(kind), settings.join(', ')]),
    ),
  )
}

function requestsSection({ requests }: SandboxState): Html {
  const rows = Object.entries(requests.counts()).map(([path, count]) => [code(path), count])
  return section('requests', `Answered requests: ${requests.count()}`, table(['path', ''], rows))
}

function wireSection({ wire }: SandboxState): Html {
  const changed = changedSettings(wire, defaultWire).map(({ path, value, defaultValue }) => [
    ...[`wire.${path}`, JSON.stringify(value), JSON.stringify(defaultValue)].map(code),
  ])
  return section(
    'wire',
    'Wire names',
    html`<p>Names that the documents do not show: the ${code('wire')} section of the config. Here
  ${changed.length === 0 ? 'all of them are at their defaults.' : `${changed.length} differ from the default.`}</p>`,
    changed.length === 0 ? null : table(['setting', 'value', 'default'], changed),
  )
}

/** The key, rooftop and evaluation of an example. */
interface ExampleSubject {
  readonly key: ApiKey
  readonly rooftop: Rooftop
  /** Null where the world has no completed evaluation that the key may read. */
  readonly evaluation: Evaluation | null
}

/** The fields of an example of each operation, by our names, with ids that exist in the current world. */
function exampleFields(service: SandboxState): (operation: Operation) => FieldValues {
  const subjects = new Map<string, ExampleSubject | null>()
  return (operation) => {
    if (operation.service !== 'appraisal') return operation.example
    const region = operation.region ?? 'any'
    if (!subjects.has(region)) subjects.set(region, findExampleSubject(service, region))
    return fieldsFor(operation, subjects.get(region) ?? null, service.clock.now())
  }
}

/** A key of the region with a rooftop and a completed evaluation that it reads; null in a world without keys. */
function findExampleSubject(
  { world, clock }: SandboxState,
  region: Region | 'any' = 'any',
): ExampleSubject | null {
  const now = clock.now()
  const keys = world.keys
    .filter((key) => region === 'any' || key.region === region)
    .toSorted((a, b) => Number(a.linkedUserId === null) - Number(b.linkedUserId === null))
  for (const key of keys) {
    const covered = key.rooftopUids.flatMap((uid) => world.rooftop(uid) ?? [])
    const evaluation = fullEvaluation(world, covered, now)
    const rooftop =
      covered.find(({ uid }) => uid === evaluation?.rooftopUid) ??
      covered.find(({ carHistory }) => carHistory !== false) ??
      covered[0]
    if (rooftop !== undefined) return { key, rooftop, evaluation }
  }
  return null
}

/** An evaluation with data for every operation, if there is one. */
function fullEvaluation(world: World, rooftops: readonly Rooftop[], now: Date): Evaluation | null {
  const uids = new Set(
    rooftops.filter(({ carHistory }) => carHistory !== false).map(({ uid }) => uid),
  )
  let any: Evaluation | null = null
  for (const evaluation of world.evaluations()) {
    if (!uids.has(evaluation.rooftopUid) || !isReadable(evaluation, now)) continue
    const { photos, vin, odometer } = fieldsAt(evaluation, now)
    if (photos.length > 1 && vin?.length === 17 && odometer) return evaluation
    any ??= evaluation
  }
  return any
}

function fieldsFor(operation: Operation, subject: ExampleSubject | null, now: Date): FieldValues {
  const { name, example } = operation
  // A key without a linked user must send the user on whose behalf it reads [A §4 /geteval].
  const needsUser = name === 'geteval' && subject !== null && subject.key.linkedUserId === null
  const user = needsUser ? { user: subject.key.user } : {}
  const evaluation = subject?.evaluation ?? null
  if (evaluation === null) return { ...example, ...user }
  const photoIds = fieldsAt(evaluation, now).photos.map(({ id }) => id)
  const real: FieldValues = {
    evalid: evaluation.evalId,
    ...(photoIds.length === 0 ? {} : { ids: photoIds.toReversed(), imgid: photoIds[0] }),
  }
  const replaced = Object.entries(example).map(([field, value]) => [field, real[field] ?? value])
  return { ...Object.fromEntries(replaced), ...user }
}
