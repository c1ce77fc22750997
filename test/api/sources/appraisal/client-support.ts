import { inspect } from 'node:util'
import { afterEach, expect } from 'vitest'
import { AppraisalClient } from '#src/api/sources/appraisal/client.ts'
import type { AccessKey, RooftopAccess } from '#src/api/sources/calls.ts'
import { KeyRate } from '#src/api/sources/key-rate.ts'
import type { KeyLimiter } from '#src/api/sources/limiter.ts'
import { SyncError } from '#src/errors.ts'
import { type AppraisalWire, defaultWire } from '#src/values/wire.ts'
import { type Answerer, FakeSource } from '../fake-source.ts'

export const partner: AccessKey = {
  name: 'group-au',
  value: 'sekret-partner',
  kind: 'partner',
  region: 'AU',
  user: 'owner@group.test',
}
export const dedicated: AccessKey = {
  name: 'single',
  value: 'sekret-single',
  kind: 'dedicated',
  region: 'AU',
  user: null,
}
export const north: RooftopAccess = { uid: 'uid-north', dealerId: 101, keyName: 'group-au' }
export const south: RooftopAccess = { uid: 'uid-south', dealerId: null, keyName: 'group-au' }
export const alone: RooftopAccess = { uid: 'uid-alone', dealerId: null, keyName: 'single' }
export const newest = { from: 1_700_000_000, until: null }

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

interface ClientSettings {
  readonly wire?: Partial<AppraisalWire>
  readonly maxRetries?: number
  readonly concurrency?: number
  /** Receives the limiters by their keys. */
  readonly limiters?: Map<string | null, KeyLimiter>
}

/** Starts a server and a client for it; both are closed after the test. */
export async function start(
  answer: Answerer,
  settings: ClientSettings = {},
): Promise<{ client: AppraisalClient; source: FakeSource }> {
  const source = await FakeSource.start(answer)
  const client = clientAt(source.baseUrl, settings)
  open.push(source, { [Symbol.asyncDispose]: () => client.close() })
  return { client, source }
}

/** A client with a partner and a dedicated key. */
export function clientAt(baseUrl: string, settings: ClientSettings = {}): AppraisalClient {
  const { wire, maxRetries = 1, concurrency = 8, limiters } = settings
  return new AppraisalClient({
    baseUrl,
    keys: { 'group-au': partner, single: dedicated },
    wire: { ...defaultWire.appraisal, ...wire },
    http: { concurrency, timeoutSeconds: 5, maxRetries },
    budget: (keyName, limiter) => {
      limiters?.set(keyName, limiter)
      return new KeyRate(limiter, null)
    },
  })
}

/** The SyncError that a call rejects with; it holds no secret and no customer. */
export async function faultOf(call: Promise<unknown>): Promise<SyncError> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SyncError)
  for (const text of [inspect(error, { depth: 9 }), JSON.stringify(error)])
    expect(text).not.toMatch(/sekret|owner@group|Jane/)
  return error as SyncError
}
