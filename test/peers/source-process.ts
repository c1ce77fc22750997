import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { FaultRule } from '#src/sandbox/faults.ts'
import { isReadable } from '#src/sandbox/lifecycle.ts'
import { renderEvaluation } from '#src/sandbox/render.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire } from '#src/values/wire.ts'
import { answerMessages } from '../bench/processes/bench-process.ts'
import { fields, type Row } from './compare.ts'
import { livesOf, nightAt, type WorldPlan, worldAt } from './world.ts'

/** The source as it is in a night. */
export interface SourceOrder {
  readonly plan: WorldPlan
  readonly night: number
  /** Whether items of the list have `UpdatedAt`, by which an unchanged evaluation need not be read again. */
  readonly listShowsUpdates: boolean
  readonly faults: readonly FaultRule[]
  /** One evaluation in this number is broken: its answer is cut, it is refused with 400, or a field has another type. */
  readonly brokenEvery?: number
}

export type SourceQuestion =
  | SourceOrder
  | 'counts'
  | 'truth'
  /** Kills the process group when this number of requests have been answered. */
  | { readonly killAfter: number; readonly group: number }

export interface SourceReady {
  /** Ends in /v1. */
  readonly url: string
  readonly broken: readonly number[]
}

/** Requests since the source was opened, by path and status: `/geteval 200`. */
export type SourceCounts = Readonly<Record<string, number>>

let sandbox: Sandbox | undefined
let port = 0
let order: SourceOrder
let lives: { readonly of: string; readonly all: ReturnType<typeof livesOf> } | undefined
let counts: Record<string, number> = {}
let kill: { readonly killAfter: number; readonly group: number } | undefined

subscribe('http.server.response.finish', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
  const name = `${request.url?.replace(/^\/v1/, '')} ${response.statusCode}`
  counts[name] = (counts[name] ?? 0) + 1
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  if (kill === undefined || total < kill.killAfter) return
  const { group } = kill
  kill = undefined
  process.kill(-group, 'SIGKILL')
})

async function answer(question: SourceQuestion): Promise<unknown> {
  if (question === 'counts') {
    // A command that ended before its kill is over.
    kill = undefined
    return counts
  }
  if (question === 'truth') return truth()
  if ('plan' in question) return await open(question)
  kill = question
  return null
}

/** The same port as before, so that the config of a peer stays as it is. */
async function open(next: SourceOrder): Promise<SourceReady> {
  await sandbox?.close()
  order = next
  counts = {}
  kill = undefined
  const of = JSON.stringify(order.plan)
  if (lives?.of !== of) lives = { of, all: livesOf(order.plan) }
  const now = nightAt(order.night)
  sandbox = await startSandbox({
    port,
    vehicleDataPort: 0,
    world: worldAt(order.plan, lives.all, now),
    clock: new VirtualClock({ start: new Date(now * 1000), frozen: true }),
    listCarriesUpdatedAt: order.listShowsUpdates,
  })
  port = sandbox.port
  const broken = breakSome(sandbox, order.brokenEvery)
  for (const rule of order.faults) sandbox.faults.add(rule)
  return { url: sandbox.baseUrl, broken }
}

function breakSome({ world, faults }: Sandbox, every = Infinity): number[] {
  const ids = [...world.evaluations()].map(({ evalId }) => evalId)
  const broken = ids.filter((_, at) => at % every === Math.floor(every / 2))
  broken.forEach((evalId, nth) => {
    if (nth % 3 === 0) world.poison(evalId, { Odometer: { km: 48_000 }, FinalPrice: 'on request' })
    else
      faults.add({
        match: { path: '/geteval', evalId },
        fault: nth % 3 === 1 ? { kind: 'truncate' } : { kind: 'status', status: 400 },
      })
  })
  return broken
}

/** Every evaluation that can be read now, as `/geteval` answers it. */
function truth(): Row[] {
  const { world, clock } = sandbox!
  const now = clock.now()
  const rendering = {
    wire: defaultWire.appraisal,
    photoBaseUrl: '',
    listCarriesUpdatedAt: order.listShowsUpdates,
  }
  return [...world.evaluations()]
    .filter((evaluation) => isReadable(evaluation, now))
    .map((evaluation) => {
      const all = renderEvaluation(world, evaluation, rendering, now)
      const document = Object.fromEntries(Object.keys(fields).map((name) => [name, all[name]]))
      return { dealer: evaluation.rooftopUid, id: evaluation.evalId, document }
    })
}

answerMessages((question) => answer(question as SourceQuestion))
