import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { parse, stringify } from 'yaml'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { openBusyEndpoints } from '../web/operations/endpoints.ts'
import { drawnQueries, prometheusFolder, rulesOf } from '../web/operations/metrics-used.ts'
import { type AlertCase, alertCases, type Input } from './alert-cases.ts'
import { testWith } from './test-with.ts'

const run = promisify(execFile)
const ruleFiles = ['recording-rules.yml', 'alerts.yml'].map((file) => join(prometheusFolder, file))

testWith('Prometheus', 'promtool finds no fault with the config and the rules', async () => {
  const { stdout } = await run('promtool', [
    'check',
    'config',
    join(prometheusFolder, 'prometheus.yml'),
  ])

  expect(stdout).toContain(`${rulesOf('recording-rules.yml').length} rules found`)
  expect(stdout).toContain(`${rulesOf('alerts.yml').length} rules found`)
})

function testOf(alert: string, after: number, input: Input, count: number): object {
  return {
    interval: '1m',
    input_series: Object.entries(input).map(([series, value]) => ({
      series,
      values: typeof value === 'number' ? `${value}+0x${after}` : value,
    })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`,
        eval_time: `${after}m`,
        exp_samples: [{ labels: '{}', value: count }],
      },
    ],
  }
}

function testsOf({ alert, after, active, silent }: AlertCase): object[] {
  return [testOf(alert, after, active, 1), ...silent.map((input) => testOf(alert, after, input, 0))]
}

testWith(
  'Prometheus',
  'each alert becomes active once for all processes, and not where nothing is wrong',
  async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'tests.yml')
    const tests = alertCases.flatMap(testsOf)
    await writeFile(file, stringify({ rule_files: ruleFiles, evaluation_interval: '1m', tests }))

    const output = await run('promtool', ['test', 'rules', file]).catch((error: unknown) => error)

    expect(output).toMatchObject({ stdout: expect.stringContaining('SUCCESS') })
    expect(alertCases.map(({ alert }) => alert).toSorted()).toEqual(
      rulesOf('alerts.yml')
        .map(({ alert }) => alert!)
        .toSorted(),
    )
  },
)

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** A Prometheus of its own that scrapes one process every two seconds, with the config and the rules of this repository. */
async function startPrometheus(target: string, folder: string) {
  const config = parse(await readFile(join(prometheusFolder, 'prometheus.yml'), 'utf8'))
  config.global = { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' }
  config.rule_files = ruleFiles
  config.scrape_configs[0].scrape_timeout = '2s'
  config.scrape_configs[0].static_configs = [{ targets: [new URL(target).host] }]
  const file = join(folder, 'prometheus.yml')
  await writeFile(file, stringify(config))
  const address = `127.0.0.1:${await freePort()}`
  const words = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`]
  const server = spawn('prometheus', [...words, `--web.listen-address=${address}`], {
    stdio: 'ignore',
  })
  const get = async <Data>(path: string): Promise<Data> => {
    const answer = await fetch(`http://${address}/api/v1/${path}`)
    return ((await answer.json()) as { data: Data }).data
  }
  const query = async (expression: string) =>
    (await get<Answer>(`query?query=${encodeURIComponent(expression)}`)).result
  return { get, query, [Symbol.asyncDispose]: () => stop(server) }
}

interface Answer {
  readonly result: readonly {
    readonly metric: Readonly<Record<string, string>>
    readonly value: readonly [number, string]
  }[]
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  server.kill()
  await once(server, 'exit')
}

testWith(
  'Prometheus',
  'in a real Prometheus every panel has series with the labels of its legend, and every rule can be evaluated',
  async () => {
    await using endpoints = await openBusyEndpoints()
    await using folder = await temporaryFolder()
    await using prometheus = await startPrometheus(endpoints.url, folder.path)
    const scrapes = () =>
      prometheus.query('count_over_time(forecourt_build_info[1m])').catch(() => [])
    await expect
      .poll(async () => Number((await scrapes())[0]?.value[1] ?? 0), { timeout: 120_000 })
      .toBeGreaterThan(3)

    const empty: string[] = []
    for (const { panel, expression, legend } of drawnQueries()) {
      const asked = expression.replaceAll('$job', '.+').replaceAll('$__rate_interval', '30s')
      const result = await prometheus.query(asked)
      const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name!)
      const isWhole = result.every(({ metric }) => labels.every((name) => name in metric))
      if (result.length === 0 || !isWhole) empty.push(panel)
    }
    // This world has no links, so none has a share of them.
    expect(empty).toEqual(['Forecourt: freshness and spend, Links that are valid for 48 hours'])

    const { groups } = await prometheus.get<RuleAnswer>('rules')
    const rules = groups.flatMap((group) => group.rules)
    expect(rules).toHaveLength(rulesOf('recording-rules.yml').length + alertCases.length)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    const quarantine = rules.find(({ name }) => name === 'ForecourtQuarantine')
    expect(quarantine?.alerts).toMatchObject([
      { state: 'pending', annotations: { summary: 'evaluations: 1 records in quarantine' } },
    ])
  },
)

interface RuleAnswer {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly name: string
      readonly health: string
      readonly alerts?: readonly object[]
    }[]
  }[]
}
