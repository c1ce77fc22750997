import type { Config } from '#src/app/config/read.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import type { SandboxOptions } from '#src/sandbox/server.ts'
import type { WebhookEvent } from '#src/sandbox/webhooks.ts'
import { startServer } from '#src/web/serve/server.ts'
import { consumeHints } from '#src/web/webhook/consume.ts'
import { type Fixture, openFixture, openSecondContext } from '../../support/fixture.ts'

export const secret = 'canary-webhook-secret-1'
export const former = 'canary-webhook-secret-0'
export const now = new Date('2026-03-10T00:00:00Z')
export const minuteMs = 60_000

/** A fixture whose server receives webhooks, and what was logged. */
export interface WebhookFixture extends AsyncDisposable {
  readonly fixture: Fixture
  readonly url: string
  readonly logged: readonly string[]
  readonly context: Context
  /** Posts a delivery; the secret and the type are right by default. */
  post(body: unknown, more?: { path?: string; headers?: Record<string, string> }): Promise<Response>
  /** Subscribes a rooftop at the sandbox, as "webhooks apply" would. */
  subscribe(event?: WebhookEvent, rooftopUid?: string): void
  /** Loads what the inbox holds, until `stop` or the end of the fixture. */
  consume(): { readonly stop: () => Promise<void> }
  rows(query: string): Promise<Record<string, unknown>[]>
  /** Resolves when nothing waits in the inbox. */
  settled(): Promise<void>
}

export async function openWebhookFixture(
  sandbox: Partial<SandboxOptions> = {},
  webhooks: Partial<Config['webhooks']> = {},
  requestTimeoutMs?: number,
): Promise<WebhookFixture> {
  const fixture = await openFixture({ sandbox: { now, ...sandbox } })
  const logged: string[] = []
  const write = (line: string) => void logged.push(line)
  const log = openLog({ level: 'debug', human: false, secrets: [], write })
  const stop = new AbortController()
  const config = {
    ...fixture.config,
    webhooks: { ...fixture.config.webhooks, authHeaderValue: secret, ...webhooks },
  }
  const own = await openSecondContext(fixture)
  const context: Context = { ...own, config, log, signal: stop.signal }
  const server = await startServer(context, {
    ...{ host: '127.0.0.1', port: 0, token: null },
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
  })
  const running: Promise<void>[] = []
  const { pool } = fixture.database
  const rows = async (query: string) => (await pool.query<Record<string, unknown>>(query)).rows
  return {
    fixture,
    url: server.url,
    logged,
    context,
    rows,
    post: (body, { path = '/webhooks', headers = {} } = {}) =>
      fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forecourt-token': secret, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    subscribe(event = 'ON_COMPLETE', rooftopUid = 'rooftop-1') {
      fixture.sandbox.webhooks.add({
        rooftopUid,
        type: event === 'ON_DRIVE_COMPLETED' ? 'drive' : 'eval',
        event,
        url: `${server.url}/webhooks/${event}/${rooftopUid}`,
        authHeaderName: 'X-Forecourt-Token',
        authHeaderValue: secret,
      })
    },
    consume() {
      const ended = new AbortController()
      const signal = AbortSignal.any([ended.signal, stop.signal])
      const done = consumeHints({ ...context, signal })
      running.push(done)
      return {
        stop: async () => {
          ended.abort()
          await done
        },
      }
    },
    async settled() {
      for (;;) {
        const [row] = await rows(
          "select count(*)::int as waiting from ops.webhook_delivery where state = 'waiting'",
        )
        if (row!['waiting'] === 0) return
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await Promise.all(running)
      await server.close()
      await own[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}
