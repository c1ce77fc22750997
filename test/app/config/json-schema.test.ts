import { expect, test } from 'vitest'
import { z } from 'zod'
import { configJsonSchema } from '#src/app/config/schema.ts'

// zod can read JSON Schema, so it replaces an editor here.
const accepts = (value: unknown) =>
  z.fromJSONSchema(configJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value)
    .success

test('the JSON Schema accepts what the config accepts, variables included', () => {
  expect(accepts({})).toBe(true)
  expect(accepts({ wire: null, http: { concurrency: 4 }, sync: { start: '2024-01-01' } })).toBe(
    true,
  )
  expect(accepts({ http: { concurrency: '$' + '{N}' }, warehouse: { url: '$' + '{U}' } })).toBe(
    true,
  )
})

test('the JSON Schema refuses unknown settings and wrong kinds', () => {
  expect(accepts({ sync: { windowHour: 3 } })).toBe(false)
  expect(accepts({ http: { concurrency: 'many' } })).toBe(false)
  expect(accepts({ keys: { a: { value: 'x', kind: 'shared', region: 'AU' } } })).toBe(false)
  expect(accepts([])).toBe(false)
})
