import { sql } from 'kysely'
import { pollPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import type { AppraisalClient } from '../../api/sources/appraisal/client.ts'
import type { RooftopAccess } from '../../api/sources/calls.ts'
import { openServices } from '../../api/sources/open-services.ts'
import type { Config, RooftopConfig } from '../../app/config/read.ts'
import { loadJobs } from '../../app/scheduler/load-jobs.ts'
import { errorText, SyncError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { refusedChanges } from '../../sync/run/rooftops.ts'
import { isCurrencyCode } from '../../values/currency-codes.ts'
import { valueAt } from '../../values/json-path.ts'
import { countryOfZone, findCurrencies } from '../../values/regions.ts'
import { isExampleAddress, isLoopback, sandboxKeyPrefix } from '../../values/service-address.ts'
import { plural } from '../../values/text.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { daySeconds } from '../../values/window.ts'
import { type AppraisalWire, changedSettings, defaultWire } from '../../values/wire.ts'
import { embeddedStatus } from '../../warehouse/db/embedded.ts'
import { findBinaries } from '../../warehouse/db/embedded-programs.ts'
import { assertSchemaExists, migrationStatus } from '../../warehouse/db/migrate.ts'
import { connectWarehouse, embeddedFolder } from '../../warehouse/warehouse.ts'
import { type Check, fail, ok, warn } from './check-result.ts'

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
  await using services = openServices(config, log, ['read'])
  const { appraisal } = services
  const clock = await checkClock(appraisal, signal)
  if (clock.status === 'fail') {
    const detail = 'not asked, since the source cannot be reached'
    return [clock, ...config.rooftops.map((one) => fail(checkName(one), detail))]
  }
  const source = { appraisal, wire: config.wire.appraisal, signal }
  const rooftops = config.rooftops.map((rooftop) => checkRooftop(source, rooftop))
  return [clock, ...startProblems(config, appraisal), ...(await Promise.all(rooftops)).flat()]
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

function startProblems({ sync: { start } }: Config, { clock }: AppraisalClient): Check[] {
  if (start < clock.now()) return []
  const detail = `${start.toISOString()} lies in the future: nothing is loaded until then`
  return [warn('sync.start', detail)]
}

/** The evaluation to compare with was created in this number of days. */
const recentDays = 30

/** The source that the rooftops are checked at. */
interface CheckedSource {
  readonly appraisal: AppraisalClient
  readonly wire: AppraisalWire
  readonly signal: AbortSignal
}

/**
 * Checks the key of a rooftop, and whether its time zone, currency and dealerId can be true: by the region of the key, and by one
 * recent evaluation. The first line says what was found; a line follows for each contradiction. At most four calls, all free.
 */
async function checkRooftop(source: CheckedSource, rooftop: RooftopConfig): Promise<Check[]> {
  const access = { uid: rooftop.uid, dealerId: rooftop.dealerId, keyName: rooftop.key }
  try {
    // The user list is the cheapest read that a key answers for: it bills nothing [A §4 /getuserlist].
    const { users } = await source.appraisal.listUsers(
      access,
      { includeInactive: false },
      { signal: source.signal },
    )
    const recent = await findRecent(source, access)
    const found = [
      `${rooftop.name}: key ${rooftop.key} is good, ${plural(users.length, 'user')} in its group`,
      localTime(source.appraisal.clock.now(), rooftop.timezone),
      describeRecent(recent),
    ].join('; ')
    return [
      ok(checkName(rooftop), found),
      ...regionProblems(rooftop, recent),
      ...evaluationProblems(rooftop, recent),
    ]
  } catch (error) {
    // The line has the uid already.
    const problem = errorText(error).replace(` of rooftop ${rooftop.uid} `, ' ')
    return [
      fail(checkName(rooftop), `${rooftop.name}: ${problem}`),
      ...regionProblems(rooftop, null),
    ]
  }
}

/** The name of a rooftop's lines. */
function checkName({ uid }: RooftopConfig): string {
  return `rooftop ${uid}`
}

/** What one recent evaluation of the rooftop says. */
interface Recent {
  readonly evalId: number
  readonly dealerId: number | null
  readonly currency: string | null
  /** How many the group has, where the list has none with the dealerId; else null. */
  readonly inGroupAlone: number | null
}

async function findRecent(source: CheckedSource, access: RooftopAccess): Promise<Recent | null> {
  const { appraisal, signal } = source
  const from = toUnixSeconds(appraisal.clock.now()) - recentDays * daySeconds
  const list = async (dealerId: number | null) => {
    const range = { from, until: null }
    return (await appraisal.listEvaluations({ ...access, dealerId }, range, { signal })).items
  }
  const listed = await list(access.dealerId)
  const isInGroupAlone = listed.length === 0 && access.dealerId !== null
  const items = isInGroupAlone ? await list(null) : listed
  if (items.length === 0) return null
  const evalId = items.reduce((newest, item) => Math.max(newest, item.evalId), 0)
  const inGroupAlone = isInGroupAlone ? items.length : null
  try {
    const read = await appraisal.getEvaluation(access, evalId, { signal })
    if (read.kind === 'vanished') return null
    const body: unknown = JSON.parse(read.text)
    const dealerId = evaluationRecords.readDealer(body, evalId, source.wire)
    return { evalId, dealerId, currency: findCurrency(body, evalId, source.wire), inGroupAlone }
  } catch (error) {
    // One record that cannot be read says nothing about the rooftop.
    const isOfRecord = error instanceof SyncError && error.errorAction === 'skip'
    if (isOfRecord || error instanceof SyntaxError) return null
    throw error
  }
}

/** The currency that the first user price with one names. */
function findCurrency(body: unknown, evalId: number, { userPrice }: AppraisalWire): string | null {
  const prices = valueAt(evaluationRecords.findRecord(body, evalId), 'UserPrices')
  const found = Array.isArray(prices)
    ? prices.map((price: unknown) => valueAt(price, userPrice.currency))
    : []
  const isCode = (code: unknown): code is string => typeof code === 'string' && isCurrencyCode(code)
  return found.find(isCode) ?? null
}

function describeRecent(recent: Recent | null): string {
  if (recent === null) return `no evaluation of the last ${recentDays} days to compare with`
  const { evalId, dealerId, currency } = recent
  const carried = [
    ...(dealerId === null ? [] : [`DealerID ${dealerId}`]),
    ...(currency === null ? [] : [`prices in ${currency}`]),
  ]
  return `evaluation ${evalId}: ${carried.join(', ') || 'neither DealerID nor currency'}`
}

/** Contradictions between the region of the key, the time zone and the currency [A §5]. */
function regionProblems(rooftop: RooftopConfig, recent: Recent | null): Check[] {
  const { region, timezone, currency } = rooftop
  const country = countryOfZone(region, timezone)
  const used = findCurrencies(region, country)
  const where = country === null ? `the region ${region}` : timezone
  return [
    ...(country === null
      ? [
          `timezone is ${timezone}, but the key ${rooftop.key} is for ${region}: business days would be those of another country`,
        ]
      : []),
    ...(used.has(currency)
      ? []
      : [
          `currency is ${currency}, but ${where} has ${[...used].join(', ')}: ${
            recent?.currency === currency
              ? `evaluation ${recent.evalId} has prices in ${currency} too, so correct timezone`
              : 'correct currency or timezone; currency cannot change once the rooftop has rows'
          }`,
        ]),
  ].map((problem) => warn(checkName(rooftop), problem))
}

function evaluationProblems(rooftop: RooftopConfig, recent: Recent | null): Check[] {
  if (recent === null) return []
  const { evalId, inGroupAlone } = recent
  const { dealerId, currency } = rooftop
  const checks: Check[] = []
  if (inGroupAlone !== null) {
    const carried = recent.dealerId === null ? '' : ` with DealerID ${recent.dealerId}`
    checks.push(
      warn(
        checkName(rooftop),
        `dealerId is ${dealerId}, and the list has no evaluation with it in the last ${recentDays} days, while its group has ${inGroupAlone}, such as ${evalId}${carried}: nothing would be loaded. Correct dealerId, unless the rooftop has been quiet`,
      ),
    )
  } else if (dealerId !== null && recent.dealerId !== null && recent.dealerId !== dealerId)
    checks.push(
      fail(
        checkName(rooftop),
        `dealerId is ${dealerId}, but evaluation ${evalId}, which the list gives for it, carries DealerID ${recent.dealerId}: correct dealerId, or wire.appraisal.evaluation.dealerId`,
      ),
    )
  if (recent.currency !== null && recent.currency !== currency)
    checks.push(
      warn(
        checkName(rooftop),
        `currency is ${currency}, but evaluation ${evalId} has prices in ${recent.currency}: correct one before the first sync`,
      ),
    )
  return checks
}

/** `Wed, 25 Nov 2026, 03:11 in Australia/Sydney`. */
function localTime(at: Date, timeZone: string): string {
  const text = new Intl.DateTimeFormat('en-GB', {
    ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZone },
  }).format(at)
  return `${text} in ${timeZone}`
}
