import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { outputOf } from './command.ts'
import { type Engine, podman } from './engine.ts'

/** As compose names it. */
export const image = 'docker.io/library/forecourt:latest'

/** Builds the Dockerfile, with this machine's npm settings as secrets that no layer holds. */
export async function buildImage(engine: Engine, root: string): Promise<void> {
  await using folder = await temporaryFolder(0o700)
  const npmrc = join(folder.path, 'npmrc')
  await writeFile(npmrc, await npmSettings(), { mode: 0o600 })
  await podman(
    ...([engine, 'build', '--network=host', `--secret=id=npmrc,src=${npmrc}`] as const),
    ...[`--secret=id=ca,src=${await authorities()}`, `--tag=${image}`, root],
  )
}

/** The user's own settings and the registry in force; certificates are where the build has them. */
async function npmSettings(): Promise<string> {
  const file = await npmConfig('userconfig')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return [
    ...lines.filter((line) => !/^\s*(cafile|nodedir|prefix|cache|registry)\s*=/.test(line)),
    `registry=${await npmConfig('registry')}`,
    'cafile=/run/secrets/ca',
    '',
  ].join('\n')
}

async function authorities(): Promise<string> {
  const named = [await npmConfig('cafile'), process.env['NODE_EXTRA_CA_CERTS'] ?? '']
  return named.find((file) => existsSync(file)) ?? '/etc/ssl/certs/ca-certificates.crt'
}

async function npmConfig(name: string): Promise<string> {
  return await outputOf(['npm', 'config', 'get', name])
}
