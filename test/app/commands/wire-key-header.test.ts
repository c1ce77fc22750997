import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const now = new Date('2026-03-10T06:30:00Z')

test.for([
  ['Authorization', '', 2, {}],
  ['Authorization', 'Bearer ', 3, { authPrefix: 'Bearer ' }],
  ['X-API-Key', '', 4, { authHeader: 'X-API-Key' }],
  ['Ocp-Apim-Subscription-Key', '', 7, { authHeader: 'Ocp-Apim-Subscription-Key' }],
] as const)(
  'the key in "%s: %s" is found, and a second try confirms it',
  async ([authHeader, authPrefix, calls, changes]) => {
    const wire = wireSettings.parse({ appraisal: { authHeader, authPrefix } })
    await using sandbox = await startSandbox({ seed: 4, evaluations: 20, now, wire })
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'forecourt.yaml')
    await writeFile(file, stringify(sandbox.clientConfig()))
    const run = async (...more: string[]) => {
      const before = sandbox.requests.count()
      const { code, stdout } = await runInProcess(['wire', 'check', '--key-header', ...more], {
        cwd: folder.path,
      })
      return { code, stdout, sent: sandbox.requests.count() - before }
    }

    const plan = await run('--dry-run')
    const found = await run('--json')
    const written = await run('--write')
    const again = await run('--json')

    expect(plan).toMatchObject({ code: 0, sent: 0 })
    expect(plan.stdout).toMatch(/^At most 7 calls/)
    const isRight = Object.keys(changes).length === 0
    expect(found).toMatchObject({ code: isRight ? 0 : 1, sent: calls })
    expect(JSON.parse(found.stdout)).toMatchObject({
      authHeader,
      authPrefix,
      isProved: true,
      calls,
    })
    expect(written.code).toBe(0)
    const { wire: set = {} } = parse(await readFile(file, 'utf8')) as { wire?: object }
    expect(set).toEqual(isRight ? {} : { appraisal: changes })
    expect(again).toMatchObject({ code: 0, sent: 2 })
  },
)

/** A service that answers each call with a status and a body, and counts them. */
async function openService(status: number, headers: Readonly<Record<string, string>> = {}) {
  let calls = 0
  const server = createServer((_, response) => {
    calls += 1
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('[]')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    calls: () => calls,
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  }
}

test('an open door, a key that nothing takes, and a redirect prove nothing', async () => {
  await using folder = await temporaryFolder()
  await using other = await openService(200)
  await using open = await openService(200)
  await using closed = await openService(403)
  await using redirect = await openService(302, { location: other.url })
  await using sandbox = await startSandbox({ seed: 4, evaluations: 0, now })
  const config = sandbox.clientConfig()
  const [key] = Object.keys(config.keys)
  const run = async (baseUrl: string) => {
    const text = stringify({ ...config, appraisal: { ...config.appraisal, baseUrl } })
    await writeFile(join(folder.path, 'forecourt.yaml'), text)
    return await runInProcess(['wire', 'check', '--key-header', '--write'], { cwd: folder.path })
  }

  const [atOpen, atClosed, atRedirect] = [
    await run(open.url),
    await run(closed.url),
    await run(redirect.url),
  ]

  expect(atOpen).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('to a wrong key as well') as string,
  })
  expect(open.calls()).toBe(2)
  expect(atClosed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`takes key ${key} in no known form`) as string,
  })
  expect(closed.calls()).toBe(6)
  expect(atRedirect.code).not.toBe(0)
  expect([redirect.calls(), other.calls()]).toEqual([1, 0])
  const shown = JSON.stringify([atOpen, atClosed, atRedirect])
  expect(Object.values(config.keys).filter(({ value }) => shown.includes(value))).toEqual([])
})
