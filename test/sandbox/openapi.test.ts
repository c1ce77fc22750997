import { Validator } from '@seriousme/openapi-schema-validator'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { allOperations, findOperation, operationGroups } from '#src/api/contract/operations.ts'
import { openApiDocument } from '#src/sandbox/openapi.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { defaultWire, type WireSettings, wireSettings } from '#src/values/wire.ts'
import { worldOf } from '../support/build-world.ts'

const servers = { appraisal: 'http://a.invalid/v1', vehicleData: 'http://v.invalid' }

const otherWire = wireSettings.parse({
  appraisal: {
    authHeader: 'X-Api-Key',
    evalList: { items: 'data.rows', id: 'Ref' },
    evaluation: { make: 'Vehicle.MakeName' },
  },
  vehicleData: {
    priceBatch: {
      submit: { encoding: 'form', vehicles: 'stock', reference: 'stockNo', km: 'mileage' },
      poll: { method: 'POST', path: '/v1/price-batch/status' },
    },
    auDecode: { vin: 'chassis' },
    prediction: { pollPath: '/v1/predictions/{requestId}/state' },
  },
})

interface Entry {
  readonly operationId: string
  readonly servers: readonly { readonly url: string }[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Readonly<Record<string, unknown>>[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { schema: Schema; example: unknown }>>
  }
  readonly responses: Readonly<
    Record<string, { description: string; content: { 'application/json': { schema: Schema } } }>
  >
  readonly [extension: `x-${string}`]: unknown
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Entry>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, unknown>>
    readonly parameters: { readonly dealerId: { readonly example: string } }
  }
}

function placeOf({ paths }: Document, name: string): [path: string, method: string, entry: Entry] {
  for (const [path, methods] of Object.entries(paths))
    for (const [method, entry] of Object.entries(methods))
      if (entry.operationId === name) return [path, method.toUpperCase(), entry]
  throw new Error(`${name} is not in the document`)
}

/** The example as a form; a required file is a small picture. */
async function formOf({ example, schema }: { example: unknown; schema: Schema }) {
  const form = new FormData()
  for (const [name, value] of Object.entries(Object(example))) form.set(name, String(value))
  const picture = { width: 8, height: 8, channels: 3, background: 'red' } as const
  const bytes = Uint8Array.from(await sharp({ create: picture }).jpeg().toBuffer())
  for (const name of schema.required ?? [])
    if (!form.has(name)) form.set(name, new Blob([bytes]), 'photo.jpg')
  return form
}

function documentBy(wire: WireSettings): Document {
  return openApiDocument({ wire, servers }) as unknown as Document
}

function entriesOf({ paths }: Document): Map<string, Entry> {
  const all = Object.values(paths).flatMap((methods) => Object.values(methods))
  return new Map(all.map((entry) => [entry.operationId, entry]))
}

test.each([
  ['the default wire', defaultWire],
  ['a changed wire', otherWire],
])('the document is valid OpenAPI 3.1 for %s', async (_, wire) => {
  const validator = new Validator()

  const result = await validator.validate({ ...openApiDocument({ wire, servers }) })

  expect(result).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('the groups hold every operation once, in the order of the documents', () => {
  expect(operationGroups.flatMap(({ operations }) => operations)).toEqual(allOperations)
})

test('the document has every operation with all its statuses, at its own server', () => {
  const entries = entriesOf(documentBy(defaultWire))

  expect([...entries.keys()].sort()).toEqual(allOperations.map(({ name }) => name).sort())
  for (const { name, service, effect, status, statuses } of allOperations) {
    const entry = entries.get(name)!
    expect(entry.servers.map(({ url }) => url)).toEqual([servers[service]])
    expect(entry.security).toEqual([{ [service]: [] }])
    expect(entry['x-effect']).toBe(effect)
    expect(Object.keys(entry.responses)).toEqual(
      [
        ...new Set([
          ...[String(status), ...Object.keys(statuses)],
          ...(entry.requestBody === undefined ? [] : ['400']),
        ]),
      ].sort(),
    )
    for (const [code, when] of Object.entries(statuses))
      expect(entry.responses[code]?.description).toBe(when)
  }
})

test('every $ref of the document has a target', () => {
  for (const wire of [defaultWire, otherWire]) {
    const document = documentBy(wire)
    const text = JSON.stringify(document)
    const refs = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!))

    expect(refs.size).toBeGreaterThan(5)
    for (const ref of refs) {
      const target = ref
        .split('/')
        .slice(1)
        .reduce<unknown>((at, key) => Object(at)[key], document)
      expect(target, ref).toBeTypeOf('object')
    }
  }
})

test('requests are described by the wire names in force, nested ones too', () => {
  const entries = entriesOf(documentBy(otherWire))

  const batch = entries.get('price-batch')?.requestBody?.content['multipart/form-data']
  expect(batch?.schema.required).toEqual(['stock'])
  expect(Object.keys(batch?.schema.properties ?? {})).toEqual(['stock', 'market'])
  // In a form the list is JSON text.
  expect(batch?.schema.properties?.['stock']).toMatchObject({
    type: 'string',
    contentSchema: {
      items: {
        required: ['stockNo'],
        properties: { stockNo: { type: 'string' }, mileage: { type: 'number' } },
      },
    },
  })
  expect(batch?.example).toEqual({
    stock: '[{"stockNo":"S-1","adcode":"AU0TOYHILUX01","mileage":48000}]',
    market: 'AU',
  })
  const decode = entries.get('vindatabasic')?.requestBody?.content['multipart/form-data']
  expect(Object.keys(decode?.schema.properties ?? {})).toEqual(['chassis', 'clientReference'])
})

test('paths, methods and the key header follow the wire settings', () => {
  const { paths, components } = documentBy(otherWire)

  expect(paths['/v1/price-batch/status']?.['post']?.operationId).toBe('price-batch-status')
  expect(paths['/v1/predictions/{requestId}/state']?.['get']?.parameters).toMatchObject([
    { name: 'requestId', in: 'path', required: true, example: 'P-1' },
  ])
  expect(components.securitySchemes).toMatchObject({
    appraisal: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
    vehicleData: { type: 'apiKey', in: 'header', name: 'Authorization' },
  })
})

test('a bearer prefix makes the key of the appraisal service a bearer token', () => {
  const wire = wireSettings.parse({ appraisal: { authPrefix: 'Bearer ' } })

  const { appraisal } = documentBy(wire).components.securitySchemes

  expect(appraisal).toMatchObject({ type: 'http', scheme: 'bearer' })
})

test('answers that the documents show in part are completed by the wire settings', () => {
  const document = documentBy(otherWire)

  const list = entriesOf(document).get('getevallist')?.responses['200']
  expect(list?.content['application/json'].schema).toMatchObject({
    properties: { data: { properties: { rows: { items: { properties: { Ref: {} } } } } } },
  })
  expect(document.components.schemas['Evaluation']?.properties).toMatchObject({
    EvalID: { type: 'integer' },
    Vehicle: { properties: { MakeName: { type: ['string', 'null'] } } },
  })
})

test('both origins serve the document, with servers and examples of this sandbox', async () => {
  await using sandbox = await startSandbox({ evaluations: 60 })
  const read = async (origin: string) => {
    const response = await fetch(`${origin}/openapi.json`)
    expect(response.headers.get('content-type')).toContain('application/json')
    return (await response.json()) as Document
  }

  const document = await read(new URL(sandbox.baseUrl).origin)

  expect(await read(sandbox.vehicleDataUrl)).toEqual(document)
  const entry = entriesOf(document).get('geteval')!
  expect(entry.servers).toMatchObject([{ url: sandbox.baseUrl }])
  const example = entry.requestBody?.content['application/json']?.example
  const fields = findOperation('geteval')!.fields.parse(example)
  expect(sandbox.world.evaluation(Number(fields['evalid']))).toBeDefined()
})

test.each([
  ['the default wire', defaultWire, 'authorization'],
  ['a changed wire', otherWire, 'x-api-key'],
])(
  'every example of the document succeeds as documented, for %s, except for ids that were never issued',
  async (_, wire, header) => {
    await using sandbox = await startSandbox({ evaluations: 60, wire })
    const response = await fetch(`${new URL(sandbox.baseUrl).origin}/openapi.json`)
    const document = (await response.json()) as Document
    const key = sandbox.world.keys.find(({ region }) => region === 'AU')!.value
    const exampleOf = (entry: Entry, place: string) =>
      (entry.parameters ?? []).filter((one) => one['in'] === place && one['example'] !== undefined)
    const uid = document.components.parameters.dealerId.example

    const statuses: Record<string, number> = {}
    for (const { name } of allOperations) {
      const [path, method, entry] = placeOf(document, name)
      const url = exampleOf(entry, 'path').reduce<string>(
        (text, one) => text.replace(`{${one['name']}}`, String(one['example'])),
        entry.servers[0]!.url + path,
      )
      const query = exampleOf(entry, 'query').map((one) => `${one['name']}=${one['example']}`)
      const { 'application/json': json, 'multipart/form-data': form } =
        entry.requestBody?.content ?? {}
      const isJson = json === undefined ? {} : { 'content-type': 'application/json' }
      const isAppraisal = 'appraisal' in entry.security[0]!
      const { status } = await fetch(query.length === 0 ? url : `${url}?${query.join('&')}`, {
        method,
        headers: {
          ...(isAppraisal
            ? { [header]: key, 'x-dealer-id': uid }
            : { authorization: sandbox.vehicleDataKey }),
          ...isJson,
        },
        ...(json && { body: JSON.stringify(json.example) }),
        ...(form && { body: await formOf(form) }),
      })
      statuses[name] = status
    }

    const expected = allOperations.map(({ name, status }) => [name, status])
    expect(statuses).toEqual({
      ...Object.fromEntries(expected),
      // The VINs of the AU samples answer 200 [A §4 /entervin].
      entervin: 200,
      'ppsrNewSearch-watch': 404,
      'price-batch-status': 404,
      'prediction-status': 404,
    })
  },
)

test('a world without keys and evaluations is described all the same', async () => {
  await using sandbox = await startSandbox({ world: worldOf({ keys: [] }) })

  const response = await fetch(`${new URL(sandbox.baseUrl).origin}/openapi.json`)

  expect(response.status).toBe(200)
  expect(entriesOf((await response.json()) as Document).size).toBe(allOperations.length)
})
