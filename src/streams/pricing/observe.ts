import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { observationOf, type Standing } from '../observation.ts'
import type { Enriched, LoadOutcome } from '../stream.ts'
import type { PriceRecord, ReasoningStatus } from './normalise.ts'

export const priceSource = 'pricing_ai'

interface Current extends Standing {
  readonly reasoning: ReasoningStatus | null
}

/** An answer, the observation that it makes or confirms, and what it did. */
interface Observed extends Enriched<PriceRecord> {
  readonly outcome: LoadOutcome
  readonly observedAt: Date
  readonly current: Current | undefined
}

/** Appends what says something new, and confirms the rest. Exactly one observation of an evaluation stays current. */
export async function observePrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Enriched<PriceRecord>[],
  runId: number,
): Promise<ReadonlyMap<number, LoadOutcome>> {
  if (answers.length === 0) return new Map()
  const stored = await currentOf(
    db,
    rooftop,
    answers.map(({ evalId }) => evalId),
  )
  const observed = answers.map((answer) => observe(answer, stored.get(answer.evalId)))
  await supersede(
    db,
    rooftop,
    observed.filter(({ outcome }) => outcome === 'updated'),
  )
  await append(
    db,
    rooftop,
    observed.filter(({ outcome }) => outcome !== 'unchanged'),
    runId,
  )
  await confirm(
    db,
    rooftop,
    observed.filter(({ outcome }) => outcome === 'unchanged'),
  )
  await keepInsights(db, rooftop, observed)
  return new Map(observed.map(({ evalId, outcome }) => [evalId, outcome]))
}

function observe(answer: Enriched<PriceRecord>, current: Current | undefined): Observed {
  return { ...answer, ...observationOf(answer.at, answer.record.valueHash, current), current }
}

async function currentOf(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  evalIds: readonly number[],
): Promise<Map<number, Current>> {
  const rows = await db
    .selectFrom('core.price_observation')
    .select(['eval_id', 'observed_at', 'last_confirmed_at', 'value_hash', 'reasoning_status'])
    .where('rooftop_id', '=', rooftop.id)
    .where('price_source', '=', priceSource)
    .where('is_current', '=', true)
    .where('eval_id', 'in', [...evalIds])
    .execute()
  return new Map(
    rows.map((row) => [
      row.eval_id,
      {
        observedAt: row.observed_at,
        confirmedAt: row.last_confirmed_at,
        valueHash: row.value_hash,
        reasoning: row.reasoning_status as ReasoningStatus | null,
      },
    ]),
  )
}

async function supersede(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  changed: readonly Observed[],
): Promise<void> {
  if (changed.length === 0) return
  const ids = changed.map(({ evalId }) => evalId)
  await db
    .updateTable('core.price_observation')
    .set({ is_current: false })
    .where('rooftop_id', '=', rooftop.id)
    .where('price_source', '=', priceSource)
    .where('is_current', '=', true)
    .where('eval_id', 'in', ids)
    .execute()
}

async function append(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  fresh: readonly Observed[],
  runId: number,
): Promise<void> {
  if (fresh.length === 0) return
  const rows = fresh.map(({ evalId, observedAt, record }) => ({
    rooftop_id: rooftop.id,
    eval_id: evalId,
    price_source: priceSource,
    observed_at: observedAt,
    last_confirmed_at: observedAt,
    is_current: true,
    as_of_date: record.asOfDate,
    ...record.prices,
    currency_code: record.currency,
    confidence: record.confidence,
    reasoning_status: record.reasoning,
    value_hash: record.valueHash,
    run_id: runId,
  }))
  await db.insertInto('core.price_observation').values(rows).execute()
}

/** Moves `last_confirmed_at`, and a reasoning to where it has come; one that has ended does not begin anew. */
async function confirm(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  same: readonly Observed[],
): Promise<void> {
  if (same.length === 0) return
  await sql`
    update core.price_observation as price
    set last_confirmed_at = greatest(price.last_confirmed_at, answer.at),
      reasoning_status = case
        when answer.reasoning is null then price.reasoning_status
        when answer.reasoning = 'processing' then coalesce(price.reasoning_status, answer.reasoning)
        else answer.reasoning end
    from unnest(${same.map(({ evalId }) => evalId)}::bigint[], ${same.map(({ at }) => at)}::timestamptz[],
      ${same.map(({ record }) => record.reasoning)}::varchar[]) as answer (eval_id, at, reasoning)
    where price.rooftop_id = ${rooftop.id} and price.price_source = ${priceSource} and price.is_current
      and price.eval_id = answer.eval_id`.execute(db)
}

/** The bullets of a completed reasoning hang on the observation that it is about; the same ones write nothing. */
async function keepInsights(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  observed: readonly Observed[],
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
