import { expect, test } from 'vitest'
import { pathFields, receivedFields } from '#src/api/contract/operation.ts'
import { allOperations, findOperation } from '#src/api/contract/operations.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'

const renamed = wireSettings.parse({
  vehicleData: {
    priceBatch: { submit: { vehicles: 'cars', reference: 'ref', vin: 'chassis', adcode: 'code' } },
    auDecode: { vin: 'chassis', clientReference: 'ref' },
    historyCheck: { vin: 'chassis' },
    ppsrSearch: { vin: 'chassis' },
    priceGuide: { vin: 'chassis', gccSpec: 'spec', saleMonth: 'm', saleYear: 'y' },
    prediction: { adcode: 'code', vin: 'chassis', predictDate: 'on', reasoning: 'why' },
  },
})
const byName = allOperations.map((operation) => [operation.name, operation] as const)

test('no two operations share a name or a path', () => {
  const names = allOperations.map(({ name }) => name.toLowerCase())
  const places = allOperations.map(({ service, transport }) => {
    const { method, path } = transport(defaultWire)
    return `${service} ${method} ${path}`
  })

  expect(new Set(names).size).toBe(allOperations.length)
  expect(new Set(places).size).toBe(allOperations.length)
})

test.each(byName)('the example of %s fits its fields and survives the wire', (_, operation) => {
  const { fields, example, toWire, transport } = operation

  expect(fields.parse(example)).toEqual(example)
  for (const wire of [defaultWire, renamed]) {
    const sent = toWire(example, wire)
    const { path, encoding } = transport(wire)
    // What travels as text arrives as text.
    const asText = ([name, value]: [string, unknown]) =>
      [name, typeof value === 'object' ? JSON.stringify(value) : String(value)] as const
    const arrived =
      encoding === 'json' ? sent : Object.fromEntries(Object.entries(sent).map(asText))
    const inPath = Object.fromEntries(pathFields(path).map((name) => [name, String(sent[name])]))
    const rest = { ...arrived }
    for (const name of pathFields(path)) delete rest[name]
    expect(receivedFields(operation, { path: inPath, query: {}, rest }, wire)).toEqual(example)
  }
})

test.each(byName)('%s has in its path only fields that it needs', (_, { fields, transport }) => {
  for (const name of pathFields(transport(defaultWire).path))
    expect(fields.shape[name]!._zod.optin).toBeUndefined()
})

test('what costs money has a budget, and nothing else has', () => {
  const bills = allOperations.filter(({ effect }) => effect === 'bill').map(({ name }) => name)

  expect(bills).toEqual(['ppsrsearch', 'carhistory', 'historyCheck', 'ppsrNewSearch', 'prediction'])
  expect(allOperations.filter(({ budget }) => budget !== null).map(({ name }) => name)).toEqual(
    bills,
  )
  expect(allOperations.filter((one) => one.repeatable && one.effect !== 'read')).toEqual([])
})

test('operations that are polled exist, and only read', () => {
  const polled = allOperations.flatMap(({ polling: follow }) => follow?.operation ?? [])

  expect(polled).toEqual(['pricingAi', 'price-batch-status', 'prediction-status'])
  expect(polled.map((name) => findOperation(name)?.effect)).toEqual(['read', 'read', 'read'])
})

test.each([
  ['geteval', 'geteval'],
  ['/geteval', 'geteval'],
  ['/v1/historyCheck', 'historyCheck'],
  ['HISTORYCHECK', 'historyCheck'],
  ['pricingAi/payload/{evalid}', 'pricingAi'],
  ['/v1/price-batch', 'price-batch'],
  ['partner/webhooks', 'webhooks-list'],
  ['getevals', undefined],
])('%s is found as %s', (typed, name) => {
  expect(findOperation(typed)?.name).toBe(name)
})
