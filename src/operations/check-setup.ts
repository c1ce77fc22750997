import { findBinaries } from '../db/embedded-programs.ts'
import { embeddedStatus } from '../db/embedded.ts'
import { assertSchemaExists, migrationStatus } from '../db/migrate.ts'
import { openAppraisal, openServices } from '../sources/open-services.ts'
import { connectWarehouse, embeddedFolder } from '../warehouse.ts'
import { pollPriceBatch } from '../contract/vehicle-data/prices.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { refusedChanges } from '../pipeline/rooftops.ts'
import type { AppraisalClient } from '../sources/appraisal/client.ts'
import { loadJobs } from '../scheduler/load-jobs.ts'
import { changedSettings, defaultWire } from '../values/wire.ts'

/** One line of the check. `detail` says what was found, and what to do where something is to be done. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
}

/** A larger difference of the clocks is a warning; windows follow the source's clock in any case. */
const maxSkewMs = 60_000
const timeoutMs = 60_000

/** Checks config, jobs, warehouse, clock and keys; bills nothing, writes nothing at the source. Never rejects for what it finds. */
export async function checkSetup(config: Config, log: Log, signal: AbortSignal): Promise<Check[]> {
  // A person waits for the answers, so each call is made at most twice.
  const http = { ...config.http, maxRetries: Math.min(1, config.http.maxRetries) }
  const source = {
    config: { ...config, http },
    log,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }
  const groups = await Promise.all([
    [...describeConfig(config)],
    checkJobs(config),
    checkWarehouse(config, log),
    checkSource(source),
    checkVehicleData(source),
  ])
  return groups.flat()
}

interface Source {
  readonly config: Config
  readonly log: Log
  readonly signal: AbortSignal
}

/** Jobs are files: what the config says of them can only be held against those. */
async function checkJobs(config: Config): Promise<Check[]> {
  if (Object.keys(config.jobs).length === 0) return []
  try {
    const jobs = await loadJobs(config)
    return [
      ok(
        'jobs',
        `${jobs.filter(({ disabledReason: off }) => off === null).length} of ${jobs.length} are on`,
      ),
    ]
  } catch (error) {
    return [fail('jobs', messageOf(error))]
  }
}

function* describeConfig(config: Config): Iterable<Check> {
  const { file, rooftops, keys, wire } = config
  const counts = `rooftops: ${rooftops.length}, keys: ${Object.keys(keys).length}`
  if (file === null)
    yield warn(
      'config',
      'no forecourt.yaml here, so the defaults apply: write one with forecourt init',
    )
  else if (rooftops.length === 0)
    yield warn('config', `${file}: no rooftops, so there is nothing to sync: list them in it`)
  else yield ok('config', `${file}, ${counts}`)
  for (const { path, value, defaultValue: usual } of changedSettings(wire, defaultWire))
    yield ok(
      `wire.${path}`,
      `${JSON.stringify(value)} instead of the default ${JSON.stringify(usual)}`,
    )
}

async function checkWarehouse(config: Config, log: Log): Promise<Check[]> {
  try {
    const embedded = config.warehouse.url === null
    const status = embedded ? await embeddedStatus(embeddedFolder(config)) : undefined
    if (status && !status.running) {
      await findBinaries()
      const state = status.initialised ? 'stopped' : 'not made yet'
      return [
        ok('warehouse', `embedded Postgres, ${state}: the next command that needs it starts it`),
      ]
    }
    await using warehouse = await connectWarehouse(config, log)
    const { rows } = await warehouse.pool.query<{ version: string }>(
      "select current_setting('server_version') as version",
    )
    const where = status ? `embedded, runs on 127.0.0.1:${status.port}` : placeOf(config)
    const server = ok('warehouse', `Postgres ${rows[0]?.version}, ${where}`)
    const schema = await checkSchema(warehouse.pool)
    if (schema.status !== 'ok') return [server, schema]
    const refused = await refusedChanges(warehouse.db, config.rooftops)
    return [server, schema, ...refused.map((detail) => fail('rooftops', detail))]
  } catch (error) {
    return [fail('warehouse', messageOf(error))]
  }
}

async function checkSchema(pool: Parameters<typeof migrationStatus>[0]): Promise<Check> {
  try {
    await assertSchemaExists(pool)
    const { version, pending } = await migrationStatus(pool)
    if (pending.length === 0) return ok('schema', `version ${version}, up to date`)
    const todo = 'forecourt migrate applies them, and so does the next sync'
    return warn('schema', `version ${version}, ${pending.length} migrations pending: ${todo}`)
  } catch (error) {
    return fail('schema', messageOf(error))
  }
}

function placeOf({ warehouse }: Config): string {
  const { hostname, port, pathname } = new URL(warehouse.url ?? '')
  return `${hostname || 'local socket'}:${port || '5432'}${pathname}`
}

async function checkSource({ config, log, signal }: Source): Promise<Check[]> {
  const appraisal = openAppraisal(config, log)
  try {
    const clock = await checkClock(appraisal, signal)
    if (clock.status === 'fail') {
      const detail = 'not asked, since the source cannot be reached'
      return [clock, ...config.rooftops.map((one) => fail(nameOf(one), detail))]
    }
    const keys = config.rooftops.map((rooftop) => checkKey(appraisal, rooftop, signal))
    return [clock, ...(await Promise.all(keys))]
  } finally {
    await appraisal.close()
  }
}

/** An unknown batch is asked for: that bills nothing, and only a key that is refused answers 401 or 403 [V §5]. */
async function checkVehicleData({ config, log, signal }: Source): Promise<Check[]> {
  const name = 'vehicle data'
  const { baseUrl, apiKey } = config.vehicleData
  if (apiKey === null) return [ok(name, 'no vehicleData.apiKey: decoding and pricing are off')]
  await using services = openServices(config, log, ['read'])
  try {
    await services.client.call(pollPriceBatch, { fields: { batchId: 'check' }, signal })
  } catch (error) {
    const { status } = error as { status?: number }
    if (status !== 400 && status !== 404) return [fail(name, messageOf(error))]
  }
  return [ok(name, `${baseUrl}: reached, and the key is not refused`)]
}

async function checkClock(appraisal: AppraisalClient, signal: AbortSignal): Promise<Check> {
  try {
    await appraisal.measureClock({ signal })
  } catch (error) {
    return fail('source', messageOf(error))
  }
  const { measured, offsetMs } = appraisal.clock
  if (!measured)
    return warn('clock', 'the source sends no Date header: windows go by our clock, keep it right')
  const seconds = Math.round(offsetMs / 1000)
  if (Math.abs(offsetMs) <= maxSkewMs)
    return ok('clock', `the source's clock differs from ours by ${seconds} s`)
  const detail = `the source's clock is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} ours`
  return warn('clock', `${detail}: windows go by the source's, but set ours right`)
}

/** The user list is the cheapest read that a key answers for: it bills nothing [A §4 /getuserlist]. */
async function checkKey(
  appraisal: AppraisalClient,
  rooftop: RooftopConfig,
  signal: AbortSignal,
): Promise<Check> {
  const access = { uid: rooftop.uid, dealerId: rooftop.dealerId, keyName: rooftop.key }
  try {
    const { users } = await appraisal.listUsers(access, { includeInactive: false }, { signal })
    const name = `${rooftop.name}, key ${rooftop.key}`
    return ok(nameOf(rooftop), `${name}: the key is good, its group has ${users.length} users`)
  } catch (error) {
    return fail(nameOf(rooftop), messageOf(error))
  }
}

function nameOf({ uid }: RooftopConfig): string {
  return `rooftop ${uid}`
}

function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail }
}

function warn(name: string, detail: string): Check {
  return { name, status: 'warn', detail }
}

function fail(name: string, detail: string): Check {
  return { name, status: 'fail', detail }
}
