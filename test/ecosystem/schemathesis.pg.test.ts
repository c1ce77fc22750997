import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastify from 'fastify'
import { expect } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { html } from '#src/values/html.ts'
import { serveConsole } from '#src/web/console/console.ts'
import { type AnyPage, definePage } from '#src/web/console/page.ts'
import { pages } from '#src/web/console/pages.ts'
import { reportedFixture } from '../support/reports-fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type ConsoleFixture, openConsole } from '../web/console/console-fixture.ts'
import { addressesOf, consoleDocument } from './console-document.ts'
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

/** What schemathesis says of these pages. */
async function callPages(
  console: ConsoleFixture,
  served: readonly AnyPage[],
  addresses: typeof addressesOf = addressesOf,
) {
  await using folder = await temporaryFolder()
  const document = join(folder.path, 'console.json')
  await writeFile(document, JSON.stringify(await consoleDocument(console, served, addresses)))
  const app = fastify()
  await serveConsole(app, { context: console.context, pages: served })
  try {
    const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/console`
    const headers = [`Cookie: ${await console.cookie('engineer')}`, 'Accept: application/json']
    return await schemathesis.run(
      'st',
      [
        ...['run', document, '--url', url, ...words],
        ...headers.flatMap((header) => ['--header', header]),
      ],
      { cwd: folder.path },
    )
  } finally {
    await app.close()
  }
}

schemathesis.test(
  'every page of the console answers programs in one shape, whatever the address',
  async () => {
    await using console = await openConsole({ fixture: await reportedFixture(7, 120) })

    const { code, stdout, stderr } = await callPages(console, pages)

    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain(`Tested: ${pages.length}`)
  },
)

schemathesis.test(
  'a page that fails at a text, and one with another shape, are found',
  async () => {
    await using console = await openConsole()
    const planted = (path: string, read: (text: string) => object) =>
      definePage({
        ...{ path, title: path, question: '', roles: ['engineer'], draw: () => html`` },
        read: async ({ query }) => read(query['q'] ?? ''),
      })
    const served = [
      planted('/fails', (text) => {
        if (/[^0-9]/.test(text)) throw new Error('planted')
        return { found: 1 }
      }),
      planted('/differs', (text) => (text === '' ? { found: 1 } : { found: 'none' })),
      planted('/lacks', (text) => (text === '' ? { found: 1, more: 1 } : { found: 1 })),
      planted('/sound', () => ({ found: 1 })),
    ]

    const { code, stdout } = await callPages(console, served, (page) => [page])

    const found = [...stdout.matchAll(/_ GET (\S+) _+\n+1\. .*\n+- (?:\w+ )?(.*)/g)]
    expect([code, Object.fromEntries(found.map(([, path, fault]) => [path, fault]))]).toEqual([
      1,
      {
        '/differs': 'Response violates schema',
        '/fails': 'Server error',
        '/lacks': 'Response violates schema',
      },
    ])
  },
)
