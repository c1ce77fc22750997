import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { allOperations } from '#src/contract/operations.ts'
import { aRooftop, worldOf } from '../support/build-world.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'

const start = () => startSandbox({ evaluations: 60 })

function originOf({ baseUrl }: Sandbox): string {
  return new URL(baseUrl).origin
}

async function rootPage(sandbox: Sandbox): Promise<string> {
  return await (await fetch(`${originOf(sandbox)}/`)).text()
}

/** The assets and links of a document. */
function linksIn(html: string): string[] {
  return [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link!)
}

function unescaped(html: string): string {
  const signs = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' }
  return html.replace(/&(lt|gt|quot|#39|amp);/g, (name) => signs[name as keyof typeof signs])
}

function commandsIn(html: string, title: string): string[] {
  const figures = html.matchAll(/<figcaption>([^<]*)<\/figcaption>\s*<pre[^>]*><code[^>]*>([^<]*)/g)
  return [...figures].filter(([, one]) => one === title).map(([, , text]) => unescaped(text!))
}

/** The words of a command as a POSIX shell reads it. */
function shellWords(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').matchAll(/(?:'[^']*'|\\'|[^\s'\\]+)+/g)
  return [...words].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(')/g, (_, inner = '', quote = '') => inner + quote),
  )
}

/** Sends what curl would send; `photo.jpg` is a small picture. */
async function sendCurl(command: string): Promise<Response> {
  const words = shellWords(command)
  const valuesOf = (flag: string) => words.filter((_, index) => words[index - 1] === flag)
  const form = new FormData()
  for (const field of valuesOf('-F')) {
    const [, name = '', text = ''] = /^([^=]+)=(.*)$/s.exec(field) ?? []
    form.append(name, text.startsWith('@photo.jpg') ? await photo() : text)
  }
  const headers = valuesOf('-H').map((header) => header.split(': ', 2) as [string, string])
  const body = [...form.keys()].length > 0 ? form : valuesOf('-d')[0]
  const [method = 'GET'] = valuesOf('-X')
  const url = words.find((word) => word.startsWith('http://'))!
  return await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
}

async function photo(): Promise<Blob> {
  const create = { width: 8, height: 8, channels: 3, background: 'red' } as const
  return new Blob([Uint8Array.from(await sharp({ create }).jpeg().toBuffer())])
}

test('the page is at the root of both origins and loads nothing', async () => {
  await using sandbox = await start()

  for (const origin of [originOf(sandbox), sandbox.vehicleDataUrl]) {
    const response = await fetch(`${origin}/`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const page = await response.text()
    expect(page).not.toMatch(/<(?:img|iframe|link rel="stylesheet"|script [^>]*src)/)
    const paths = linksIn(page).filter((link) => !link.startsWith('#') && !link.startsWith('data:'))
    expect(new Set(paths)).toEqual(new Set(['/docs', '/openapi.json']))
    expect(
      linksIn(page).filter(
        (link) => link.startsWith('#') && !page.includes(`id="${link.slice(1)}"`),
      ),
    ).toEqual([])
  }
})

test('the policy of the page allows its own style and script', async () => {
  await using sandbox = await start()

  const response = await fetch(`${originOf(sandbox)}/`)

  const policy = response.headers.get('content-security-policy')
  const page = await response.text()
  for (const tag of ['style', 'script']) {
    const [, text = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page) ?? []
    const hash = createHash('sha256').update(text).digest('base64')
    expect(policy).toContain(`${tag}-src 'sha256-${hash}'`)
  }
})

test('the page shows the addresses of the services, the keys, the rooftops and the sample VINs', async () => {
  await using sandbox = await start()
  const { baseUrl, vehicleDataUrl, vehicleDataKey, world } = sandbox

  const page = await rootPage(sandbox)

  const shown = [
    baseUrl,
    vehicleDataUrl,
    vehicleDataKey,
    ...world.keys.map(({ value }) => value),
    ...world.rooftops.map(({ uid }) => uid),
    ...Object.values(samples).map(({ vin }) => vin),
  ]
  for (const text of shown) expect(page).toContain(`<code data-copy>${text}</code>`)
})

test('every operation is on the page, with its effect and its command', async () => {
  await using sandbox = await start()

  const page = await rootPage(sandbox)

  const commands = commandsIn(page, 'forecourt')
  expect(commands).toHaveLength(allOperations.length)
  for (const [index, { name, effect }] of allOperations.entries()) {
    expect(page).toContain(`id="op-${name}"`)
    expect(commands[index]).toMatch(new RegExp(`^forecourt api ${name}( |$)`))
    expect(commands[index]?.includes('--yes')).toBe(effect !== 'read')
  }
})

test('every curl command of the page succeeds as documented, except for ids that were never issued', async () => {
  await using sandbox = await start()
  const commands = commandsIn(await rootPage(sandbox), 'curl')

  const statuses: Record<string, number> = {}
  for (const [index, { name }] of allOperations.entries())
    statuses[name] = (await sendCurl(commands[index]!)).status

  const expected = allOperations.map(({ name, status }) => [name, status])
  expect(statuses).toEqual({
    ...Object.fromEntries(expected),
    // The VINs of the AU samples answer 200 [A §4 /entervin].
    entervin: 200,
    'ppsrNewSearch-watch': 404,
    'price-batch-status': 404,
    'prediction-status': 404,
  })
})

test('the control commands of the page are answered', async () => {
  await using sandbox = await start()
  const page = await rootPage(sandbox)
  const commands = [...page.matchAll(/<figcaption>(\w+ \/sandbox\/\w+)</g)].map(([, one]) => one!)

  expect(commands).toHaveLength(11)
  for (const title of commands) {
    const [command = ''] = commandsIn(page, title)
    expect([title, (await sendCurl(command)).status]).toEqual([title, 200])
  }
})

test('examples use the wire names in force, and the page shows which are changed', async () => {
  const wire = wireSettings.parse({
    appraisal: { authHeader: 'X-Api-Key', authPrefix: 'Key ' },
    vehicleData: { auDecode: { vin: 'chassis' } },
  })
  await using sandbox = await startSandbox({ evaluations: 60, wire })

  const page = await rootPage(sandbox)

  expect(page).toContain('3 of ')
  expect(page).toContain('<code>wire.vehicleData.auDecode.vin</code>')
  const commands = commandsIn(page, 'curl')
  const commandOf = (wanted: string) =>
    commands[allOperations.findIndex(({ name }) => name === wanted)]!
  expect(commandOf('geteval')).toContain("-H 'X-Api-Key: Key sandbox-au-")
  expect((await sendCurl(commandOf('geteval'))).status).toBe(200)
  expect(commandOf('vindatabasic')).toContain("-F 'chassis=SAMPLEAU000000001'")
  expect((await sendCurl(commandOf('vindatabasic'))).status).toBe(200)
})

test('values of the world are escaped', async () => {
  const name = `<script>alert("x")</script>'&`
  await using sandbox = await startSandbox({ world: worldOf({ rooftops: [aRooftop({ name })] }) })

  const page = await rootPage(sandbox)

  expect(page).not.toContain('<script>alert')
  expect(page).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;')
})

test('every asset of the viewer is served here, cached by its version', async () => {
  await using sandbox = await start()
  const origin = originOf(sandbox)

  const page = await (await fetch(`${origin}/docs`)).text()

  const assets = linksIn(page)
  expect(assets).toHaveLength(4)
  const types = await Promise.all(
    assets.map(async (path) => {
      expect(path).toMatch(/^\/docs\//)
      const response = await fetch(origin + path)
      expect([path, response.status]).toEqual([path, 200])
      expect((await response.bytes()).length).toBeGreaterThan(100)
      return response.headers.get('content-type')
    }),
  )
  const script = 'text/javascript; charset=utf-8'
  expect(types).toEqual(['image/png', 'text/css; charset=utf-8', script, script])
  const bundle = `${origin}/docs/swagger-ui-bundle.js`
  const tag = (await fetch(bundle)).headers.get('etag')!
  expect((await fetch(bundle, { headers: { 'if-none-match': tag } })).status).toBe(304)
})

test.each([
  '/docs/package.json',
  '/docs/..%2Fpackage.json',
  '/docs/%2e%2e/package.json',
  '/docs/../../package.json',
])('nothing else of the package is served: %s', async (path) => {
  await using sandbox = await start()

  expect((await fetch(originOf(sandbox) + path)).status).toBe(404)
})

test('a page of this machine may call the services from another port, others may not', async () => {
  await using sandbox = await start()
  const preflight = (origin: string) =>
    fetch(`${sandbox.vehicleDataUrl}/v1/vindatabasic`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })

  const local = await preflight('http://127.0.0.1:4010')
  const foreign = await preflight('http://127.0.0.1.example.com')

  expect([local.status, local.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'http://127.0.0.1:4010',
  ])
  expect(local.headers.get('access-control-allow-headers')).toBe('authorization')
  expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([404, null])
})

test('requests for the pages are not in the request log', async () => {
  await using sandbox = await start()

  for (const path of ['/', '/docs', '/openapi.json']) await fetch(originOf(sandbox) + path)

  expect(sandbox.requests.count()).toBe(0)
})
