import { expect } from 'vitest'
import { HttpSource, type HttpSourceOptions } from '#src/api/sources/http.ts'
import { KeyLimiter } from '#src/api/sources/limiter.ts'
import { SyncError } from '#src/errors.ts'
import { type Answerer, FakeSource } from './fake-source.ts'

type Settings = Partial<HttpSourceOptions>

/** Starts a server and a client for it, and closes both. */
export async function withSource(
  answer: Answerer,
  use: (http: HttpSource, source: FakeSource) => Promise<void>,
  settings: Settings = {},
): Promise<void> {
  await using source = await FakeSource.start(answer)
  const http = sourceAt(source.baseUrl, settings)
  try {
    await use(http, source)
  } finally {
    await http.close()
  }
}

/** A client without jitter: it retries at once. */
export function sourceAt(baseUrl: string, settings: Settings = {}): HttpSource {
  return new HttpSource({
    baseUrl,
    setting: 'appraisal.baseUrl',
    connections: 4,
    timeoutSeconds: 5,
    maxRetries: 3,
    now: () => new Date(),
    random: () => 0,
    ...settings,
  })
}

/** A read with a key. */
export function post(limiter = new KeyLimiter({ max: 4 })) {
  return {
    method: 'POST',
    path: '/read',
    route: '/read',
    headers: { authorization: 'Bearer sekret-key-1' },
    body: '{}',
    limiter,
  } as const
}

/** The SyncError that a call rejects with. */
export async function faultOf(call: Promise<unknown>): Promise<SyncError> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SyncError)
  return error as SyncError
}
