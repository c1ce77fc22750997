import { sql } from 'kysely'
import { pollPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import type { AppraisalClient } from '../../api/sources/appraisal/client.ts'
import { openAppraisal, openServices } from '../../api/sources/open-services.ts'
import type { Config } from '../../app/config/read.ts'
import { loadJobs } from '../../app/scheduler/load-jobs.ts'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { refusedChanges } from '../../sync/run/rooftops.ts'
import { isExampleAddress, isLoopback, sandboxKeyPrefix } from '../../values/service-address.ts'
import { changedSettings, defaultWire } from '../../values/wire.ts'
import { embeddedStatus } from '../../warehouse/db/embedded.ts'
import { findBinaries } from '../../warehouse/db/embedded-programs.ts'
import { assertSchemaExists, migrationStatus } from '../../warehouse/db/migrate.ts'
import { connectWarehouse, embeddedFolder } from '../../warehouse/warehouse.ts'
import { type Check, fail, ok, warn } from './check-result.ts'
import { checkName, checkRooftop } from './check-rooftop.ts'

/** A larger difference of the clocks is a warning; windows follow the source's clock in any case. */
const maxSkewMs = 60_000
const timeoutMs = 60_000
/** What a rooftop adds to it: its calls share the key with those of many others. */
const timeoutPerRooftopMs = 500

/** Checks config, jobs, warehouse, clock and keys; bills nothing, writes nothing at the source. Never rejects for what it finds. */
export async function checkSetup(config: Config, log: Log, signal: AbortSignal): Promise<Check[]> {
  // A person waits for the answers, so each call is made at most twice.
  const http = { ...config.http, maxRetries: Math.min(1, config.http.maxRetries) }
  const source = {
    config: { ...config, http },
    log,
    signal: AbortSignal.any([
      signal,
      AbortSignal.timeout(timeoutMs + timeoutPerRooftopMs * config.rooftops.length),
    ]),
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
    return [fail('jobs', errorText(error))]
  }
}

function* describeConfig(config: Config): Iterable<Check> {
  const { file, rooftops, keys, vehicleData, wire } = config
  const withData = vehicleData.apiKey === null ? '' : ' and vehicleData.apiKey'
  const counts = `rooftops: ${rooftops.length}, keys: ${Object.keys(keys).length}${withData}`
  if (file === null)
    yield warn(
      'config',
      'no forecourt.yaml here, so the defaults apply: write one with forecourt init',
    )
  else if (rooftops.length === 0)
    yield warn('config', `${file}: no rooftops, so there is nothing to sync: list them in it`)
  else yield ok('config', `${file}, ${counts}`)
  yield* localAddresses(config)
  for (const { path, value, defaultValue: usual } of changedSettings(wire, defaultWire))
    yield ok(
      `wire.${path}`,
      `${JSON.stringify(value)} instead of the default ${JSON.stringify(usual)}`,
    )
}

/** Addresses of this machine, unless it is the sandbox beside the embedded Postgres that is meant. */
function localAddresses(config: Config): Check[] {
  const { appraisal, vehicleData, warehouse } = config
  const values = Object.values(config.keys).map(({ value }) => value)
  const services = [
    { setting: 'appraisal.baseUrl', url: appraisal.baseUrl, values },
    {
      ...{ setting: 'vehicleData.baseUrl', url: vehicleData.baseUrl },
      values: vehicleData.apiKey === null ? [] : [vehicleData.apiKey],
    },
  ]
  return services.flatMap(({ setting, url, values: used }) => {
    if (used.length === 0 || !isLoopback(url)) return []
    const isOfSandbox = used.every((value) => value.startsWith(sandboxKeyPrefix))
    if (isOfSandbox && warehouse.url === null) return []
    const what = isOfSandbox
      ? `the sandbox: its generated vehicles would be in ${warehouseAddress(config)}`
      : 'this machine, where the sandbox runs: write the address of the service'
    return [warn(setting, `${url} is ${what}`)]
  })
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
    const { rows } = await sql<{ version: string }>`
      select current_setting('server_version') as version`.execute(warehouse.db)
    const where = status ? `embedded, runs on 127.0.0.1:${status.port}` : warehouseAddress(config)
    const server = ok('warehouse', `Postgres ${rows[0]?.version}, ${where}`)
    const schema = await checkSchema(warehouse.pool)
    if (schema.status !== 'ok') return [server, schema]
    const refused = await refusedChanges(warehouse.db, config.rooftops)
    return [server, schema, ...refused.map((detail) => fail('rooftops', detail))]
  } catch (error) {
    return [fail('warehouse', errorText(error))]
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
    return fail('schema', errorText(error))
  }
}

function warehouseAddress({ warehouse }: Config): string {
  const { hostname, port, pathname } = new URL(warehouse.url ?? '')
  return `${hostname || 'local socket'}:${port || '5432'}${pathname}`
}

async function checkSource({ config, log, signal }: Source): Promise<Check[]> {
  if (isExampleAddress(config.appraisal.baseUrl))
    return [exampleAddress('source', 'appraisal.baseUrl', config.appraisal.baseUrl)]
  const appraisal = openAppraisal(config, log)
  try {
    const clock = await checkClock(appraisal, signal)
    if (clock.status === 'fail') {
      const detail = 'not asked, since the source cannot be reached'
      return [clock, ...config.rooftops.map((one) => fail(checkName(one), detail))]
    }
    const source = { appraisal, wire: config.wire.appraisal, signal }
    const rooftops = config.rooftops.map((rooftop) => checkRooftop(source, rooftop))
    return [clock, ...(await Promise.all(rooftops)).flat()]
  } finally {
    await appraisal.close()
  }
}

/** An unknown batch is asked for: that bills nothing, and only a key that is refused answers 401 or 403 [V §5]. */
async function checkVehicleData({ config, log, signal }: Source): Promise<Check[]> {
  const name = 'vehicle data'
  const { baseUrl, apiKey } = config.vehicleData
  if (apiKey === null) return [ok(name, 'no vehicleData.apiKey: decoding and pricing are off')]
  if (isExampleAddress(baseUrl)) return [exampleAddress(name, 'vehicleData.baseUrl', baseUrl)]
  await using services = openServices(config, log, ['read'])
  try {
    await services.client.call(pollPriceBatch, { fields: { batchId: 'check' }, signal })
  } catch (error) {
    const { status } = error as { status?: number }
    if (status !== 400 && status !== 404) return [fail(name, errorText(error))]
  }
  return [ok(name, `${baseUrl}: reached, and the key is not refused`)]
}

function exampleAddress(name: string, setting: string, url: string): Check {
  return fail(name, `${setting} is still the example, ${url}: write the address of the service`)
}

async function checkClock(appraisal: AppraisalClient, signal: AbortSignal): Promise<Check> {
  try {
    await appraisal.measureClock({ signal })
  } catch (error) {
    return fail('source', errorText(error))
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
