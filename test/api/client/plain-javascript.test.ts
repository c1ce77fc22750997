import { expect, test } from 'vitest'
import { openClient, UsageError } from '#src/api/client/client.ts'

// What a program without the compiler may pass.

const settings = {
  appraisal: { baseUrl: 'http://127.0.0.1:1/v1' },
  keys: { au: { value: 'x', kind: 'partner', region: 'AU' } },
} as const
const rooftop = { uid: 'u', key: 'au', dealerId: 1 }

type Untyped = Record<
  'call' | 'callAndWait' | 'listWindow',
  (...args: unknown[]) => Promise<unknown>
>

test.each<[string, (client: Untyped) => unknown, RegExp]>([
  ['an unknown operation', (c) => c.call('nope', {}), /no operation nope/],
  ['a name of every object', (c) => c.call('toString', {}), /no operation toString/],
  ['no name', (c) => c.call(undefined, {}), /no operation undefined/],
  ['no fields', (c) => c.call('geteval', null, { rooftop }), /has to be an object/],
  ['an unknown field', (c) => c.call('geteval', { id: 1 }, { rooftop }), /unknown fields: id/],
  ['no options', (c) => c.call('geteval', { evalid: 1 }, null), /has to be an object/],
  ['an unknown option', (c) => c.call('geteval', {}, { roof: 1 }), /unknown fields: roof/],
  ['a text as the rooftop', (c) => c.call('geteval', {}, { rooftop: 'x' }), /rooftop has to be/],
  ['a signal that is none', (c) => c.call('geteval', {}, { rooftop, signal: {} }), /AbortSignal/],
  [
    'a wait for what is not asynchronous',
    (c) => c.callAndWait('vindatabasic', { vin: 'SAMPLEAU000000001' }),
    /not asynchronous/,
  ],
  ['a text as the window', (c) => c.listWindow(rooftop, { from: '2026' }), /from has to be/],
  ['no window', (c) => c.listWindow(rooftop), /is missing/],
  ['no rooftop', (c) => c.listWindow(null, { from: new Date(0) }), /has to be an object/],
  ['no settings', () => openClient(null as never), /has to be an object/],
  ['a text as allow', () => openClient(settings, { allow: 'write' } as never), /allow has to be/],
  ['an unknown setting', () => openClient({ nope: 1 } as never), /nope/],
])('%s is a UsageError', async (_, use, text) => {
  await using client = openClient(settings)

  const fault = await Promise.resolve()
    .then(() => use(client as unknown as Untyped))
    .catch((error: unknown) => error)

  expect(fault).toBeInstanceOf(UsageError)
  expect((fault as Error).message).toMatch(text)
})
