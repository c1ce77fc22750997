import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { barePath, pathFields, type ServiceName } from '../api/contract/operation.ts'
import { defaultWire, type WireSettings } from '../values/wire.ts'
import { readClaim } from './access.ts'
import { answerRequest } from './answer.ts'
import type { Endpoint } from './call.ts'
import { Checks, generateChecks } from './checks.ts'
import { type ClientConfig, clientConfigFor, sandboxVehicleDataKey } from './client-config.ts'
import { VirtualClock } from './clock.ts'
import { serveControls } from './controls.ts'
import { serveAbout } from './documentation.ts'
import { FaultPlan, type FaultRule } from './faults.ts'
import { generateWorld, type WorldPlan } from './generate-world.ts'
import { Images } from './images.ts'
import { Jobs } from './jobs.ts'
import { Limits, type SandboxLimits } from './limits.ts'
import { Reasoning } from './reasoning.ts'
import type { Rendering } from './render.ts'
import { readJsonBody } from './request-body.ts'
import { loggedPath, RequestLog } from './request-log.ts'
import { checkEndpoints, serveCheckPdfs } from './routes/checks.ts'
import { creationEndpoints } from './routes/creation.ts'
import { evaluationEndpoints } from './routes/evaluations.ts'
import { photoEndpoints, servePhotoFiles } from './routes/photos.ts'
import { updateEndpoints } from './routes/update.ts'
import { vehicleDataEndpoints } from './routes/vehicle-data.ts'
import { webhookEndpoints } from './routes/webhooks.ts'
import type { SandboxState } from './sandbox-state.ts'
import { Webhooks } from './webhooks.ts'
import type { World } from './world.ts'

/** How to start the sandbox; everything has a default. The size of the world counts only without `world`: of seed 1, with 6 rooftops
 *  and 2000 evaluations in the 90 days that end with `now`, by default the time of the clock, else ours. Lists show update times. */
export interface SandboxOptions
  extends Partial<Omit<WorldPlan, 'generatedUser'>>,
    Partial<Readonly<Omit<Rendering, 'wire'>>> {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free one. */
  readonly port?: number
  readonly world?: World
  /** Default: one that runs from `now`. */
  readonly clock?: VirtualClock
  readonly faults?: readonly FaultRule[]
  /** Of the vehicle-data APIs; default: the port after `port`, or any free one when `port` is 0. */
  readonly vehicleDataPort?: number
  /** Default: the default wire settings of the client. */
  readonly wire?: WireSettings
  /** Quotas and throttles, which the documents state without a number. */
  readonly limits?: Partial<SandboxLimits>
}

/** A running sandbox. */
export interface Sandbox
  extends Pick<
    SandboxState,
    'world' | 'clock' | 'faults' | 'requests' | 'checks' | 'webhooks' | 'vehicleDataKey'
  > {
  /** `http://<host>:<port>/v1`. */
  readonly baseUrl: string
  /** `http://<host>:<port>`: paths of the vehicle-data APIs begin with /v1 [V §4]. */
  readonly vehicleDataUrl: string
  readonly port: number
  /** The parts of `forecourt.yaml` with which a client uses this sandbox. */
  clientConfig(): ClientConfig
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts both documented services on loopback [A §4 to §7, V §4 to §7]. Error when a port is taken. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', port = 0 } = options
  const service = createService(options)
  const { world, clock, faults, requests, checks, webhooks, vehicleDataKey } = service
  const appraisal = serverFor(service, 'appraisal')
  const vehicleData = serverFor(service, 'vehicleData')
  const close = async () => {
    await Promise.all([appraisal.close(), vehicleData.close(), service.webhooks.close()])
  }
  const origin = await listen(appraisal, host, port)
  const second = options.vehicleDataPort ?? (port === 0 ? 0 : port + 1)
  const vehicleDataUrl = await listen(vehicleData, host, second).catch(async (error: Error) => {
    await close()
    throw error
  })
  // Known only now: with port 0 the system chooses the port.
  service.origin = origin
  service.vehicleDataOrigin = vehicleDataUrl
  service.rendering.photoBaseUrl ||= origin
  const baseUrl = `${origin}/v1`
  return {
    baseUrl,
    vehicleDataUrl,
    vehicleDataKey,
    port: Number(new URL(origin).port),
    world,
    clock,
    faults,
    requests,
    checks,
    webhooks,
    clientConfig: () => clientConfigFor(world, { baseUrl, vehicleDataUrl, vehicleDataKey }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function createService(options: SandboxOptions): SandboxState {
  const { seed = 1, wire = defaultWire } = options
  const now = options.now ?? options.clock?.now() ?? new Date()
  const { rooftops = 6, evaluations = 2000, days = 90 } = options
  const { generatedUser } = wire.appraisal
  const clock = options.clock ?? new VirtualClock({ start: now })
  const world =
    options.world ?? generateWorld({ seed, rooftops, evaluations, days, now, generatedUser })
  const rendering = {
    wire: wire.appraisal,
    photoBaseUrl: options.photoBaseUrl ?? '',
    listCarriesUpdatedAt: options.listCarriesUpdatedAt ?? true,
    decoys: options.decoys,
  }
  return {
    world,
    clock,
    wire,
    rendering,
    faults: new FaultPlan(options.faults, seed),
    requests: new RequestLog(),
    limits: new Limits(clock, options.limits),
    checks: new Checks(options.world ? [] : generateChecks(seed, world)),
    images: new Images(),
    reasoning: new Reasoning(),
    webhooks: new Webhooks({ world, clock, rendering }),
    jobs: new Jobs(),
    vehicleDataKey: sandboxVehicleDataKey,
    origin: '',
    vehicleDataOrigin: '',
  }
}

const formBytes = 32 * 1024 * 1024
const jsonBytes = 1024 * 1024
/** The longest time in which a request must have arrived, read or not. */
const requestTimeout = 300_000

function serverFor(service: SandboxState, name: ServiceName): FastifyInstance {
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: jsonBytes,
    requestTimeout,
    frameworkErrors: (error, _request, reply) => {
      const answer = reply as FastifyReply
      answer.code(400).header('date', service.clock.now().toUTCString())
      answer.send({ error: `The address cannot be read: ${error.message}` })
    },
  })
  // Bodies arrive as bytes: the endpoint decides what an empty or broken one means.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onSend', async (_request, reply) => {
    reply.header('date', service.clock.now().toUTCString())
  })
  app.setNotFoundHandler((request, reply) => {
    logUnknown(service, request)
    reply.code(404).send({ error: `Nothing answers to ${request.method} ${request.url}` })
  })
  app.setErrorHandler(async (error: Error & { statusCode?: number }, _request, reply) => {
    // A client that is cut off while it sends never reads the answer. On a connection that stays open, Node reads the rest.
    if (error.statusCode === 413) reply.removeHeader('connection')
    return reply.code(error.statusCode ?? 500).send({ error: error.message })
  })
  serveAbout(app, service)
  for (const endpoint of endpoints) {
    if (endpoint.operation.service !== name) continue
    const { method, path, encoding } = endpoint.operation.transport(service.wire)
    app.route({
      method,
      url: routePath(name, path),
      bodyLimit: encoding === 'form' ? formBytes : jsonBytes,
      handler: (request, reply) => answerRequest(service, endpoint, request, reply),
    })
  }
  if (name === 'appraisal') {
    servePhotoFiles(app, service)
    serveCheckPdfs(app, service)
    serveControls(app, service)
  }
  return app
}

/** Paths of the appraisal service are relative to {base_url}, which ends in /v1; paths of the vehicle-data APIs begin with /v1. */
function routePath(name: ServiceName, path: string): string {
  const bare = barePath(path)
  const named = pathFields(bare).reduce(
    (url, field) => url.replace(`{${field}}`, `:${field}`),
    bare,
  )
  return name === 'appraisal' ? `/v1${named}` : named
}

/** Calls of unknown paths are logged too, so that a test can see them. */
function logUnknown(
  { world, rendering, requests, clock }: SandboxState,
  request: FastifyRequest,
): void {
  const { name, rooftopUid } = readClaim(request.headers, world, rendering.wire)
  const path = loggedPath(request.url)
  const { sent } = readJsonBody(request.body, request.headers['content-type'])
  requests.add({ path, key: name, rooftopUid, body: sent, status: 404, at: clock.now() })
}

/** Starts listening and returns the origin. */
async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new Error(
      `Cannot start the sandbox: port ${port} on ${host} is taken by another program ` +
        '(perhaps another sandbox). Stop that one, or choose another --port; 0 takes any free one.',
      { cause: error },
    )
  }
  const address = app.server.address()
  const chosen = typeof address === 'object' && address !== null ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${chosen}`
}

/** Every operation that the sandbox serves. */
const endpoints: readonly Endpoint[] = [
  ...creationEndpoints,
  ...updateEndpoints,
  ...photoEndpoints,
  ...checkEndpoints,
  ...evaluationEndpoints,
  ...webhookEndpoints,
  ...vehicleDataEndpoints,
]
