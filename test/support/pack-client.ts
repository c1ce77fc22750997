import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// npm run client:pack -- [folder]: makes the package `forecourt-client` of what the built client imports.

const root = fileURLToPath(new URL('../..', import.meta.url))
const dist = join(root, 'dist')
const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** What a file imports, also the types of another one. */
const importPattern = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])(?<name>[^'"\n]+)\1/g

interface Imported {
  /** Paths of the files, the first one included. */
  readonly files: Set<string>
  readonly packages: Set<string>
}

/** A file of the build and everything that it imports. */
function imported(file: string, found: Imported): Imported {
  if (found.files.has(file)) return found
  found.files.add(file)
  const text = readFileSync(file, 'utf8')
  for (const { groups } of text.matchAll(importPattern)) {
    const name = groups!['name']!
    if (name.startsWith('.')) imported(fileOf(join(dirname(file), name), file), found)
    else if (!isBuiltin(name)) found.packages.add(packageOf(name))
  }
  return found
}

/** Types name the file that they belong to; tsc leaves the ending of a source in them. */
function fileOf(path: string, from: string): string {
  return from.endsWith('.d.ts') ? path.replace(/(?:\.d)?\.(?:ts|js)$/, '.d.ts') : path
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

const entryPath = ['.', 'src', 'api', 'client', 'client.js'].join('/')
const [oldest] = /\d+\.\d+/.exec(own.engines.node)!
const tooOld = `const [major, minor] = process.versions.node.split('.').map(Number)
const [leastMajor, leastMinor] = '${oldest}'.split('.').map(Number)
if (major < leastMajor || (major === leastMajor && minor < leastMinor))
  throw new Error('forecourt-client needs Node.js ${oldest} or newer, this is ' + process.versions.node + '.')
`
/** The client is imported after the check: an old Node refuses its syntax before any of it runs. */
const entry = `${tooOld}
const client = await import('${entryPath}')
export const { Client, openClient, SyncError, UsageError } = client
`
const commonJs = `${tooOld}
throw new Error("forecourt-client is an ES module: in CommonJS write const { openClient } = await import('forecourt-client').")
`

/** Makes the tarball in `to`, and returns what npm says of it. */
function packClient(to: string): string {
  const client = join(dist, 'src/api/client/client')
  const code = imported(`${client}.js`, { files: new Set(), packages: new Set() })
  const types = imported(`${client}.d.ts`, { files: new Set(), packages: new Set() })
  const folder = mkdtempSync(join(tmpdir(), 'forecourt-client-'))
  try {
    for (const file of code.files) copy(file, folder)
    for (const file of types.files) {
      const text = readFileSync(file, 'utf8')
      const named = text.replaceAll(/((?:from |import.)['"][.][^'"]*[.])ts(?=['"])/g, '$1js')
      write(join(folder, relative(dist, file)), named)
    }
    const packages = [...new Set([...code.packages, ...types.packages])].sort()
    write(join(folder, 'index.js'), entry)
    write(join(folder, 'index.d.ts'), `export * from '${entryPath}'\n`)
    write(join(folder, 'commonjs.cjs'), commonJs)
    // Only import() gives a program something.
    write(join(folder, 'commonjs.d.cts'), 'export {}\n')
    write(join(folder, 'package.json'), `${JSON.stringify(manifest(packages), null, 2)}\n`)
    cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    cpSync(join(root, 'src/api/client/README.md'), join(folder, 'README.md'))
    return execFileSync('npm', ['pack', '--json', '--pack-destination', to], {
      cwd: folder,
      encoding: 'utf8',
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function manifest(packages: readonly string[]): object {
  const { version, license, engines, dependencies } = own
  return {
    name: 'forecourt-client',
    version,
    description: 'Typed client of the appraisal and vehicle-data services.',
    license,
    type: 'module',
    exports: {
      '.': {
        import: { types: './index.d.ts', default: './index.js' },
        require: { types: './commonjs.d.cts', default: './commonjs.cjs' },
      },
      './package.json': './package.json',
    },
    engines,
    dependencies: Object.fromEntries(packages.map((name) => [name, versionOf(name, dependencies)])),
  }
}

function versionOf(name: string, dependencies: Readonly<Record<string, string>>): string {
  const version = dependencies[name]
  if (version !== undefined) return version
  throw new Error(`The client imports ${name}, which is not a dependency in package.json.`)
}

function copy(file: string, folder: string): void {
  write(join(folder, relative(dist, file)), readFileSync(file, 'utf8'))
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

process.stdout.write(packClient(process.argv[2] ?? root))
