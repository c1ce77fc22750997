import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parseConfig } from '#src/app/config/read.ts'
import { faultsOfCommand } from './command-lines.ts'

interface Container {
  readonly args: readonly string[]
  readonly livenessProbe?: { readonly httpGet: object }
  readonly readinessProbe?: { readonly httpGet: object }
}

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly spec?: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [Container]
        readonly terminationGracePeriodSeconds?: number
      }
    }
  }
}

const file = new URL('../../.deploy/kubernetes.yaml', import.meta.url)
const resources = parseAllDocuments(readFileSync(file, 'utf8')).map(
  (document) => document.toJS() as Resource,
)
const ofKind = (kind: string) => resources.filter((one) => one.kind === kind)

test('the manifest starts a migration, a scheduler, workers and a server, by commands that are there', () => {
  const commands = ['Job', 'Deployment'].flatMap((kind) =>
    ofKind(kind).map(({ spec }) => spec!.template.spec.containers[0].args),
  )

  expect(commands.map((args) => args.at(-1))).toEqual(['migrate', 'schedule', 'worker', 'serve'])
  expect(commands.flatMap((args) => faultsOfCommand(args))).toEqual([])
})

test('its pods are confined, have time to drain, and answer their probes on the port of operations', () => {
  for (const { kind, spec } of [...ofKind('Job'), ...ofKind('Deployment')]) {
    const { containers, ...pod } = spec!.template.spec
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
    })
    expect(containers[0]).toMatchObject({
      securityContext: {
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
      },
    })
    if (kind === 'Job') continue
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(30)
    expect(containers[0].livenessProbe!.httpGet).toEqual({ path: '/healthz', port: 9400 })
    expect(containers[0].readinessProbe!.httpGet).toEqual({ path: '/readyz', port: 9400 })
  }
})

test('its config is valid with the variables of its secret, which has no value of its own', () => {
  const [{ stringData: secret = {} } = {}] = ofKind('Secret')
  const text = ofKind('ConfigMap')[0]!.data!['forecourt.yaml']!
  const variables = Object.fromEntries(
    Object.keys(secret).map((name) => [name, 'postgres://user:password@host/of-the-test']),
  )

  expect(new Set(Object.values(secret))).toEqual(new Set(['']))
  const config = parseConfig(text, '/etc/forecourt/forecourt.yaml', { variables, cwd: '/data' })
  expect(config).toMatchObject({
    operations: { host: '0.0.0.0', port: 9400 },
    serve: { host: '0.0.0.0', port: 4020 },
  })
  // Each is used.
  for (const name of Object.keys(secret)) expect(text).toContain(`\${${name}}`)
})
