import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type Observed, type ObservationTable, observeAll } from '../observation.ts'
import type { EnrichmentAnswer } from '../../pipeline/enrichment.ts'
import type { LoadOutcome } from '../../values/record.ts'
import type { PriceRecord } from './normalise.ts'

const priceSource = 'pricing_ai'

const evaluationPrices: ObservationTable = {
  table: 'core.price_observation',
  key: 'eval_id',
  keyType: 'bigint',
  source: priceSource,
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
    const rows = (['dealer', 'customer'] as const).flatMap((audience) =>
      record.insights[audience].map((insight, index) => ({
        ...key,
        observed_at: observedAt,
        audience,
        position: index + 1,
        insight,
      })),
    )
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

function textOf(rows: readonly { audience: string; insight: string }[]): string {
  return JSON.stringify(rows.map(({ audience, insight }) => [audience, insight]))
}
