import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { stringify } from 'yaml'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { SandboxLimits } from '#src/sandbox/limits.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** How an answer is lost: it is cut off, or it never arrives. */
export type Loss = 'cut' | 'held'

export interface BillingFixture extends AsyncDisposable {
  readonly cwd: string
  readonly sandbox: Sandbox
  readonly database: TestDatabase
  /** From now on, answers to this path are lost although the sandbox executes the calls; null: no longer. */
  lose(path: string | null, loss?: Loss): void
  /** From now on, answers with status 200 to this path are changed; `nth` counts them from 1. */
  change(path: string, edit: (body: unknown, nth: number) => unknown): void
  /** Operation, subject, state and status of every billable call, in order. */
  bills(): Promise<unknown[]>
  query<T>(text: string): Promise<T[]>
  /** Lets time pass at the source and in the ledger. */
  pass(ms: number): Promise<void>
}

export interface BillingFixtureOptions {
  readonly budget?: ConfigInput['budget']
  readonly limits?: Partial<SandboxLimits>
}

/** A sandbox with evaluation 1001, and 1002 without a VIN, behind a proxy that can lose answers; a warehouse and a config. */
export async function openBillingFixture({
  budget = {},
  limits = {},
}: BillingFixtureOptions): Promise<BillingFixture> {
  const evaluations = [anEvaluation(), anEvaluation({ evalId: 1002, vin: null })]
  const clock = new VirtualClock({ start: new Date('2026-03-10T02:00:00Z') })
  const sandbox = await startSandbox({ world: worldOf({ evaluations }), clock, limits })
  const proxy = await openProxy(new URL(sandbox.baseUrl))
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const config = {
    ...sandbox.clientConfig(),
    appraisal: { baseUrl: proxy.baseUrl },
    warehouse: { url: database.url },
    sync: { start: '2026-03-01' },
    budget,
  }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  const query = async <T>(text: string) => (await database.pool.query(text)).rows as T[]
  return {
    cwd: folder.path,
    sandbox,
    database,
    lose: proxy.lose,
    change: proxy.change,
    bills: async () => {
      const rows = await query<object>(
        'select operation, natural_key, state, http_status from ops.billable_call order by call_id',
      )
      return rows.map((row) => Object.values(row))
    },
    query,
    pass: async (ms) => {
      sandbox.clock.advance(ms)
      await query(`update ops.billable_call set at = at - interval '${ms} milliseconds'`)
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.close()
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

type Edit = (body: unknown, nth: number) => unknown

/** A proxy to a service that forwards everything, except for the answers that `lose` and `change` select. */
async function openProxy(to: URL) {
  let lost: { readonly path: string | null; readonly loss: Loss } = { path: null, loss: 'cut' }
  const edits = new Map<string, { readonly edit: Edit; count: number }>()
  const server = createServer((from, back) => {
    const isLost = lost.path !== null && from.url!.endsWith(lost.path)
    const change = [...edits].find(([path]) => from.url!.endsWith(path))?.[1]
    const edit = change && ((body: unknown) => change.edit(body, ++change.count))
    forward(to, from, back, isLost ? lost.loss : (edit ?? null))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    lose: (path: string | null, loss: Loss = 'cut') => {
      lost = { path, loss }
    },
    change: (path: string, edit: Edit) => void edits.set(path, { edit, count: 0 }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

type Fault = Loss | ((body: unknown) => unknown) | null

function forward(to: URL, from: IncomingMessage, back: ServerResponse, fault: Fault): void {
  const { method, url: path, headers: sent } = from
  const headers = typeof fault === 'function' ? { ...sent, 'accept-encoding': 'identity' } : sent
  const on = request({ host: to.hostname, port: to.port, method, path, headers }, (answer) => {
    if (typeof fault === 'function' && answer.statusCode === 200) {
      void json(answer).then((body) => {
        const { date } = answer.headers
        back.writeHead(200, { 'content-type': 'application/json', ...(date && { date }) })
        back.end(JSON.stringify(fault(body)))
      })
      return
    }
    if (fault === null || typeof fault === 'function') {
      back.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(back)
      return
    }
    answer.resume()
    if (fault === 'cut') back.destroy()
  })
  on.on('error', () => back.destroy())
  from.pipe(on)
}

/** Loads the evaluations, so that checks can be loaded. */
export const syncFirst = (fixture: BillingFixture) =>
  runInProcess(['sync', 'users', 'evaluations'], fixture)

/** The command line of a PPSR search. */
export const search = (evalid = 1001) => ['api', 'ppsrsearch', '--evalid', String(evalid), '--yes']
/** The command line of a Car History report. */
export const report = ['api', 'carhistory', '--evalid', '1001', '--yes']
