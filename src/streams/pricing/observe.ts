import { type Kysely, sql } from 'kysely'
import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import type { EnrichmentAnswer } from '../../sync/enrich/enrichment.ts'
import { type Derivation, readFitting, readPayloads } from '../../sync/records/payload-rows.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { LoadOutcome, Rejected, Row } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { isSameValue } from '../../values/same-value.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { deriveObservations, type ObservationTable, observeAll } from '../observation.ts'
import { normalisePrice, type PriceRecord, type ReasoningStatus } from './normalise.ts'

const priceSource = 'pricing_ai'

const evaluationPrices: ObservationTable = {
  table: 'core.price_observation',
  key: 'eval_id',
  keyType: 'bigint',
  source: priceSource,
  confirmed: ['last_confirmed_at', 'reasoning_status'],
}

/** The rows that stored payloads make. */
export async function derivePrices(
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
export async function observePrices(
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
