import { type Config, makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { type ContextOptions, openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { users } from '#src/streams/users/users.ts'
import type { RunReport } from '#src/sync/run/run-report.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import type { Stream } from '#src/sync/run/stream.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { readSource } from '#src/warehouse/db/run-source.ts'
import { createTestDatabase, loadedTestDatabase, type TestDatabase } from './postgres.ts'

export const dayMs = 86_400_000
const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** What a test says about the fixture; the rest has defaults. */
export interface FixtureOptions {
  readonly sandbox: SandboxOptions & { readonly now: Date }
  readonly sync?: ConfigInput['sync']
  readonly http?: ConfigInput['http']
  readonly wire?: ConfigInput['wire']
  /** false: the config names no dealerId, so that a list answers for the whole group. Default true. */
  readonly dealerIds?: boolean
  /** Only these rooftops. */
  readonly rooftops?: readonly string[]
  readonly pricing?: ConfigInput['pricing']
  readonly checks?: ConfigInput['checks']
  readonly links?: ConfigInput['links']
  /** What a night runs. Default: users and evaluations, so that a test counts their requests alone. */
  readonly streams?: readonly Stream[]
}

/** A sandbox with a frozen clock, a warehouse of its own, and the config between them. */
export interface Fixture extends AsyncDisposable {
  readonly sandbox: Sandbox
  readonly database: TestDatabase
  readonly config: Config
  readonly context: Context
  /** One `sync` of the fixture's streams, in this process. */
  night(changes?: Partial<Context>): Promise<RunReport>
  /** Moves the source's clock, then runs a night. */
  nightAfter(days: number, changes?: Partial<Context>): Promise<RunReport>
}

export async function openFixture(options: FixtureOptions): Promise<Fixture> {
  return await fixtureOn(await createTestDatabase(), options)
}

/**
 * A fixture with a copy of the warehouse that `load` has filled, which only the first of all files does; its sandbox has the clock of
 * that time, and neither requests nor anything that `load` added to it.
 */
export async function openLoadedFixture(
  name: string,
  options: FixtureOptions,
  load: (fixture: Fixture) => Promise<void>,
): Promise<Fixture> {
  const { database, text } = await loadedTestDatabase(name, async (empty) => {
    const loading = await fixtureOn(empty, options)
    await load(loading)
    await loading.context[Symbol.asyncDispose]()
    await loading.sandbox.close()
    return loading.sandbox.clock.now().toISOString()
  })
  const fixture = await fixtureOn(database, options)
  fixture.sandbox.clock.set(new Date(text))
  return fixture
}

async function fixtureOn(database: TestDatabase, options: FixtureOptions): Promise<Fixture> {
  const clock = new VirtualClock({ start: options.sandbox.now, frozen: true })
  const sandbox = await startSandbox({ clock, ...options.sandbox })
  const config = configFor(sandbox, database.url, options)
  const { appraisalUrl, vehicleDataUrl } = readSource(config)
  // What an earlier sandbox has loaded is of this one.
  await database.pool.query('update ops.source set (appraisal_url, vehicle_data_url) = ($1, $2)', [
    appraisalUrl,
    vehicleDataUrl,
  ])
  const context = await openContext(config, silent)
  const night = async (changes: Partial<Context> = {}) =>
    await runNight({ ...context, ...changes }, options.streams)
  return {
    sandbox,
    database,
    config,
    context,
    night,
    nightAfter: async (days, changes) => {
      clock.advance(Math.round(days * dayMs))
      return await night(changes)
    },
    [Symbol.asyncDispose]: async () => {
      await context[Symbol.asyncDispose]()
      await sandbox.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** One `sync` of all rooftops of the context's config. */
export async function runNight(
  context: Context,
  streams: readonly Stream[] = [users, evaluations],
): Promise<RunReport> {
  const { config } = context
  const from = toUnixSeconds(config.sync.start)
  return await runStreams(context, {
    plan: { command: 'sync', mode: 'sync', from, until: null },
    streams,
    rooftops: config.rooftops,
  })
}

/** A second process on the same warehouse and source. */
export async function openSecondContext(
  { config }: Fixture,
  options: ContextOptions = {},
): Promise<Context> {
  return await openContext(config, silent, options)
}

function configFor(sandbox: Sandbox, url: string, options: FixtureOptions): Config {
  const client = sandbox.clientConfig()
  const groupOf = (uid: string) => sandbox.world.rooftop(uid)!.groupId
  const rooftops = client.rooftops
    .filter(({ uid }) => options.rooftops?.includes(uid) ?? true)
    .map((rooftop) =>
      // Whoever leaves dealerId out says which rooftops share a list, as an operator would.
      options.dealerIds === false
        ? { ...rooftop, dealerId: null, group: groupOf(rooftop.uid) }
        : rooftop,
    )
  const start = new Date(options.sandbox.now.getTime() - 10 * dayMs).toISOString()
  const input: ConfigInput = {
    ...client,
    rooftops,
    warehouse: { url },
    sync: { start, ...options.sync },
    http: { maxRetries: 0, timeoutSeconds: 10, ...options.http },
    ...(options.wire === undefined ? {} : { wire: options.wire }),
    ...(options.pricing === undefined ? {} : { pricing: options.pricing }),
    ...(options.checks === undefined ? {} : { checks: options.checks }),
    ...(options.links === undefined ? {} : { links: options.links }),
  }
  return makeConfig(input, '/nowhere')
}
