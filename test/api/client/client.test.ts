import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import {
  type ClientOptions,
  openClient,
  operations,
  polledBy,
  SyncError,
  UsageError,
} from '#src/api/client/client.ts'
import { allOperations } from '#src/api/contract/operations.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'

// Its evaluations that are listed here can be read.
const now = new Date('2026-03-10T02:00:00Z')

const client = fileURLToPath(new URL('../../../src/api/client/client.ts', import.meta.url))

test('it has every operation by its name, and polls what the contract says', () => {
  const names = Object.fromEntries(allOperations.map((one) => [one.name, one]))
  const polled = allOperations.flatMap(({ name, polling }) =>
    polling === null ? [] : [[name, polling.operation]],
  )

  expect(operations).toEqual(names)
  expect(polledBy).toEqual(Object.fromEntries(polled))
})

test('importing it loads neither Postgres nor the console, the command line or a logger', async () => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context)
        loaded.add(found.url)
        return found
      },
    })
    await import(${JSON.stringify(client)})
    console.log(JSON.stringify([...loaded]))`
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--input-type=module', '--eval', program],
  ])
  const urls = JSON.parse(stdout) as string[]
  const packages = urls.map((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])

  expect([...new Set(packages.filter((name) => name !== undefined))].sort()).toEqual([
    ...['@opentelemetry/api', 'node-cron', 'p-limit', 'undici', 'yaml', 'yocto-queue', 'zod'],
  ])
  expect(urls.filter((url) => /src\/(db|console|commands|pipeline|log)/.test(url))).toEqual([])
})

test('a call without its rooftop, with a wrong field, or beyond what is allowed is not sent', async () => {
  await using sandbox = await startSandbox({ evaluations: 20, now })
  await using client = open(sandbox)
  const rooftop = rooftopOf(sandbox)

  const faults = await Promise.all(
    [
      client.call('geteval', { evalid: 1 }),
      client.call('geteval', {}, { rooftop }),
      // @ts-expect-error: a number is expected.
      client.call('geteval', { evalid: 'seven' }, { rooftop }),
      // @ts-expect-error: the client may only read.
      client.call('ppsrsearch', { evalid: 1 }, { rooftop }),
      // @ts-expect-error: nothing is polled for it.
      client.callAndWait('imageorder', { evalid: 1, ids: [1] }, { rooftop }),
      client.callAndWait('price-batch', { vehicles: [] }, { everySeconds: 0 }),
    ].map((call) => call.then(String, (error: unknown) => error)),
  )

  expect(faults.every((fault) => fault instanceof UsageError)).toBe(true)
  expect(faults.map((fault) => (fault as Error).message)).toEqual([
    'geteval was not called: give its rooftop, { uid, key }. It does this: Completed evaluations by EvalID, VIN or plate [A §4 /geteval].',
    'geteval was not called: it needs evalid or vin or reg or registration. It does this: Completed evaluations by EvalID, VIN or plate [A §4 /geteval].',
    'geteval was not called: evalid has to be a number. It does this: Completed evaluations by EvalID, VIN or plate [A §4 /geteval].',
    "ppsrsearch was not called: it costs money. Open the client with { allow: ['bill'] } if you mean it.",
    "imageorder was not called: it changes something at the service. Open the client with { allow: ['write'] } if you mean it.",
    'everySeconds (0) must be a number of seconds up to 3600.',
  ])
  expect(sandbox.requests.entries()).toEqual([])
})

test('with allow it writes and bills, once each', async () => {
  await using sandbox = await startSandbox({ evaluations: 60, now })
  await using client = open(sandbox, { allow: ['write', 'bill'] })
  const rooftop = rooftopOf(sandbox)
  const { items } = await client.listWindow(rooftop, { from: new Date(0) })

  const started = await client.call('entervin', { vin: 'SAMPLEAU000000001' }, { rooftop })
  const paid = await client.call('ppsrsearch', { evalid: items[0]!.evalId }, { rooftop })

  expect(started.status).toBe(200)
  expect(started.answer()).toMatchObject({ EvalID: expect.any(Number) })
  expect(paid.body).toMatchObject({ PdfUrl: expect.stringContaining('http') })
})

test('a read is sent again after a fault, and an error says what failed, where, and what to do', async () => {
  await using sandbox = await startSandbox({ evaluations: 60, now })
  await using client = open(sandbox)
  const rooftop = rooftopOf(sandbox)
  const { items } = await client.listWindow(rooftop, { from: new Date(0) })
  const evalid = items[0]!.evalId
  const fault = { kind: 'status', status: 502 } as const

  sandbox.faults.add({ match: { path: '/geteval' }, fault, times: 2 })
  const found = await client.call('geteval', { evalid }, { rooftop })
  sandbox.faults.add({ match: { path: '/geteval' }, fault, times: 20 })
  const failed = await client.call('geteval', { evalid }, { rooftop }).catch((error) => error)

  expect(found.answer()[0]).toMatchObject({ EvalID: evalid })
  expect(failed).toBeInstanceOf(SyncError)
  expect(failed).toMatchObject({ status: 502, meaning: 'busy', errorAction: 'retry' })
  expect(failed.message).toMatch(
    new RegExp(
      `^POST /geteval for evaluation ${evalid} of rooftop ${rooftop.uid} \\(key au\\) answered 502.*\\(3 attempts\\). `,
    ),
  )
  expect(failed.message).not.toContain(sandbox.clientConfig().keys['au']!.value)
})

test('a window is listed from its first second up to its end', async () => {
  await using sandbox = await startSandbox({ evaluations: 200, now })
  await using client = open(sandbox)
  const rooftop = rooftopOf(sandbox)
  const whole = await client.listWindow(rooftop, { from: new Date(0) })
  const middle = new Date(sandbox.clock.now().getTime() - 30 * 86_400_000)

  const before = await client.listWindow(rooftop, { from: new Date(0), until: middle })
  const after = await client.listWindow(rooftop, { from: middle })

  const ids = ({ items }: typeof whole) => items.map(({ evalId }) => evalId)
  expect(before.items.length).toBeGreaterThan(0)
  expect(after.items.length).toBeGreaterThan(0)
  expect([...ids(before), ...ids(after)].sort()).toEqual(ids(whole).sort())
})

test('settings that do not fit are named, without their values', () => {
  expect(() =>
    openClient({
      appraisal: { baseUrl: 'not-an-address' },
      keys: { au: { value: 'sekret\n', kind: 'partner', region: 'AU' } },
    }),
  ).toThrow(UsageError)
  expect(() => openClient({ http: { concurrency: 0 } })).toThrow(/http\.concurrency/)
  expect(() =>
    openClient({ keys: { au: { value: 'sekret\n', kind: 'partner', region: 'AU' } } }),
  ).not.toThrow(/sekret/)
})

function open<Allowed extends 'write' | 'bill' = never>(
  sandbox: Sandbox,
  options?: ClientOptions<Allowed>,
) {
  const { rooftops: _, ...settings } = sandbox.clientConfig()
  return openClient({ ...settings, http: { maxRetries: 2 } }, options)
}

function rooftopOf(sandbox: Sandbox) {
  const { uid, key, dealerId } = sandbox.clientConfig().rooftops[0]!
  return { uid, key, dealerId }
}
