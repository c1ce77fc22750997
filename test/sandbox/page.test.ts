import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { faultKinds } from '#src/sandbox/faults.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'
import { aRooftop, worldOf } from '../support/build-world.ts'

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

/** The curl commands of the page, each as words of a POSIX shell. */
function commandsIn(html: string): string[][] {
  return [...html.matchAll(/<code>(curl [^<]*)</g)].map(([, text]) => {
    const command = text!.replaceAll(/&#(\d+);/g, (_, sign) => String.fromCharCode(Number(sign)))
    return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
  })
}

/** Sends what curl would send. */
async function sendCurl(words: readonly string[]): Promise<Response> {
  const after = (flag: string) => words[words.indexOf(flag) + 1]!
  const [name, value] = words.includes('-H') ? after('-H').split(': ', 2) : []
  return await fetch(words.find((word) => word.startsWith('http://'))!, {
    method: after('-X'),
    ...(name === undefined ? {} : { headers: { [name]: value! }, body: after('-d') }),
  })
}

test('the page is at the root of both origins and loads nothing', async () => {
  await using sandbox = await start()

  for (const origin of [originOf(sandbox), sandbox.vehicleDataUrl]) {
    const response = await fetch(`${origin}/`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const page = await response.text()
    expect(page).not.toMatch(/<(?:img|iframe|link rel="stylesheet"|script [^>]*src)/)
    const paths = linksIn(page).filter((link) => link !== 'data:,')
    expect(new Set(paths)).toEqual(new Set(['/openapi.json']))
  }
})

test('the policy of the page allows its own style, and no script', async () => {
  await using sandbox = await start()

  const response = await fetch(`${originOf(sandbox)}/`)

  const policy = response.headers.get('content-security-policy')
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(await response.text()) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain(`style-src 'sha256-${hash}'`)
  expect(policy).not.toContain('script-src')
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
  for (const text of shown) expect(page).toContain(`<code>${text}</code>`)
})

test('the control commands of the page are answered', async () => {
  await using sandbox = await start()
  const commands = commandsIn(await rootPage(sandbox))

  expect(commands).toHaveLength(11)
  for (const command of commands)
    expect([command, (await sendCurl(command)).status]).toEqual([command, 200])
})

test('the page counts the answered requests by path', async () => {
  await using sandbox = await start()
  for (let sent = 0; sent < 3; sent++) await fetch(`${sandbox.baseUrl}/geteval`, { method: 'POST' })

  expect(await rootPage(sandbox)).toContain('<td><code>/geteval</code></td><td>3</td>')
})

test('the page shows which wire names are changed', async () => {
  const wire = wireSettings.parse({
    appraisal: { authHeader: 'X-Api-Key', authPrefix: 'Key ' },
    vehicleData: { auDecode: { vin: 'chassis' } },
  })
  await using usual = await start()
  await using changed = await startSandbox({ evaluations: 60, wire })

  const page = await rootPage(changed)

  expect(await rootPage(usual)).toContain('all of them are at their defaults')
  expect(page).toContain('3 differ from the default')
  expect(page).toContain(
    '<td><code>wire.vehicleData.auDecode.vin</code></td><td><code>&#34;chassis&#34;</code></td>',
  )
  expect(page).toContain('<code>X-Api-Key: Key &#60;key&#62;</code>')
})

test('values of the world are escaped', async () => {
  const name = `<script>alert("x")</script>'&`
  await using sandbox = await startSandbox({ world: worldOf({ rooftops: [aRooftop({ name })] }) })

  const page = await rootPage(sandbox)

  expect(page).not.toContain('<script>alert')
  expect(page).toContain('&#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62;&#39;&#38;')
})

test('requests for the pages are not in the request log', async () => {
  await using sandbox = await start()

  for (const path of ['/', '/openapi.json']) await fetch(originOf(sandbox) + path)

  expect(sandbox.requests.count()).toBe(0)
})

test('the page lists every kind of fault with its settings', async () => {
  await using sandbox = await start()

  const page = await rootPage(sandbox)

  for (const { kind, settings } of faultKinds)
    expect(page).toContain(`<td><code>${kind}</code></td><td>${settings.join(', ')}</td>`)
  expect(page).toContain('<code>listCap</code></td><td>cap, order</td>')
})
