import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, expect, inject, test } from 'vitest'
import { type ComposeProject, composeProject, type Stopped } from './compose-project.ts'

const forecourt = ['node', '/app/dist/src/main.js']
const long = ['sandbox', 'schedule', 'worker', 'serve'] as const

let project: ComposeProject
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.log(await project.logs())
  await project[Symbol.asyncDispose]()
})

async function up(): Promise<number> {
  const from = performance.now()
  const { code, stdout, stderr } = await project.compose('up', '--detach', '--no-build')
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  return (performance.now() - from) / 1000
}

/** One row of the warehouse, or null while Postgres is away. */
async function read<Row>(sql: string, ...values: readonly unknown[]): Promise<Row | null> {
  const client = new pg.Client({ connectionString: project.warehouse })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query(sql, [...values])).rows[0] ?? null
  } catch {
    return null
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function until<Row>(what: string, poll: () => Promise<Row | null | false>): Promise<Row> {
  for (let waits = 0; waits < 600; waits++) {
    const row = await poll()
    if (row !== null && row !== false) return row
    await sleep(500)
  }
  throw new Error(`Not within 5 minutes: ${what}`)
}

interface Night {
  readonly status: string
  readonly claimed: Date
  readonly finished: Date
  readonly attempts: number
}

/** The first night, when it has ended. */
async function firstNight(): Promise<Night> {
  return await until('the end of the first night', () =>
    read<Night>(
      `select status, claimed_at as claimed, finished_at as finished, attempt as attempts from ops.job_fire
       where job_name = 'nightly' and status <> 'skipped' and finished_at is not null order by fire_id limit 1`,
    ),
  )
}

/** The pid of each process that should live on. */
async function pids(): Promise<ReadonlyMap<string, number>> {
  return new Map((await project.containers()).map(({ id, pid }) => [id, pid]))
}

async function stopAll(): Promise<readonly Stopped[]> {
  const stopped: Stopped[] = []
  for (const service of ['serve', 'schedule', 'worker', 'sandbox', 'postgres'])
    stopped.push(await project.stop(service))
  const shown = stopped.map(({ service, seconds }) => `${service} ${seconds.toFixed(1)} s`)
  console.log(`Stopped: ${shown.join(', ')}`)
  return stopped
}

/** 143 is the contract's exit code after SIGTERM, with a clean checkpoint; 137 would be a kill at the end of the grace period. */
const cleanStops = [
  ...[
    { service: 'serve', exitCodes: [143] },
    { service: 'schedule', exitCodes: [143] },
  ],
  ...[
    { service: 'worker', exitCodes: [143, 143] },
    { service: 'sandbox', exitCodes: [143] },
  ],
  { service: 'postgres', exitCodes: [0] },
]

async function expectProved(): Promise<void> {
  const verified = await project.exec('serve', ...forecourt, 'verify', '--rows')
  expect(verified).toMatchObject({ code: 0 })
  const counts = await read<{ evaluations: number; quarantined: number }>(
    `select (select count(*)::int from core.evaluation) as evaluations,
       (select count(*)::int from ops.quarantine) as quarantined`,
  )
  // The sandbox has 2,000; some of them are not completed.
  expect(counts!.evaluations).toBeGreaterThan(1000)
  expect(counts!.quarantined).toBe(0)
}

test('the services start in their order, are healthy, and the first night is green', async () => {
  project = await composeProject(inject('engine'))
  const from = Date.now()
  const startSeconds = await up()
  await until('every service is healthy', async () => {
    const all = await project.containers()
    return all.every(({ service, health }) => service === 'migrate' || health === 'healthy')
  })
  const healthySeconds = (Date.now() - from) / 1000
  const night = await firstNight()
  const greenSeconds = (night.finished.getTime() - from) / 1000
  const nightSeconds = (night.finished.getTime() - night.claimed.getTime()) / 1000
  console.log(
    `Compose: started in ${startSeconds.toFixed(0)} s, healthy after ${healthySeconds.toFixed(0)} s, ` +
      `first green night after ${greenSeconds.toFixed(0)} s; the night itself took ${nightSeconds.toFixed(0)} s`,
  )

  expect(night).toMatchObject({ status: 'ok', attempts: 1 })
  expect((await project.containers('migrate')).map(({ exitCode }) => exitCode)).toEqual([0])
  expect(await project.containers('worker')).toHaveLength(2)
  await expectProved()
  for (const service of long) await expectConfined(service)
  await expectServed()
  expect(await stopAll()).toMatchObject(cleanStops)
})

/** What the compose file and the Dockerfile promise of each process. */
async function expectConfined(service: string): Promise<void> {
  const script = `id -u; id -g; cat /proc/1/status; touch /tmp/x /data/x && rm /tmp/x /data/x && echo writable
    for folder in / /app /app/dist /home/node /etc; do touch $folder/x 2> /dev/null && echo wrote $folder; done; true`
  const { stdout } = await project.exec(service, 'sh', '-c', script)
  const statusOf = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(stdout)?.[1]

  expect(stdout).toMatch(/^1000\n1000\n/)
  expect(stdout).toMatch(/\nwritable\n$/)
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    expect({ service, set, has: statusOf(set) }).toEqual({ service, set, has: '0'.repeat(16) })
  expect(statusOf('NoNewPrivs')).toBe('1')
  // No shell is in between: the program itself gets the signals.
  expect(statusOf('Name')).toMatch(/^node/)
}

async function expectServed(): Promise<void> {
  const { serve, sandbox } = project.ports
  const paths = [`${serve}/healthz`, `${sandbox}/`, `${serve}/metrics`]
  const answers = await Promise.all(paths.map((path) => fetch(`http://127.0.0.1:${path}`)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404])
  const times = `console.log(new Date(0).getTimezoneOffset(), new Date(0).toLocaleString('en', { timeZone: 'Asia/Kuwait' }))`
  const { stdout } = await project.exec('worker', 'node', '-e', times)
  expect(stdout.trim()).toBe('0 1/1/1970, 3:00:00 AM')
}

test('a night ends well though a worker is killed and Postgres is away for a while', async () => {
  project = await composeProject(inject('engine'))
  await up()
  const [killed, other] = await project.containers('worker')
  await until('both workers are in the middle of the night', async () => {
    const calls = await Promise.all([killed!, other!].map(({ address }) => callsOf(address)))
    return calls.every((count) => count >= 50)
  })
  process.kill(killed!.pid, 'SIGKILL')
  const rest = await pids()
  await until('the killed worker is back', async () => {
    const [now] = (await project.containers('worker')).filter(({ id }) => id === killed!.id)
    return now!.pid !== 0 && now!.pid !== killed!.pid
  })
  expect(await read(`select 1 from ops.job_fire where finished_at is null`)).not.toBeNull()
  const stop = await project.stop('postgres')
  // Long enough for every process to find that the name is gone.
  await sleep(10_000)
  const { code } = await project.compose('start', 'postgres')
  const night = await firstNight()

  expect(stop.exitCodes).toEqual([0])
  expect({ code, night }).toMatchObject({ code: 0, night: { status: 'ok' } })
  await expectProved()
  // Only the killed one and Postgres have a new process: the others waited for Postgres.
  const postgres = await project.containers('postgres')
  const restarted = new Set([killed!.id, ...postgres.map(({ id }) => id)])
  for (const [id, pid] of await pids())
    if (!restarted.has(id)) expect({ id, pid }).toEqual({ id, pid: rest.get(id) })
  await until('the next night is under way', () =>
    read(`select 1 from ops.job_fire where job_name = 'nightly' and finished_at is null`),
  )
  expect(await stopAll()).toMatchObject(cleanStops)
})

/** Calls that the process at this address has sent, by its metrics. */
async function callsOf(address: string): Promise<number> {
  const text = await fetch(`http://${address}:9400/metrics`).then(
    async (answer) => await answer.text(),
    () => '',
  )
  const counted = text.matchAll(/^forecourt_requests_total\{.*\} (\d+)$/gm)
  return [...counted].reduce((sum, [, calls]) => sum + Number(calls), 0)
}
