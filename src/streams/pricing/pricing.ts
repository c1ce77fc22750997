import { type Kysely, sql } from 'kysely'
import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import {
  type DueQuery,
  defineEnrichment,
  type EnrichmentAnswer,
  type EnrichmentTask,
} from '../../sync/enrich/enrichment.ts'
import { planRequests, requestDue } from '../../sync/enrich/enrichment-slice.ts'
import {
  type Derivation,
  type PayloadRows,
  payloadKeys,
  readFitting,
  readPayloads,
} from '../../sync/records/payload-rows.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { LoadOutcome, RecordWarning, Rejected, Row } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { isSameValue } from '../../values/same-value.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { deriveObservations, type ObservationTable, observeAll } from '../observation.ts'
import {
  normalisePrice,
  type PriceRecord,
  pricingContent,
  type ReasoningStatus,
} from './normalise.ts'

const name = 'pricing'

const prices = defineEnrichment<PriceRecord>({
  name,
  asks: [getPricing.name],
  isSummed: true,
  polling: getPricing.polling!,

  // Every region has the pricing AI.
  serves: () => true,
  budget: ({ pricing: { budget } }) => budget,
  due: duePrices,

  async read({ services }, rooftop, { evalId }, { pricing: { reasoning } }, options) {
    const { body, text, date } = await services.call(getPricing, {
      ...options,
      rooftop,
      naturalKey: String(evalId),
      fields: { evalid: evalId, ...(reasoning ? { reasoning } : {}) },
    })
    return { body, text, at: date }
  },

  contentOf: pricingContent,
  normalise: (body, { evalId }, rooftop) => normalisePrice(body, evalId, rooftop),
  isPending: ({ reasoning }) => reasoning === 'processing',
  daysUntilDue,
  async load({ db }, rooftop, answers, runId) {
    const outcomes = await observePrices(db, rooftop, answers, runId)
    return answers.map(({ evalId, record }) => ({
      outcome: outcomes.get(evalId)!,
      warnings: symbolWarnings(record),
    }))
  },
})

const payloadRows: PayloadRows = {
  keysOf: (rooftopIds) => payloadKeys(rooftopIds, prices.asks),
  derive: derivePrices,
  isSummed: true,
}

/** Pricing AI: prices of complete evaluations with mileage, stored as observations [A §4 /pricingAi/payload/{evalid}]. */
export const pricing: Stream = {
  name,
  endpoints: prices.asks,
  enrichment: prices,
  follows: [],
  payloadRows,
  slices: {
    sync: bindSlice(prices, requestDue),
    retry: bindSlice(prices, requestDue),
  },
  plan: async (scope) => await planRequests(prices, scope),
}

function symbolWarnings({ strangeSymbol, currency }: PriceRecord): readonly RecordWarning[] {
  if (strangeSymbol === null) return []
  const detail = `currency_symbol "${strangeSymbol}" is not a symbol of ${currency}, the rooftop's currency`
  return [{ check: 'currency-symbol-disagrees', detail }]
}

/** Days between two calls, by the days since completion; older evaluations are asked about only when they change. */
const schedule: readonly (readonly [age: number, every: number])[] = [
  [7, 1],
  [30, 3],
  [90, 7],
  [365, 28],
]

/** Days until an evaluation that was completed `ageDays` ago is due again; null: never. */
export function daysUntilDue(ageDays: number): number | null {
  return schedule.find(([age]) => ageDays <= age)?.[1] ?? null
}

/**
 * Evaluations to ask about, most urgent first:
 * 1. polls for answers that are not complete,
 * 2. evaluations of the last 30 days that are new or have changed since the last call,
 * 3. known ones that are due by the schedule,
 * 4. older new ones.
 * Those that failed come after all others, and the latest completed first. What was asked in this run is due again in it only
 * as a poll.
 */
export async function duePrices(
  db: Kysely<Tables>,
  rooftop: Pick<RooftopRow, 'id'>,
  { now, runStart, limit, budget, only, evalId }: DueQuery,
): Promise<EnrichmentTask[]> {
  const [ask] = prices.asks
  const isPoll = sql`coalesce(state.polling_since is not null and state.next_due_at <= ${now}, false)`
  const isFresh = sql`(state.eval_id is null or source_updated_at > state.last_asked_at)`
  const isDue = sql`(state.eval_id is null or state.last_asked_at < ${runStart} and (state.next_due_at <= ${runStart} or ${isFresh}))`
  // A backlog of old ones that were never asked about comes last: it must not delay the daily ones.
  const urgency = sql`again desc, failures, (fresh and completed_at > ${runStart}::timestamptz - interval '30 days') desc,
    fresh, completed_at desc, eval_id desc`
  const chosen = only === null ? null : [...only]
  const ofStream = sql`rooftop_id = ${rooftop.id} and stream = ${name}`
  // By index: whatever is due is among these.
  const found = sql`
    select eval_id from ops.enrichment_state where ${ofStream} and polling_since is not null
    union select eval_id from ops.enrichment_state where ${ofStream} and next_due_at <= ${runStart}
    union select eval_id from ops.new_to_pricing where rooftop_id = ${rooftop.id}
    union select key::bigint from unnest(${chosen}::text[]) as key where key ~ '^\\d{1,15}$'`
  const { rows } = await sql<EnrichmentTask>`
    with candidate as (
      select eval_id, completed_at, ${isPoll} as again, ${isFresh} as fresh,
        coalesce(state.failures, 0) as failures, state.polling_since
      from (${evalId === null ? found : sql`select ${evalId}::bigint as eval_id`}) as found
      join core.evaluation using (eval_id)
      left join (
        select * from ops.enrichment_state where ${ofStream} and ask = ${ask}
      ) as state using (eval_id)
      where core.evaluation.rooftop_id = ${rooftop.id} and gone_at is null and completed_at is not null and odometer is not null
        and (${isPoll} or eval_id::text = any(${chosen}::text[]) or ${chosen}::text[] is null and ${isDue})
    )
    select eval_id as "evalId", ${ask} as ask, completed_at as "completedAt", again, failures, polling_since as "pollingSince"
    from (
      select *, count(*) filter (where not again) over (
        order by ${urgency}
      ) as cost
      from candidate
    ) as ranked
    where again or cost <= ${budget}
    order by ${urgency}
    limit ${limit}`.execute(db)
  return rows
}

const priceSource = 'pricing_ai'

const evaluationPrices: ObservationTable = {
  table: 'core.price_observation',
  key: 'eval_id',
  keyType: 'bigint',
  source: priceSource,
  confirmed: ['last_confirmed_at', 'reasoning_status'],
}

/** The rows that stored payloads make. */
async function derivePrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  keys: readonly string[],
): Promise<Derivation> {
  const unfit: Rejected[] = []
  const giveWay = eventLoopYielder()
  const answers = []
  for (const payload of await readPayloads(db, rooftop, [getPricing.name], keys)) {
    await giveWay()
    const { naturalKey, text, readAt: at, runId } = payload
    const evalId = Number(naturalKey)
    const read = (body: unknown) => normalisePrice(body, evalId, rooftop)
    const record = readFitting(naturalKey, text, unfit, read)
    if (record !== null) answers.push(priceObservation({ evalId, record, at }, runId))
  }
  const { table, observations } = await deriveObservations(db, rooftop, evaluationPrices, answers)
  const known = await readInsights(db, rooftop, keys.map(Number))
  const observed = observations.map(({ row, isWhole, answers: equal }) => {
    const stored = known.get(observationKey(row)) ?? []
    return { stored, derived: mergeInsights(isWhole ? [] : stored, row, equal) }
  })
  const recordOf = (row: Row) => String(row['eval_id'])
  return {
    tables: [
      table,
      {
        table: 'core.price_insight',
        stored: observed.flatMap(({ stored }) => stored),
        derived: observed.flatMap(({ derived }) => derived),
        recordOf,
      },
    ],
    unfit,
  }
}

function observationKey({ eval_id, observed_at }: Row): string {
  return `${String(eval_id)} ${(observed_at as Date).toISOString()}`
}

/** A reasoning that has ended does not begin again. */
function nextReasoning(
  status: ReasoningStatus | null,
  answer: ReasoningStatus | null,
): ReasoningStatus | null {
  if (answer === null || (answer === 'processing' && status !== null)) return status
  return answer
}

/** Appends new prices and confirms unchanged ones. Exactly one observation of an evaluation stays current. */
async function observePrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly EnrichmentAnswer<PriceRecord>[],
  runId: number,
): Promise<ReadonlyMap<number, LoadOutcome>> {
  const observations = answers.map((answer) => priceObservation(answer, runId))
  const observed = await observeAll(db, rooftop, evaluationPrices, observations)
  await storeInsights(db, rooftop, observed)
  return new Map(observed.map(({ key, outcome }) => [key, outcome]))
}

function priceObservation(
  { evalId, record, at }: Omit<EnrichmentAnswer<PriceRecord>, 'ask'>,
  runId: number,
) {
  return {
    ...{ key: evalId, at, runId, valueHash: record.valueHash, record },
    columns: (confirmed: Row | null) => ({
      as_of_date: confirmed?.['as_of_date'] ?? record.asOfDate,
      ...record.prices,
      currency_code: record.currency,
      confidence: record.confidence,
      reasoning_status: nextReasoning(
        (confirmed?.['reasoning_status'] ?? null) as ReasoningStatus | null,
        record.reasoning,
      ),
    }),
  }
}

interface Reasoned {
  readonly record: PriceRecord
}

/** Stores the insights of completed reasonings with their observations; writes nothing when they are the same. */
async function storeInsights(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  observed: readonly (Reasoned & { readonly key: number; readonly row: Row })[],
): Promise<void> {
  const reasoned = observed.filter(({ record }) => record.reasoning === 'completed')
  if (reasoned.length === 0) return
  const evalIds = reasoned.map(({ key }) => key)
  const known = await readInsights(db, rooftop, evalIds)
  const changed = reasoned.flatMap((answer) => {
    const stored = known.get(observationKey(answer.row)) ?? []
    const insights = mergeInsights(stored, answer.row, [answer])
    return isSameValue(stored, insights) ? [] : [{ row: answer.row, insights }]
  })
  if (changed.length === 0) return
  await sql`
    delete from core.price_insight as old
    using unnest(${changed.map(({ row }) => row['eval_id'])}::bigint[], ${changed.map(({ row }) => row['observed_at'])}::timestamptz[])
      as price (eval_id, observed_at)
    where rooftop_id = ${rooftop.id} and price_source = ${priceSource}
      and (old.eval_id, old.observed_at) = (price.eval_id, price.observed_at)`.execute(db)
  await sql`
    insert into core.price_insight
    select * from jsonb_populate_recordset(null::core.price_insight, ${JSON.stringify(changed.flatMap(({ insights }) => insights))}::jsonb)`.execute(
    db,
  )
}

/** The insights of evaluations by observation, in the order received. */
async function readInsights(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  evalIds: readonly number[],
): Promise<ReadonlyMap<string, readonly Row[]>> {
  const { rows } = await sql<Row>`
    select * from core.price_insight
    where rooftop_id = ${rooftop.id} and price_source = ${priceSource} and eval_id = any(${[...evalIds]}::bigint[])
    order by audience desc, position`.execute(db)
  return Map.groupBy(rows, observationKey)
}

/** The insights of an observation after answers with its prices: those of the last reasoning that is complete. Pure. */
function mergeInsights(
  before: readonly Row[],
  { rooftop_id, eval_id, price_source, observed_at }: Row,
  answers: readonly Reasoned[],
): readonly Row[] {
  const last = answers.findLast(({ record }) => record.reasoning === 'completed')
  if (last === undefined) return before
  return (['dealer', 'customer'] as const).flatMap((audience) =>
    last.record.insights[audience].map((insight, index) => ({
      ...{ rooftop_id, eval_id, price_source, observed_at },
      ...{ audience, position: index + 1, insight },
    })),
  )
}
