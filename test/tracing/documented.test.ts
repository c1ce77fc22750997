import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { startSandbox } from '#src/sandbox/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the SDK of the page sends the spans of a command before it ends, with a copy of the API of its own', async () => {
  await using folder = await temporaryFolder()
  await using sandbox = await startSandbox({ evaluations: 20 })
  await using collector = await startCollector()
  const page = await readFile(join(root, 'src/web/operations/README.md'), 'utf8')
  const [, code] = /^```js\n\/\/ tracing\.mjs\n([\s\S]*?)^```/m.exec(page)!
  await writeFile(join(folder.path, 'tracing.mjs'), code!)
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(sandbox.clientConfig()))
  await cp(
    join(root, 'node_modules/@opentelemetry'),
    join(folder.path, 'node_modules/@opentelemetry'),
    {
      recursive: true,
    },
  )

  const [rooftop] = sandbox.clientConfig().rooftops
  const args = ['--json', 'api', 'getuserlist', '--rooftop', rooftop!.uid]
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(root, 'src/main.ts'), ...args],
    {
      cwd: folder.path,
      env: {
        ...process.env,
        NODE_OPTIONS: `--import ${join(folder.path, 'tracing.mjs')}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      },
    },
  )

  expect(JSON.parse(stdout)).toBeTruthy()
  expect(collector.received.map(({ path }) => path)).toEqual(['/v1/traces'])
  const { resourceSpans } = JSON.parse(collector.received[0]!.body)
  const [{ resource, scopeSpans }] = resourceSpans
  expect(resource.attributes).toContainEqual({
    key: 'service.name',
    value: { stringValue: 'forecourt' },
  })
  expect(scopeSpans[0].scope.name).toBe('forecourt')
  expect(scopeSpans[0].spans.map(({ name }: { name: string }) => name)).toEqual([
    'POST /getuserlist',
  ])
})

/** A listener in place of a collector. */
async function startCollector() {
  const received: { readonly path: string; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    received.push({ path: request.url ?? '', body: Buffer.concat(chunks).toString() })
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
