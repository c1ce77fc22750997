import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { type AppraisalWire, defaultWire } from '../values/wire.ts'
import { readClaim } from './access.ts'
import { answerRequest, type Service } from './answer.ts'
import { type EndpointTable, readBody } from './call.ts'
import { type ClientConfig, clientConfigFor } from './client-config.ts'
import { VirtualClock } from './clock.ts'
import { FaultPlan, type FaultRule } from './faults.ts'
import { generateWorld } from './generate-world.ts'
import { RequestLog } from './request-log.ts'
import { evaluationEndpoints } from './routes/evaluations.ts'
import { photoEndpoints, servePhotoFiles } from './routes/photos.ts'
import { userEndpoints } from './routes/users.ts'
import type { World } from './world.ts'

/** How to start the sandbox; everything has a default. */
export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free one. */
  readonly port?: number
  /** Default 1. */
  readonly seed?: number
  /** Default 6; not read with `world`, nor are the next two. */
  readonly rooftops?: number
  /** In every state; default 2000. */
  readonly evaluations?: number
  /** Length of the history; default 90. */
  readonly days?: number
  /** End of the generated history and start of the clock; default: the clock's time, else ours. */
  readonly now?: Date
  readonly world?: World
  /** Default: one that runs from `now`. */
  readonly clock?: VirtualClock
  readonly faults?: readonly FaultRule[]
  /** Default: what the client reads when nothing is overridden. */
  readonly wire?: AppraisalWire
  /** Whether list items carry an update time; default true. */
  readonly listCarriesUpdatedAt?: boolean
  /** What signed photo links begin with; default: the sandbox's own address, which serves them. */
  readonly photoBaseUrl?: string
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://<host>:<port>/v1`. */
  readonly baseUrl: string
  readonly port: number
  readonly world: World
  readonly clock: VirtualClock
  readonly faults: FaultPlan
  readonly requests: RequestLog
  /** The parts of `forecourt.yaml` that make a client speak to this sandbox. */
  clientConfig(): ClientConfig
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const endpoints: EndpointTable = { ...evaluationEndpoints, ...userEndpoints, ...photoEndpoints }

/** Starts the appraisal service on loopback. Error when the port is taken. Source: appraisal §4, §5, §7. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', seed = 1, wire = defaultWire.appraisal } = options
  const now = options.now ?? options.clock?.now() ?? new Date()
  const { rooftops = 6, evaluations = 2000, days = 90 } = options
  const { generatedUser } = wire
  const world =
    options.world ?? generateWorld({ seed, rooftops, evaluations, days, now, generatedUser })
  const clock = options.clock ?? new VirtualClock({ start: now })
  const service = {
    world,
    clock,
    rendering: {
      wire,
      photoBaseUrl: options.photoBaseUrl ?? '',
      listCarriesUpdatedAt: options.listCarriesUpdatedAt ?? true,
    },
    faults: new FaultPlan(options.faults, seed),
    requests: new RequestLog(),
  }
  const app = serverFor(service)
  const port = await listen(app, host, options.port ?? 0)
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  // Known only now: with port 0 the system chooses.
  service.rendering.photoBaseUrl ||= origin
  const baseUrl = `${origin}/v1`
  const close = () => app.close()
  return {
    baseUrl,
    port,
    world,
    clock,
    faults: service.faults,
    requests: service.requests,
    clientConfig: () => clientConfigFor(world, baseUrl),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function serverFor(service: Service): FastifyInstance {
  const app = fastify({ forceCloseConnections: true })
  // Bodies arrive as text: the endpoint decides what an empty or broken one means.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addHook('onSend', async (_request, reply) => {
    reply.header('date', service.clock.now().toUTCString())
  })
  app.setNotFoundHandler((request, reply) => {
    logUnknown(service, request)
    reply.code(404).send({ error: `Nothing answers to ${request.method} ${request.url}` })
  })
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    reply.code(error.statusCode ?? 500).send({ error: error.message })
  })
  for (const [path, answer] of Object.entries(endpoints)) {
    app.post(`/v1${path}`, (request, reply) =>
      answerRequest(service, { path, answer }, request, reply),
    )
  }
  servePhotoFiles(app, service.clock)
  return app
}

/** A call of something that is not there is logged too, so that a test can see it. */
function logUnknown({ world, rendering, requests, clock }: Service, request: FastifyRequest): void {
  const { key, rooftopUid } = readClaim(request.headers, world, rendering.wire)
  const path = request.url.replace(/^\/v1(?=\/)/, '').replace(/\?.*/, '')
  const { body } = readBody(request.body, request.headers['content-type'])
  const at = clock.now()
  requests.add({ path, key: key?.name ?? null, rooftopUid, body, status: 404, at })
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<number> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new Error(
      `Cannot start the sandbox: port ${port} on ${host} is taken by another program ` +
        '(perhaps another sandbox). Stop that one, or choose another port; 0 takes any free one.',
      { cause: error },
    )
  }
  const address = app.server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}
