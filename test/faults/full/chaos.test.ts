import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { Fault, FaultRule } from '#src/sandbox/faults.ts'
import { type SeededRandom, seededRandom } from '#src/sandbox/seeded-random.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { type Child, forecourt, startForecourt } from '../../support/child.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { differences, sourceTruth, warehouseTruth } from '../../support/warehouse-truth.ts'
import { openCluster } from '../cluster.ts'
import { fill, mayMount, openDisk } from '../small-disk.ts'

const now = new Date('2026-03-18T02:15:00Z')
const roundsOfSeed = 10
const wantedHits = 11
const hourMs = 3_600_000

/** Values that the documents do not allow, each in place of an answer. */
const hostile: readonly unknown[] = [
  { error: 'Internal' },
  [{ EvalID: 1, UpdatedAt: '0000-01-01T00:00:00Z' }],
  'x'.repeat(300_000),
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  { checks: 'none', Checks: 7 },
  null,
]
const paths = [
  ...['/geteval', '/getevallist', '/getpastppsrsearch', '/getpastcarhistory', '/ppsrwatch'],
  ...['/pricingAi/payload/{evalid}', '/getuserlist'],
]

function anyFault(random: SeededRandom): FaultRule {
  const faults: readonly Fault[] = [
    { kind: 'tooMany', retryAfter: 1 },
    { kind: 'tooMany' },
    { kind: 'status', status: random.pick([302, 500, 502, 503]) },
    { kind: 'status', status: 200, body: random.pick(hostile) },
    { kind: 'reset' },
    { kind: 'truncate' },
    { kind: 'html' },
    { kind: 'empty' },
    { kind: 'slow', ms: 400 },
  ]
  return {
    match: { path: random.pick(paths) },
    probability: random.pick([0.02, 0.1, 0.4]),
    fault: random.pick(faults),
  }
}

interface Chaos {
  readonly sandbox: Sandbox
  readonly start: (args: readonly string[]) => Child
  /** Runs a command in its own process, to its end. */
  readonly run: (
    args: readonly string[],
    url?: string,
  ) => Promise<{ code: number | null; stderr: string; stdout: string }>
}

/** Four workers and a scheduler with a sync every few seconds, killed and restarted while the source has all its faults. */
async function misbehave(chaos: Chaos, random: SeededRandom, round: () => Promise<void>) {
  const { sandbox, start } = chaos
  let struck = 0
  const commands = [['schedule'], ['worker'], ['worker'], ['worker'], ['worker']]
  const children = commands.map((args) => start(args))
  // Workers of a slow machine ask for little while a fault is set.
  for (let at = 0; at < roundsOfSeed || (struck < wantedHits && at < 5 * roundsOfSeed); at += 1) {
    const rules = [1, 2, 3].map(() => sandbox.faults.add(anyFault(random)))
    sandbox.clock.advance(random.int(1, 20) * hourMs)
    await sleep(random.int(500, 2500))
    for (let kill = random.int(1, 3); kill > 0; kill -= 1) {
      const victim = random.int(0, children.length - 1)
      children[victim]!.kill('SIGKILL')
      await children[victim]!.ended
      children[victim] = start(commands[victim]!)
    }
    await round()
    struck += rules.reduce((sum, rule) => sum + rule.hits, 0)
    sandbox.faults.clear()
  }
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map(({ ended }) => ended))
  return struck
}

/** The vehicle checks in the warehouse, without the times at which they were found. */
async function checksOf(url: string): Promise<unknown[]> {
  const pool = await openPool(url, { applicationName: 'tests', max: 1 })
  try {
    return await checksIn(pool)
  } finally {
    await pool.end()
  }
}

async function checksIn(pool: pg.Pool): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select check_kind, check_ref, vin, watch_status, searched_at, search_number, certificate_number
     from core.vehicle_check where gone_at is null order by check_kind, check_ref`,
  )
  return rows
}

test.each([11, 12])(
  'four workers and a scheduler, killed at random at a hostile source and a full disk, end with the data of the source (seed %i)',
  async (seed) => {
    const random = seededRandom(seed, 'chaos')
    const hasDisk = await mayMount()
    await using disk = hasDisk ? await openDisk(500) : await temporaryFolder()
    await using cluster = await openCluster(join(disk.path, 'postgres'))
    await using folder = await temporaryFolder()
    const clock = new VirtualClock({ start: now, frozen: true })
    await using stack = new AsyncDisposableStack()
    const sandbox = await startSandbox({ clock, now, rooftops: 6, evaluations: 240, days: 5, seed })
    stack.defer(() => sandbox.close())
    const url = await cluster.warehouse('chaos')
    const reference = await cluster.warehouse('reference')
    const off = [
      'hourly',
      'recheck',
      'reconcile',
      'refresh-links',
      'reprice',
      'retention',
      'verify',
    ]
    const settings = {
      ...sandbox.clientConfig(),
      sync: { start: '2026-03-12', settleDays: 2 },
      checks: { lookForNewDays: 60, lookEveryDays: 1 },
      http: { maxRetries: 1, timeoutSeconds: 5 },
      jobs: {
        ...Object.fromEntries([...off, 'watch-checks'].map((name) => [name, { enabled: false }])),
        nightly: { schedule: '*/3 * * * * *' },
      },
    }
    const file = async (name: string, warehouseUrl: string) => {
      const path = join(folder.path, name)
      await writeFile(path, JSON.stringify({ ...settings, warehouse: { url: warehouseUrl } }))
      return path
    }
    const [config, clean] = [await file('chaos.yaml', url), await file('clean.yaml', reference)]
    const how = { cwd: folder.path }
    const started: Child[] = []
    stack.defer(async () => {
      for (const child of started) child.kill('SIGKILL')
      await Promise.all(started.map(({ ended }) => ended))
    })
    const start = (args: readonly string[]) => {
      const child = startForecourt(['--config', config, ...args], how)
      started.push(child)
      return child
    }
    const run = async (args: readonly string[], from = config) =>
      await forecourt(['--config', from, ...args], how)

    const struck = await misbehave({ sandbox, start, run }, random, async () => {
      if (!hasDisk || !random.chance(0.2)) return
      const free = await fill(disk.path, 4)
      await sleep(1500)
      await free()
      await cluster.start()
    })

    expect(struck).toBeGreaterThanOrEqual(wantedHits)
    // Some refused requests wait for a day, and a check is read once a day.
    let code: number | null = null
    for (let night = 0; night < 4; night += 1) {
      clock.advance(26 * hourMs)
      const ended = await run(['sync'])
      code = ended.code
      expect(ended.stderr).not.toMatch(/Unhandled|uncaught|\n\s+at /)
    }
    expect(code).toBe(0)
    const pool = await openPool(url, { applicationName: 'tests', max: 2 })
    stack.defer(() => pool.end())
    const expected = sourceTruth(sandbox.world, clock.now(), 'rooftop')
    expect(differences(expected, await warehouseTruth(pool, 'rooftop')).slice(0, 5)).toEqual([])
    const verified = await run(['verify'])
    expect(verified.code, verified.stdout + verified.stderr).toBe(0)

    expect(await run(['sync'], clean)).toMatchObject({ code: 0 })
    expect(await checksIn(pool)).toEqual(await checksOf(reference))
  },
  600_000,
)
