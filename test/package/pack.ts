import { execFile } from 'node:child_process'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What a developer may have left in a checkout, with a text that no file of the package may hold. */
export const planted = 'planted-secret-7c1e'
const privateFiles = ['.env', 'forecourt.yaml', '.npmrc.bak', '.forecourt/dump.sql', 'old-1.tgz']

/** What `npm pack` made. */
export interface Packed {
  readonly tarball: string
  /** Paths below the package. */
  readonly files: readonly string[]
  /** Bytes. */
  readonly size: number
  readonly unpackedSize: number
}

declare module 'vitest' {
  export interface ProvidedContext {
    packed: Packed
    /** The tarball of `forecourt-client`. */
    packedClient: string
  }
}

/** Packs once for all files, from a copy of the checkout: the `dist` of the checkout may be in use. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await temporaryFolder()
  provide('packed', await pack(folder))
  provide('packedClient', await packClient(folder))
  return async () => await folder[Symbol.asyncDispose]()
}

async function pack({ path }: TemporaryFolder): Promise<Packed> {
  const checkout = join(path, 'checkout')
  const { stdout: listed } = await run('git', ['ls-files', '-z', '-co', '--exclude-standard'], root)
  for (const file of listed.split('\0').filter(Boolean))
    await cp(join(root, file), join(checkout, file), { recursive: true })
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'))
  for (const file of privateFiles) {
    await mkdir(dirname(join(checkout, file)), { recursive: true })
    await writeFile(join(checkout, file), `PASSWORD=${planted}\n`)
  }
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--pack-destination', path, '--silent'],
    checkout,
  )
  const { filename, files, size, unpackedSize } = firstPack(stdout)
  return {
    tarball: join(path, filename),
    files: files.map((file) => file.path),
    size,
    unpackedSize,
  }
}

/** From the copy that `pack` made. */
async function packClient({ path }: TemporaryFolder): Promise<string> {
  const checkout = join(path, 'checkout')
  const { stdout } = await run('npm', ['run', '--silent', 'client:pack', '--', path], checkout)
  return join(path, firstPack(stdout).filename)
}

interface PackReport {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
  readonly size: number
  readonly unpackedSize: number
}

/** npm prints what `prepack` prints first; newer ones print an object by the name of the package. */
function firstPack(stdout: string): PackReport {
  const report: unknown = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)))
  const [first] = Object.values(report as Record<string, PackReport>)
  return first!
}

/** Runs a program without the variables that `npm run` sets and vitest's own: they would redirect an inner npm, and colour texts. */
export async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const ours = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|VITEST|NODE_ENV$|FORCE_COLOR$|INIT_CWD$)/.test(name),
  )
  return await promisify(execFile)(program, [...args], {
    cwd,
    env: { ...Object.fromEntries(ours), ...env },
    maxBuffer: 64 * 1024 * 1024,
  })
}
