import { type Kysely, sql } from 'kysely'
import pLimit from 'p-limit'
import { decodeAu, decodeGcc } from '../../api/contract/vehicle-data/decode.ts'
import type { CallOptions } from '../../api/sources/http.ts'
import { isKeyRefused } from '../../api/sources/status-rules.ts'
import { errorText, SyncError } from '../../errors.ts'
import { pickSources, type Sources } from '../../sync/run/sources.ts'
import { callOptions, type SliceJob } from '../../sync/run/stream.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

/** What the service knows about a VIN. */
interface LookUp {
  readonly vin: string
  readonly outcome: 'decoded' | 'unknown'
  readonly adcode: string | null
  /** What the vehicle is, as far as the service says. */
  readonly make: string | null
  readonly model: string | null
  /** The source's time of the answer, where it sent one. */
  readonly at: Date | null
}

type Region = Pick<RooftopRow, 'region'>

/** The operation that decodes a VIN of the rooftop's region; its answers are stored under its name. */
export function findDecoder({ region }: Region): string | null {
  if (region === 'US') return null
  return region === 'AU' ? decodeAu.name : decodeGcc.name
}

/** A VIN that the service does not know, or has no code for, may be known later: it is looked up again. */
const againAfterDays = 30

/** VINs in stock without an ADCode, in order: never looked up, or not found a month ago. */
export async function vinsToDecode(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  limit: number,
  now: Date,
): Promise<string[]> {
  const notFoundBefore = new Date(now.getTime() - againAfterDays * 86_400_000)
  const { rows } = await sql<{ vin: string }>`
    select distinct unit.vin from core.stock_unit as unit
    where unit.rooftop_id = ${rooftop.id} and unit.off_stock_at is null and unit.adcode is null and length(unit.vin) = 17
      and not exists (select from core.vehicle_decode as known
        where known.vin = unit.vin::char(17) and known.operation = ${findDecoder(rooftop)}
          and (known.adcode is not null or known.decoded_at > ${notFoundBefore}))
    order by unit.vin limit ${limit}`.execute(db)
  return rows.map(({ vin }) => vin)
}

/** Only a 404 says that the VIN is not known [V §7]. Rejects with SyncError on anything else. */
async function decodeVin(
  sources: Sources,
  rooftop: RooftopRow,
  vin: string,
  options: CallOptions,
): Promise<LookUp> {
  try {
    const { adcode, make, model, at } = await decode(sources, rooftop, vin, options)
    // No code is that long.
    const isCode = adcode !== null && adcode.trim() !== '' && adcode.trim().length <= 40
    const build = { make: storedName(make), model: storedName(model) }
    return { vin, outcome: 'decoded', adcode: isCode ? adcode.trim() : null, ...build, at }
  } catch (error) {
    if (!(error instanceof SyncError) || error.status !== 404) throw error
    return { vin, outcome: 'unknown', adcode: null, make: null, model: null, at: null }
  }
}

async function decode(
  { services }: Sources,
  { region }: Region,
  vin: string,
  options: CallOptions,
): Promise<Pick<LookUp, 'adcode' | 'make' | 'model' | 'at'>> {
  const call = { ...options, naturalKey: vin, fields: { vin } }
  if (region === 'AU') {
    const { answer, date } = await services.call(decodeAu, call)
    const { adcode, make, model } = answer()
    return { adcode, make, model, at: date }
  }
  const { answer, date } = await services.call(decodeGcc, call)
  const { ADCode = null, Make = null, Model = null } = answer().VehicleData
  return { adcode: ADCode, make: Make, model: Model, at: date }
}

function storedName(name: string | null): string | null {
  const text = name === null ? '' : storable(name).trim().slice(0, 120)
  return text === '' ? null : text
}

/** After this many VINs without an answer, the fault is the service's, not the VINs'. */
const failuresAllowed = 8

/**
 * Looks up the VINs concurrently. A VIN without an answer is tried again another night; its unit is priced without the lookup.
 * Rejects with SyncError when the key is refused.
 */
export async function lookUpAll(job: SliceJob, vins: readonly string[]): Promise<LookUp[]> {
  const { context, rooftop } = job
  const options = callOptions(job)
  const limit = pLimit(context.config.http.concurrency)
  const found: LookUp[] = []
  const reasons: string[] = []
  const one = async (vin: string): Promise<void> => {
    if (reasons.length >= failuresAllowed) return
    try {
      found.push(await decodeVin(pickSources(context), rooftop, vin, options))
    } catch (error) {
      if (!(error instanceof SyncError) || isKeyRefused(error)) throw error
      reasons.push(errorText(error))
    }
  }
  const settled = await Promise.allSettled(vins.map((vin) => limit(one, vin)))
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason
  if (reasons.length > 0) {
    const about = { stream: job.stream.name, rooftop: rooftop.uid, runId: job.run.runId }
    const left = vins.length - found.length
    context.log.warn(about, `${left} VINs could not be looked up, e.g.: ${reasons[0]}`)
  }
  return found
}

/** Stores the results. A code that is known stays: another rooftop may have looked up the same VIN meanwhile. A VIN without a code
 *  gets our `now`, which decides when it is due again. */
export async function storeLookUps(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  lookUps: readonly LookUp[],
  now: Date,
): Promise<void> {
  if (lookUps.length === 0) return
  const rows = lookUps
    .map(({ vin, outcome, adcode, make, model, at }) => ({
      ...{ vin, operation: findDecoder(rooftop)!, adcode, make, model, outcome },
      decoded_at: adcode === null ? now : (at ?? now),
    }))
    .sort((a, b) => (a.vin < b.vin ? -1 : 1))
  await db
    .insertInto('core.vehicle_decode')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['vin', 'operation'])
        .doUpdateSet(({ ref }) => ({
          adcode: ref('excluded.adcode'),
          make: ref('excluded.make'),
          model: ref('excluded.model'),
          outcome: ref('excluded.outcome'),
          decoded_at: ref('excluded.decoded_at'),
        }))
        .where('core.vehicle_decode.adcode', 'is', null),
    )
    .execute()
}
