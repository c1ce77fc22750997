import { expect } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { installTools } from './tools.ts'

const schemathesis = await installTools('schemathesis')

/** Not the checks that judge which input is refused: the documents leave much of that open. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
]

const words = [
  ...['--checks', checks.join(','), '--phases', 'examples,coverage,fuzzing'],
  ...['--seed', '1', '--max-examples', '10', '--no-shrink', '--continue-on-failure'],
  ...['--generation-database', 'none', '--request-timeout', '10', '--no-color'],
]

/** The paths of the vehicle-data APIs begin with /v1; those of the appraisal service do not, its base URL ends with it. */
const ofVehicleData = '^/v1/'

schemathesis.test('every answer of either service is as its OpenAPI document says', async () => {
  const now = new Date('2026-03-10T00:00:00Z')
  // No evaluation completes, so that nothing is sent to a generated webhook address.
  const clock = new VirtualClock({ start: now, frozen: true })
  await using sandbox = await startSandbox({ evaluations: 40, days: 20, clock })
  await using folder = await temporaryFolder()
  const { keys, rooftops } = sandbox.clientConfig()
  const rooftop = rooftops.find(({ region }) => region === 'AU')!
  for (const [service, filter, base, headers, operations] of [
    [
      ...(['appraisal', '--exclude-path-regex', sandbox.baseUrl] as const),
      [`Authorization: ${keys[rooftop.key]!.value}`, `X-Dealer-Id: ${rooftop.uid}`],
      20,
    ],
    [
      ...(['vehicleData', '--include-path-regex', sandbox.vehicleDataUrl] as const),
      [`Authorization: ${sandbox.vehicleDataKey}`],
      10,
    ],
  ] as const) {
    const { code, stdout, stderr } = await schemathesis.run(
      'st',
      [
        ...['run', `${new URL(base).origin}/openapi.json`, '--url', base, filter, ofVehicleData],
        ...headers.flatMap((header) => ['--header', header]),
        ...words,
      ],
      { cwd: folder.path },
    )

    expect(code, stdout + stderr).toBe(0)
    expect(stdout, service).toContain(`Tested: ${operations}`)
  }
})
