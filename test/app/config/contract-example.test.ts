import { expect, test } from 'vitest'
import { configOf } from './config-support.ts'

// The full example config, without `wire: { … }`.
const example = `
appraisal:   { baseUrl: http://127.0.0.1:4010/v1 }          # {base_url}, ends in /v1
vehicleData: { baseUrl: http://127.0.0.1:4011, apiKey: \${FORECOURT_VEHICLE_DATA_KEY} }   # {data_url}; paths begin with /v1
warehouse:   { url: \${DATABASE_URL} }                        # left out: embedded Postgres under .forecourt/
keys:
  group-au: { value: \${FORECOURT_KEY_AU}, kind: partner, region: AU, user: null }   # kind: partner | dedicated; region: AU | US | GCC;
                                                       # user: sent as \`user\` with /geteval alone, where the key needs it (in the list it would narrow to one salesperson)
rooftops:
  - { uid: 7f3a…, name: Northside, dealerId: 101, key: group-au, region: AU, timezone: Australia/Sydney, currency: AUD }
sync:
  start: 2024-01-01          # the first instant that incremental sync owns: a date (midnight UTC) or an ISO instant
  windowHours: 24            # the largest window asked for at once
  settleDays: 3              # a window younger than this is read and stored, but not yet settled
  recheckDays: 60            # listed again for late completions and edits
http: { concurrency: 8, timeoutSeconds: 30, maxRetries: 6 }   # per key; adapts downwards and upwards by itself
pricing: { reasoning: false }
checks: { lookForNewDays: 90, lookEveryDays: 7 }   # evaluations of the last 90 days are asked for new past checks at least every 7 days
links: { refreshBeforeHours: 48, keepAliveDays: null }   # null: every link stays alive; else only those of evaluations younger than this
prices: { batchSize: 500, market: null }
retention: { rawDays: 90 }     # superseded payloads; the newest of each record stays
budget: { ppsrSearch: 0, carHistory: 0, historyCheck: 0, prediction: 0 }   # billable calls allowed a day; 0 = never
webhooks: { publicUrl: null, authHeaderName: X-Forecourt-Token, authHeaderValue: \${FORECOURT_WEBHOOK_TOKEN:-} }
wire: {}                  # section 3
`
const variables = {
  FORECOURT_VEHICLE_DATA_KEY: 'vehicle-data-key',
  DATABASE_URL: 'postgres://u:p%40ss@db:5432/w?sslmode=disable',
  FORECOURT_KEY_AU: '0123',
}

test('the full example is valid', () => {
  const config = configOf(example, variables)

  expect(config.warehouse.url).toBe(variables.DATABASE_URL)
  expect(config.vehicleData.apiKey).toBe('vehicle-data-key')
  expect(config.keys).toEqual({
    'group-au': { value: '0123', kind: 'partner', region: 'AU', user: null },
  })
  expect(config.webhooks.authHeaderValue).toBe(null)
  expect(config.sync.start).toEqual(new Date('2024-01-01T00:00:00Z'))
  expect(config.rooftops).toEqual([
    {
      uid: '7f3a…',
      name: 'Northside',
      dealerId: 101,
      key: 'group-au',
      group: 'key:group-au',
      region: 'AU',
      timezone: 'Australia/Sydney',
      currency: 'AUD',
      odometerUnit: 'km',
    },
  ])
})

test("the example's values are the defaults", () => {
  const { keys, rooftops, warehouse, vehicleData, ...example_ } = configOf(example, variables)
  const { file, keySources, vehicleDataKeySource } = example_

  const empty = configOf('')

  expect({
    ...empty,
    keys,
    rooftops,
    warehouse,
    vehicleData,
    file,
    keySources,
    vehicleDataKeySource,
  }).toEqual({
    ...example_,
    keys,
    rooftops,
    warehouse,
    vehicleData,
  })
})
