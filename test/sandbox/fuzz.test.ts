import fc from 'fast-check'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { caseCount } from '../support/cases.ts'
import { sendForm, sendJson } from './ask-vehicle-data.ts'
import { callersOf, type Issued } from './fuzz-fields.ts'
import { type FuzzRequest, fuzzRequest } from './fuzz-requests.ts'

// FORECOURT_SEED chooses other requests, FORECOURT_FUZZ another number of them.
const seed = Number(process.env['FORECOURT_SEED'] ?? 1)
const count = Number(process.env['FORECOURT_FUZZ'] ?? caseCount(5_000, 300))

/** Documented failures: a sample VIN at one, a store that is full at the other [A §7]. */
const documented: Readonly<Record<string, RegExp>> = {
  '/v1/carhistory': /vehicle history/i,
  '/v1/imageupload': /could not be stored/i,
}

test(`${count} requests of any kind break nothing (seed ${seed})`, async () => {
  console.log(`fuzz: ${count} requests, FORECOURT_SEED=${seed}`)
  const clock = new VirtualClock({ start: new Date('2026-03-10T00:00:00Z'), frozen: true })
  const limits = { carHistoryMs: 0, imageBytes: 30_000, batchVehicles: 50 }
  await using sandbox = await startSandbox({ rooftops: 12, evaluations: 200, clock, limits, seed })
  const reserved = sandbox.world.keys.at(-1)!.name
  const image = Uint8Array.from(
    await sharp({ create: { width: 32, height: 24, channels: 3, background: '#456' } })
      .jpeg()
      .toBuffer(),
  )
  const before = await readReserved(sandbox, reserved)

  const { vehicleDataKey } = sandbox
  const issued = await issueIds(sandbox)
  const pools = { callers: callersOf(sandbox, reserved), vehicleDataKey, issued, image }
  const requests = fc.sample(fuzzRequest(pools), { seed, numRuns: count })
  const wrong: string[] = []
  for (const [index, request] of requests.entries()) {
    const problem = await whatIsWrong(sandbox, request)
    if (problem !== null) wrong.push(`request ${index}: ${problem}\n${inspect(request)}`)
  }
  expect(wrong.slice(0, 5)).toEqual([])
  expect(await readReserved(sandbox, reserved)).toBe(before)
}, 180_000)

/** A batch, a prediction and a search to ask for again. */
async function issueIds(sandbox: Sandbox): Promise<Issued> {
  const adcode = 'AU0TOYHILUX01'
  const vehicles = [{ reference: 'S-1', adcode }]
  const [batch, prediction, search] = [
    await sendJson(sandbox, '/v1/price-batch', { vehicles }),
    await sendForm(sandbox, '/v1/prediction', { adcode, reasoning: true }),
    await sendForm(sandbox, '/v1/ppsrNewSearch', { vin: samples.auSingle.vin }),
  ]
  return {
    batchId: String(batch.json['batchId']),
    requestId: String(prediction.json['requestId']),
    searchId: String(search.json['searchId']),
  }
}

/** The problem of the answer; null: none. */
async function whatIsWrong(
  { baseUrl, vehicleDataUrl }: Sandbox,
  { service, method, path, headers, body }: FuzzRequest,
): Promise<string | null> {
  const origin = service === 'appraisal' ? new URL(baseUrl).origin : vehicleDataUrl
  const url = new URL(path, origin)
  const init: RequestInit = { method, headers, ...(body !== undefined && { body }) }
  const response = await fetch(url, init).catch((error: Error) => error)
  // The answer to a body that is too large may be lost with the connection it came on.
  if (response instanceof Error)
    return body !== undefined && body.length > 1_000_000 ? null : `no answer: ${response.message}`
  const text = await response.text()
  if (method === 'HEAD') return response.status >= 500 ? `status ${response.status}` : null
  const error = errorIn(text)
  if (response.status >= 500 && !documented[url.pathname]?.test(error ?? ''))
    return `status ${response.status}: ${text}`
  if (!url.pathname.startsWith('/v1')) return null
  if (error === undefined) return `status ${response.status} with a body that is not JSON: ${text}`
  return response.status >= 400 && error === null
    ? `${response.status} without error: ${text}`
    : null
}

/** The `error` of a JSON body; null when it has none, undefined when it is not JSON. */
function errorIn(text: string): string | null | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null || !('error' in body)) return null
    return typeof body.error === 'string' ? body.error : null
  } catch {
    return undefined
  }
}

/** What the reserved key reads; no fuzzed request may carry it. */
async function readReserved(sandbox: Sandbox, reserved: string): Promise<string> {
  const key = sandbox.world.keys.find(({ name }) => name === reserved)!
  const known = [...sandbox.world.evaluations()].find(
    ({ rooftopUid, completedAt }) => key.rooftopUids.includes(rooftopUid) && completedAt !== null,
  )!
  const response = await fetch(`${sandbox.baseUrl}/geteval`, {
    method: 'POST',
    headers: {
      authorization: key.value,
      'x-dealer-id': known.rooftopUid,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ evalid: known.evalId, ...(key.user !== null && { user: key.user }) }),
  })
  expect(response.status).toBe(200)
  return response.text()
}

function inspect({ body, ...request }: FuzzRequest): string {
  const text = typeof body === 'string' ? body : Buffer.from(body ?? []).toString('latin1')
  return `${JSON.stringify(request)} ${JSON.stringify(text.slice(0, 600))}`
}
