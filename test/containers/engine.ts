import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ended, outputOf, runCommand } from './command.ts'

/** Podman with folders and settings of its own: nothing in /etc, and no container or image of this machine, is touched. */
export interface Engine {
  /** The variables of podman and of clients of Docker, which reach its API by DOCKER_HOST. */
  readonly env: Readonly<Record<string, string>>
  /** What is stored between runs: the base images. */
  readonly store: string
  /** What is gone after a run. */
  readonly run: string
}

/** Folders and settings of the engine; starts nothing. */
export function describeEngine(): Engine {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const [store, run] = [join(cache, 'forecourt', 'containers'), join(tmpdir(), 'forecourt-podman')]
  return {
    ...{ store, run },
    env: {
      CONTAINERS_CONF: join(run, 'containers.conf'),
      CONTAINERS_STORAGE_CONF: join(run, 'storage.conf'),
      CONTAINERS_REGISTRIES_CONF: join(run, 'registries.conf'),
      // Podman would ask systemd for the timers of health checks. Without it: startHealthChecks.
      DISABLE_HC_SYSTEMD: 'true',
      // Its own format of images has no health check.
      BUILDAH_FORMAT: 'docker',
      DOCKER_HOST: `unix://${join(run, 'podman.sock')}`,
      TESTCONTAINERS_RYUK_DISABLED: 'true',
    },
  }
}

/** Runs podman to its end, whatever its exit code is. */
export async function tryPodman({ env }: Engine, ...args: readonly string[]): Promise<Ended> {
  return await runCommand(['podman', ...args], { env: { ...process.env, ...env }, seconds: 900 })
}

/** What podman writes to stdout; throws when it fails. */
export async function podman({ env }: Engine, ...args: readonly string[]): Promise<string> {
  return await outputOf(['podman', ...args], { env: { ...process.env, ...env }, seconds: 900 })
}

/** Writes the settings, removes what a killed run has left, and serves Docker's API. */
export async function startEngine(engine: Engine): Promise<AsyncDisposable> {
  await mkdir(engine.store, { recursive: true, mode: 0o700 })
  await mkdir(engine.run, { recursive: true, mode: 0o700 })
  const release = await claim(engine)
  await writeSettings(engine)
  await removeAll(engine)
  const socket = join(engine.run, 'podman.sock')
  await rm(socket, { force: true })
  const service = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], {
    env: { ...process.env, ...engine.env },
    stdio: 'ignore',
  })
  for (let waits = 0; !existsSync(socket) && waits < 100; waits++)
    await new Promise((done) => setTimeout(done, 100))
  return {
    async [Symbol.asyncDispose]() {
      await removeAll(engine)
      const ended = once(service, 'exit')
      service.kill('SIGTERM')
      await ended
      await release()
      await rm(engine.run, { recursive: true, force: true })
    },
  }
}

/** Two runs would remove each other's containers. */
async function claim({ store }: Engine): Promise<() => Promise<void>> {
  const file = join(store, 'run.pid')
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  if (pid > 0 && existsSync(`/proc/${pid}`))
    throw new Error(
      `Another run of test:containers is active (process ${pid}): wait for it, or remove ${file}`,
    )
  await writeFile(file, String(process.pid))
  return () => rm(file, { force: true })
}

/** runc and cgroupfs also work on a hybrid cgroup layout; podman asks for more open files than some machines allow. */
async function writeSettings({ env, store, run }: Engine): Promise<void> {
  const runc = existsSync('/usr/sbin/runc') ? '/usr/sbin/runc' : '/usr/bin/runc'
  await writeFile(
    env['CONTAINERS_CONF']!,
    `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
static_dir = "${store}/libpod"
volume_path = "${store}/volumes"
tmp_dir = "${run}/libpod"
[engine.runtimes]
runc = ["${runc}"]
[network]
network_backend = "netavark"
network_config_dir = "${store}/networks"
`,
  )
  await writeFile(
    env['CONTAINERS_STORAGE_CONF']!,
    `[storage]\ndriver = "overlay"\ngraphroot = "${store}"\nrunroot = "${run}/storage"\n`,
  )
  await writeFile(
    env['CONTAINERS_REGISTRIES_CONF']!,
    'unqualified-search-registries = ["docker.io"]\n',
  )
}

/** Everything except the base images, and the steps of builds of the last day, which the next build takes again. */
async function removeAll(engine: Engine): Promise<void> {
  await removeContainers(engine)
  await tryPodman(engine, 'image', 'rm', '--force', 'docker.io/library/forecourt')
  await podman(engine, 'image', 'prune', '--force', '--filter=until=24h')
}

/** Every container, pod, network, volume and secret of the engine. */
export async function removeContainers(engine: Engine): Promise<void> {
  await podman(engine, 'pod', 'rm', '--all', '--force', '--time=0')
  await podman(engine, 'rm', '--all', '--force', '--time=0')
  await podman(engine, 'network', 'prune', '--force')
  await podman(engine, 'volume', 'prune', '--force')
  for (const id of (await podman(engine, 'secret', 'ls', '--quiet')).split('\n').filter(Boolean))
    await podman(engine, 'secret', 'rm', id)
}
