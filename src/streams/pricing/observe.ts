import { type Kysely, sql } from 'kysely'
import { getPricing } from '../../contract/appraisal/pricing.ts'
import type { Tables } from '../../db/tables.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type Derivation, readPayloads, rowsByColumn } from '../../pipeline/payload-rows.ts'
import {
  deriveObservations,
  type Observed,
  type ObservationTable,
  observeAll,
} from '../observation.ts'
import type { EnrichmentAnswer } from '../../pipeline/enrichment.ts'
import { type LoadOutcome, RecordIssues, type Rejected, type Row } from '../../values/record.ts'
import { normalisePrice, type PriceRecord, type ReasoningStatus } from './normalise.ts'

const priceSource = 'pricing_ai'

const evaluationPrices: ObservationTable = {
  table: 'core.price_observation',
  key: 'eval_id',
  keyType: 'bigint',
  source: priceSource,
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
    try {
      const evalId = Number(naturalKey)
      const record = normalisePrice(JSON.parse(text), evalId, rooftop)
      const { key, valueHash, columns: all } = observationOf({ evalId, ask: '', record, at })
      const { as_of_date, reasoning_status: _, ...columns } = all
      answers.push({ key, at, valueHash, columns, runId, record, first: { as_of_date } })
    } catch (error) {
      if (!(error instanceof RecordIssues)) throw error
      unfit.push({ naturalKey, issues: error.issues, payload: text })
    }
  }
  const { table, observations } = await deriveObservations(db, rooftop, evaluationPrices, answers)
  const prices = observations.map(({ row, isWhole, answers: equal }) => ({
    ...row,
    reasoning_status: equal.reduce(
      (status, { record }) => nextReasoning(status, record.reasoning),
      isWhole ? null : (row['reasoning_status'] as ReasoningStatus | null),
    ),
  }))
  const observed = new Set(observations.map(({ row }) => observationKey(row)))
  const known = (
    await rowsByColumn(db, 'core.price_insight', rooftop.id, 'eval_id', keys.map(Number))
  ).filter((row) => observed.has(observationKey(row)))
  const insights = observations.flatMap(({ row, isWhole, answers: equal }) => {
    const last = equal.findLast(({ record }) => record.reasoning === 'completed')
    if (last !== undefined) return insightRows(row as unknown as ObservationKey, last.record)
    return isWhole ? [] : known.filter((own) => observationKey(own) === observationKey(row))
  })
  const recordOf = (row: Row) => String(row['eval_id'])
  return {
    tables: [
      { ...table, derived: prices },
      { table: 'core.price_insight', stored: known, derived: insights, recordOf },
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

/** An answer, what it did, and the time of the observation that it made or confirmed. */
type LoadedAnswer = EnrichmentAnswer<PriceRecord> & Observed

/** Appends new prices and confirms unchanged ones. Exactly one observation of an evaluation stays current. */
export async function observePrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly EnrichmentAnswer<PriceRecord>[],
  runId: number,
): Promise<ReadonlyMap<number, LoadOutcome>> {
  const observations = answers.map((answer) => ({ ...answer, ...observationOf(answer) }))
  const seen = await observeAll(db, rooftop, evaluationPrices, observations, runId)
  await updateReasoning(
    db,
    rooftop,
    seen.filter(({ outcome }) => outcome === 'unchanged'),
  )
  await storeInsights(db, rooftop, seen)
  return new Map(seen.map(({ evalId, outcome }) => [evalId, outcome]))
}

function observationOf({ evalId, record }: EnrichmentAnswer<PriceRecord>) {
  return {
    key: evalId,
    valueHash: record.valueHash,
    columns: {
      as_of_date: record.asOfDate,
      ...record.prices,
      currency_code: record.currency,
      confidence: record.confidence,
      reasoning_status: record.reasoning,
    },
  }
}

/** Updates the reasoning status of confirmed observations; a reasoning that has ended does not begin again. */
async function updateReasoning(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  confirmed: readonly LoadedAnswer[],
): Promise<void> {
  const reasoned = confirmed.filter(({ record }) => record.reasoning !== null)
  if (reasoned.length === 0) return
  await sql`
    update core.price_observation as price set reasoning_status = answer.reasoning
    from unnest(${reasoned.map(({ evalId }) => evalId)}::bigint[], ${reasoned.map(({ record }) => record.reasoning)}::varchar[]) as answer (eval_id, reasoning)
    where price.rooftop_id = ${rooftop.id} and price.price_source = ${priceSource} and price.is_current
      and price.eval_id = answer.eval_id and price.reasoning_status is distinct from answer.reasoning
      and (answer.reasoning <> 'processing' or price.reasoning_status is null)`.execute(db)
}

/** Stores the insights of a completed reasoning with its observation; writes nothing when they are the same. */
async function storeInsights(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  observed: readonly LoadedAnswer[],
): Promise<void> {
  const reasoned = observed.filter(({ record }) => record.reasoning === 'completed')
  for (const { evalId, observedAt, record } of reasoned) {
    const key = { rooftop_id: rooftop.id, eval_id: evalId, price_source: priceSource }
    const rows = insightRows({ ...key, observed_at: observedAt }, record)
    const stored = await db
      .selectFrom('core.price_insight')
      .select(['audience', 'position', 'insight'])
      .where((row) => row.and({ ...key, observed_at: observedAt }))
      .orderBy('audience', 'desc')
      .orderBy('position')
      .execute()
    if (textOf(stored) === textOf(rows)) continue
    await db
      .deleteFrom('core.price_insight')
      .where((row) => row.and({ ...key, observed_at: observedAt }))
      .execute()
    if (rows.length > 0) await db.insertInto('core.price_insight').values(rows).execute()
  }
}

interface ObservationKey {
  readonly rooftop_id: number
  readonly eval_id: number
  readonly price_source: string
  readonly observed_at: Date
}

/** The bullet points of an observation, in the order received. */
function insightRows(
  { rooftop_id, eval_id, price_source, observed_at }: ObservationKey,
  { insights }: PriceRecord,
) {
  return (['dealer', 'customer'] as const).flatMap((audience) =>
    insights[audience].map((insight, index) => ({
      ...{ rooftop_id, eval_id, price_source, observed_at },
      ...{ audience, position: index + 1, insight },
    })),
  )
}

function textOf(rows: readonly { audience: string; insight: string }[]): string {
  return JSON.stringify(rows.map(({ audience, insight }) => [audience, insight]))
}
