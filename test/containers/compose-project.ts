import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Ended, runCommand } from './command.ts'
import { type Engine, podman, tryPodman } from './engine.ts'
import { freePorts } from './free-ports.ts'
import { startHealthChecks } from './health-checks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const password = 'of0the0containers0test'
const secrets = {
  POSTGRES_PASSWORD: password,
  FORECOURT_LINKS_TOKEN: 'links-of-the-containers-test-0001',
  FORECOURT_WEBHOOK_TOKEN: 'webhooks-of-the-containers-test-01',
}

/** A container as it is now. Its pid is that of this machine, 0 once it has ended. */
export interface Container {
  readonly id: string
  readonly service: string
  readonly pid: number
  readonly exitCode: number
  readonly health: string
  readonly finishedAt: Date
  readonly address: string
}

/** A service that was stopped: the seconds and exit codes of its containers. */
export interface Stopped {
  readonly service: string
  readonly seconds: number
  readonly exitCodes: readonly number[]
}

/** The services of docker-compose.yml, in a folder of their own. */
export interface ComposeProject extends AsyncDisposable {
  /** The warehouse, by the port that the compose file publishes. */
  readonly warehouse: string
  readonly ports: { readonly postgres: number; readonly sandbox: number; readonly serve: number }
  compose(...args: readonly string[]): Promise<Ended>
  containers(service?: string): Promise<readonly Container[]>
  stop(service: string): Promise<Stopped>
  /** Runs a command in the first container of a service. */
  exec(service: string, ...command: readonly string[]): Promise<Ended>
  logs(): Promise<string>
}

/**
 * Copies the compose file and its config. What is changed: the ports of this machine, which may be taken, and the minute of the
 * nightly job. Starts nothing.
 */
export async function composeProject(engine: Engine): Promise<ComposeProject> {
  const folder = await temporaryFolder()
  const [postgres, sandbox, serve] = (await freePorts(3)) as [number, number, number]
  let text = await readFile(join(root, 'docker-compose.yml'), 'utf8')
  for (const [from, to] of [
    ...([[5432, postgres] as const, [4010, sandbox] as const, [4020, serve] as const] as const),
  ]) {
    if (!text.includes(`127.0.0.1:${from}:`)) throw new Error(`No service publishes ${from}`)
    text = text.replace(`127.0.0.1:${from}:`, `127.0.0.1:${to}:`)
  }
  await writeFile(join(folder.path, 'docker-compose.yml'), text)
  await cp(join(root, '.deploy'), join(folder.path, '.deploy'), { recursive: true })
  await writeFile(
    join(folder.path, '.deploy/compose/config.yaml'),
    `\njobs: { nightly: { schedule: "* * * * *", timezone: UTC } }\n`,
    { flag: 'a' },
  )
  const env = { ...process.env, ...engine.env, ...secrets, COMPOSE_PROJECT_NAME: 'forecourt-test' }
  const compose = async (...args: readonly string[]) =>
    await runCommand(['docker-compose', ...args], { cwd: folder.path, env, seconds: 300 })
  const checks = startHealthChecks(engine)
  const containers = async (service?: string) => await listContainers(engine, service)
  return {
    warehouse: `postgres://forecourt:${password}@127.0.0.1:${postgres}/forecourt`,
    ports: { postgres, sandbox, serve },
    ...{ compose, containers },
    async stop(service) {
      const from = Date.now()
      await compose('stop', service)
      const ended = await containers(service)
      const last = Math.max(...ended.map(({ finishedAt }) => finishedAt.getTime()))
      const exitCodes = ended.map(({ exitCode }) => exitCode)
      return { service, seconds: Math.max(0, last - from) / 1000, exitCodes }
    },
    async exec(service, ...command) {
      const [first] = await containers(service)
      return await tryPodman(engine, 'exec', first!.id, ...command)
    },
    async logs() {
      const { stdout, stderr } = await compose('logs', '--no-color', '--tail=40')
      return stdout + stderr
    },
    async [Symbol.asyncDispose]() {
      await checks[Symbol.asyncDispose]()
      await compose('down', '--volumes', '--timeout=1')
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function listContainers(engine: Engine, service?: string): Promise<readonly Container[]> {
  const label = 'com.docker.compose.service'
  const filter = service === undefined ? label : `${label}=${service}`
  const listed = await podman(engine, 'ps', '--all', '--quiet', `--filter=label=${filter}`)
  const ids = listed.split('\n').filter(Boolean)
  if (ids.length === 0) return []
  const found = JSON.parse(await podman(engine, 'inspect', ...ids)) as Inspected[]
  return found.map(({ Id, State, Config, NetworkSettings }) => ({
    id: Id,
    service: Config.Labels[label]!,
    pid: State.Pid,
    exitCode: State.ExitCode,
    health: State.Health?.Status ?? State.Healthcheck?.Status ?? '',
    finishedAt: new Date(State.FinishedAt),
    address: Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? '',
  }))
}

interface Inspected {
  readonly Id: string
  readonly State: {
    readonly Pid: number
    readonly ExitCode: number
    readonly FinishedAt: string
    readonly Health?: { readonly Status: string }
    readonly Healthcheck?: { readonly Status: string }
  }
  readonly Config: { readonly Labels: Readonly<Record<string, string>> }
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>>
  }
}
