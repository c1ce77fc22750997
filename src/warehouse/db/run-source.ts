import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { Db } from './transaction.ts'

/** The services that a process reads: a worker takes only work of runs that read the same ones. */
export interface RunSource {
  /** Base URL of the appraisal service, normalised. */
  readonly appraisalUrl: string
  /** Base URL of the vehicle-data services, normalised. */
  readonly vehicleDataUrl: string
  /** The sandbox of `forecourt demo`, which ends with its process. */
  readonly isSandbox: boolean
}

/** The services that a config names. */
export function readSource(
  { appraisal, vehicleData }: Pick<Config, 'appraisal' | 'vehicleData'>,
  isSandbox = false,
): RunSource {
  return {
    appraisalUrl: normaliseUrl(appraisal.baseUrl),
    vehicleDataUrl: normaliseUrl(vehicleData.baseUrl),
    isSandbox,
  }
}

/** One text for each address: host in lower case, default port and slashes at the end left out. A password is left out as well. */
function normaliseUrl(text: string): string {
  const url = new URL(text)
  url.username = ''
  url.password = ''
  url.hash = ''
  let path = url.pathname
  while (path.endsWith('/')) path = path.slice(0, -1)
  return `${url.origin}${path}${url.search}`
}

/** The services of a run in one text, where they are not those of the config; null: they are. A run of an earlier version belongs to
 *  any config. */
export function otherSource(
  source: RunSource | null,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
): string | null {
  const ours = readSource(config)
  const isSame =
    source === null ||
    (source.appraisalUrl === ours.appraisalUrl && source.vehicleDataUrl === ours.vehicleDataUrl)
  return isSame ? null : sourceText(source)
}

/** The services in one text, for people. */
export function sourceText({ appraisalUrl, vehicleDataUrl, isSandbox }: RunSource): string {
  const urls = `${appraisalUrl} and ${vehicleDataUrl}`
  return isSandbox ? `${urls} (sandbox of a demo)` : urls
}

/** Stores the services where they are new, and returns their id. */
export async function registerSource(db: Db, source: RunSource): Promise<number> {
  const { appraisalUrl, vehicleDataUrl, isSandbox } = source
  const { rows } = await sql<{ id: number }>`
    select source_id as id from ops.source
    where (appraisal_url, vehicle_data_url, is_sandbox) = (${appraisalUrl}, ${vehicleDataUrl}, ${isSandbox})`.execute(
    db,
  )
  const [known] = rows
  if (known !== undefined) return known.id
  const { rows: added } = await sql<{ id: number }>`
    insert into ops.source (appraisal_url, vehicle_data_url, is_sandbox)
    values (${appraisalUrl}, ${vehicleDataUrl}, ${isSandbox})
    on conflict (appraisal_url, vehicle_data_url) do update set is_sandbox = excluded.is_sandbox
    returning source_id as id`.execute(db)
  return added[0]!.id
}

/** A short text that differs by the services of a config, as a process knows it before it reaches the warehouse. */
export function markSource(config: Pick<Config, 'appraisal' | 'vehicleData'>): string {
  const { appraisalUrl, vehicleDataUrl } = readSource(config)
  const digest = createHash('sha256').update(`${appraisalUrl} ${vehicleDataUrl}`).digest('hex')
  return digest.slice(0, 8)
}

/** SQL: whether a row belongs to the services of a config, by its column. A row of an earlier version, with null, belongs to any. */
export function isOfConfig(
  column: string,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
): RawBuilder<boolean> {
  const { appraisalUrl, vehicleDataUrl } = readSource(config)
  const sourceId = sql.ref(column)
  return sql`(${sourceId} is null or ${sourceId} = (
    select source.source_id from ops.source
    where (source.appraisal_url, source.vehicle_data_url) = (${appraisalUrl}::text, ${vehicleDataUrl}::text)))`
}

/** SQL: the source of a row of ops.run with the alias `run`, as RunSource; null: of an earlier version. */
export const sourceOfRun = `(
  select json_build_object('appraisalUrl', appraisal_url, 'vehicleDataUrl', vehicle_data_url, 'isSandbox', is_sandbox)
  from ops.source where source.source_id = run.source_id)`
