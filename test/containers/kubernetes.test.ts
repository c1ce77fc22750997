import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, inject, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { podman, removeContainers, tryPodman } from './engine.ts'
import { image } from './image.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const network = 'forecourt-kube'
const password = 'of0the0kubernetes0test'
const secrets: Readonly<Record<string, string>> = {
  DATABASE_URL: `postgres://forecourt:${password}@postgres:5432/forecourt`,
  FORECOURT_LINKS_TOKEN: 'links-of-the-kubernetes-test-0001',
  FORECOURT_WEBHOOK_TOKEN: 'webhooks-of-the-kubernetes-test-01',
}

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: { readonly template: { readonly metadata: object; readonly spec: PodSpec } }
  readonly [part: string]: unknown
}

interface PodSpec {
  readonly containers: readonly { readonly name: string; readonly ports?: unknown }[]
  readonly [part: string]: unknown
}

const file = readFileSync(join(root, '.deploy/kubernetes.yaml'), 'utf8')
const resources = parseAllDocuments(file).map((document) => document.toJS() as Resource)

/**
 * The manifest with the sandbox as its source. A Job is played as the pod of its template, because Podman 4 knows no Job; and no port
 * of a container is named, because Podman would publish it on this machine.
 */
function played(kinds: readonly string[]): string {
  const config = readFileSync(join(root, '.deploy/compose/config.yaml'), 'utf8')
  const changes: Readonly<Record<string, (one: Resource) => object>> = {
    ConfigMap: (one) => ({ ...one, data: { 'forecourt.yaml': config } }),
    Deployment: (one) => ({ ...one, spec: { ...one.spec, template: withoutPorts(one) } }),
    Job: ({ metadata, spec }) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', spec: spec!.template.spec },
      metadata: { ...spec!.template.metadata, name: metadata.name },
    }),
  }
  return resources
    .filter(({ kind }) => kinds.includes(kind))
    .map((one) => stringify(changes[one.kind]?.(one) ?? one, { aliasDuplicateObjects: false }))
    .join('---\n')
}

function withoutPorts({ spec }: Resource): object {
  const { metadata, spec: pod } = spec!.template
  const containers = pod.containers.map(({ ports: _published, ...rest }) => rest)
  return { metadata, spec: { ...pod, containers } }
}

async function play(folder: string, ...kinds: readonly string[]): Promise<void> {
  const path = join(folder, `${kinds.at(-1)}.yaml`)
  await writeFile(path, played(kinds))
  await podman(inject('engine'), 'kube', 'play', `--network=${network}`, path)
}

/** Podman 4 stores a Secret of a manifest in a form that it then cannot use for variables: it wants the values as JSON. */
async function createSecret(folder: string): Promise<void> {
  const { metadata } = resources.find(({ kind }) => kind === 'Secret')!
  const path = join(folder, 'secret.json')
  const encoded = Object.entries(secrets).map(([name, text]) => [name, btoa(text)])
  await writeFile(path, JSON.stringify(Object.fromEntries(encoded)), { mode: 0o600 })
  await podman(inject('engine'), 'secret', 'create', metadata.name, path)
}

/** Postgres and the sandbox, as the cluster would have them. */
async function startSurroundings(): Promise<void> {
  const engine = inject('engine')
  await podman(engine, 'network', 'create', network)
  const run = ['run', '--detach', `--network=${network}`, '--health-cmd=none']
  await podman(
    ...([engine, ...run, '--network-alias=postgres', '--env=POSTGRES_USER=forecourt'] as const),
    ...[`--env=POSTGRES_PASSWORD=${password}`, '--env=POSTGRES_DB=forecourt', 'postgres:18'],
  )
  await podman(
    ...([
      engine,
      ...run,
      '--network-alias=sandbox',
      image,
      'sandbox',
      '--host',
      'sandbox',
    ] as const),
    ...['--seed', '1', '--rooftops', '6', '--evals', '300'],
  )
}

async function inspect<Found>(name: string): Promise<Found> {
  return JSON.parse(await podman(inject('engine'), 'inspect', name))[0]
}

interface Inspected {
  readonly State: {
    readonly Status: string
    readonly ExitCode: number
    readonly FinishedAt: string
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let waits = 0; waits < 240; waits++) {
    if (await holds()) return
    await sleep(500)
  }
  throw new Error(`Not within 2 minutes: ${what}`)
}

afterEach(() => removeContainers(inject('engine')))

const commands = ['schedule', 'worker', 'serve'] as const
const containerOf = (command: string) => `forecourt-${command}-pod-0-${command}`
const config = ['--config', '/etc/forecourt/forecourt.yaml']

test('the manifest migrates the warehouse, becomes ready, runs a night, and stops in time', async () => {
  const engine = inject('engine')
  await using folder = await temporaryFolder(0o700)
  await startSurroundings()
  await createSecret(folder.path)
  await play(folder.path, 'ConfigMap', 'Job')
  const job = 'forecourt-migrate-migrate'
  await until('the schema', async () => {
    const { State } = await inspect<Inspected>(job)
    return State.Status === 'exited' && State.ExitCode === 0
  })
  await podman(engine, 'pod', 'rm', '--force', 'forecourt-migrate')
  await play(folder.path, 'ConfigMap', 'Deployment')
  for (const command of commands) await until(`${command} is ready`, () => isReady(command))

  for (const command of commands) await expectConfined(containerOf(command))
  const main = ['exec', containerOf('serve'), 'node', '/app/dist/src/main.js', ...config]
  const night = await tryPodman(engine, ...main, 'run', 'nightly')
  const verified = await tryPodman(engine, ...main, 'verify', '--rows')
  expect({ night, verified }).toMatchObject({ night: { code: 0 }, verified: { code: 0 } })
  for (const command of commands) {
    const [from, name] = [Date.now(), containerOf(command)]
    await podman(engine, 'stop', '--time=40', name)
    const { State } = await inspect<Inspected>(name)
    const seconds = (new Date(State.FinishedAt).getTime() - from) / 1000
    console.log(`Pod of ${command}: stopped in ${seconds.toFixed(1)} s`)
    expect({ command, code: State.ExitCode }).toEqual({ command, code: 143 })
  }
})

/** Asks the address of the probe, as a kubelet does from outside the pod. */
async function isReady(command: string): Promise<boolean> {
  const { spec } = resources.find(({ metadata }) => metadata.name === `forecourt-${command}`)!
  const [{ readinessProbe: probe }] = spec!.template.spec.containers as never as [
    { readinessProbe: { httpGet: { path: string; port: number } } },
  ]
  const address = await podman(
    ...([inject('engine'), 'pod', 'inspect', '--format', '{{.InfraContainerID}}'] as const),
    `forecourt-${command}-pod-0`,
  )
  const infra = await inspect<{
    NetworkSettings: { Networks: Record<string, { IPAddress: string }> }
  }>(address)
  const { path, port } = probe.httpGet
  const host = infra.NetworkSettings.Networks[network]!.IPAddress
  return await fetch(`http://${host}:${port}${path}`).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function expectConfined(container: string): Promise<void> {
  const script = 'id -u; grep CapEff /proc/1/status; touch /app/x 2> /dev/null || echo read-only'
  const { stdout } = await tryPodman(inject('engine'), 'exec', container, 'sh', '-c', script)

  expect(stdout).toMatch(/^1000\nCapEff:\s+0{16}\nread-only\n$/)
}
