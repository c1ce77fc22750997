import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { watchNewPpsr } from '#src/api/contract/vehicle-data/checks.ts'
import { pollPrediction } from '#src/api/contract/vehicle-data/prediction.ts'
import { pollPriceBatch } from '#src/api/contract/vehicle-data/prices.ts'
import { openServices } from '#src/api/sources/open-services.ts'
import { makeConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { openApiDocument } from '#src/sandbox/openapi.ts'
import { wireSettings } from '#src/values/wire.ts'
import { endpointNames } from '#src/web/operations/operations.ts'

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
const wire = {
  vehicleData: {
    priceBatch: { poll: { path: '/v1/price-batch?batch={batchId}' } },
    prediction: { pollPath: '/v1/prediction?full=1&request={requestId}' },
    ppsrSearch: { watchPath: '/v1/ppsr/{searchId}/watch?v=2' },
  },
}

test('a poll path with a query is sent as it says, its fields encoded', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const vehicleData = { baseUrl: origin, apiKey: 'a-key' }
  const config = makeConfig({ vehicleData, wire }, '/nowhere')

  await using services = openServices(config, silent, ['read'])
  const { client } = services
  await client.call(pollPriceBatch, { fields: { batchId: 'B 1&x=2' } })
  await client.call(pollPrediction, { fields: { requestId: 'P-1' } })
  await client.call(watchNewPpsr, { fields: { searchId: 'S/1' } })
  server.close()

  expect(asked).toEqual([
    'GET /v1/price-batch?batch=B%201%26x%3D2',
    'GET /v1/prediction?full=1&request=P-1',
    'GET /v1/ppsr/S%2F1/watch?v=2',
  ])
})

test('metrics and the OpenAPI document name such a path without its query', () => {
  const settings = wireSettings.parse(wire)
  const request = { service: 'vehicle-data', method: 'GET', path: '/v1/price-batch' }
  const servers = { appraisal: 'http://a/v1', vehicleData: 'http://v' }

  const name = endpointNames(settings)(request as never)
  const { paths } = openApiDocument({ wire: settings, servers }) as {
    paths: Record<string, { get: { parameters: object[] } }>
  }

  expect(name).toBe('/v1/price-batch')
  expect(paths['/v1/price-batch']!.get.parameters).toMatchObject([
    { name: 'batch', in: 'query', required: true },
  ])
})

test('a field that the operation does not have is refused in a query too', () => {
  const path = '/v1/price-batch?batch={batch}'
  const parsed = wireSettings.safeParse({ vehicleData: { priceBatch: { poll: { path } } } })

  expect(parsed.error?.issues[0]?.message).toContain('names an unknown field')
})
