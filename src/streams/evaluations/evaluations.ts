import { sql } from 'kysely'
import {
  documentedEvaluationPaths,
  requiredEvaluationPaths,
} from '../../contract/appraisal/shapes.ts'
import { valueAt } from '../../values/json-path.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { defineWindowedStream } from '../windowed-stream.ts'
import { mergeEvaluation } from './merge.ts'
import { type EvaluationRecord, evaluationOf, normaliseEvaluation } from './normalise.ts'
import { personOf, withoutPerson } from './person.ts'
import { rebaseEvaluation } from './rebase.ts'
import { linkSalespeople } from './salespeople.ts'

/**
 * Completed evaluations with their versions, reconditioning, photos, custom fields, user prices and customer.
 * Listed by creation time, read one by one: the list filters on EntryDate and knows no "updated since" [A §4 /getevallist, /geteval].
 */
export const evaluations = defineWindowedStream<EvaluationRecord>({
  name: 'evaluations',
  endpoint: 'geteval',
  tables: [
    'core.evaluation',
    'core.evaluation_version',
    'core.reconditioning_item',
    'core.photo',
    'core.custom_field_value',
    'core.user_price',
    'pii.evaluation_customer',
  ],
  dependentTables: [
    'core.price_observation',
    'core.price_insight',
    'core.vehicle_check',
    'core.watch_status_change',
    'pii.signed_link',
    'pii.archived_pdf',
    'ops.enrichment_state',
  ],
  idColumn: 'eval_id',
  documented: { paths: new Set(documentedEvaluationPaths), required: requiredEvaluationPaths },

  list: (sources, rooftop, range, options) =>
    sources.appraisal.listEvaluations(rooftop, range, options),
  hydrate: (sources, rooftop, id, options) => sources.appraisal.getEvaluation(rooftop, id, options),
  normalise: normaliseEvaluation,
  recordOf: evaluationOf,
  dealerOf: (body, id, wire) => {
    const dealer = Number(valueAt(evaluationOf(body, id), wire.evaluation.dealerId) ?? Number.NaN)
    return Number.isSafeInteger(dealer) ? dealer : null
  },
  personOf,
  withoutPerson,
  warnings: (record) => record.warnings,
  entryAt: (record) => record.entryAt,
  resolve: linkSalespeople,
  merge: mergeEvaluation,
  rebase: rebaseEvaluation,

  async storedRecords(db, rooftop, ids) {
    if (ids.length === 0) return []
    // By group: an evaluation belongs to one rooftop, however many rooftops of the group are listed.
    const rows = await db
      .selectFrom('core.evaluation')
      .select([
        'eval_id',
        'rooftop_id',
        'source_updated_at',
        'entry_at',
        'completed_at',
        'created_at',
        'gone_at',
        'run_id',
      ])
      .where('group_id', '=', rooftop.groupId)
      .where('eval_id', '=', sql<number>`any(${[...ids]}::bigint[])`)
      .execute()
    return rows.map((row) => ({
      id: row.eval_id,
      rooftopId: row.rooftop_id,
      updatedAt: row.source_updated_at,
      entryAt: row.entry_at,
      createdAt: row.created_at,
      ageingSince: row.completed_at ?? row.created_at,
      gone: row.gone_at !== null,
      runId: row.run_id,
    }))
  },

  async storedWithin(db, rooftop, spans) {
    const starts = spans.map(({ from }) => fromUnixSeconds(from))
    const stops = spans.map(({ until }) => fromUnixSeconds(until))
    const { rows } = await sql<{ id: number; entryAt: Date }>`
      select eval_id as id, entry_at as "entryAt"
      from unnest(${starts}::timestamptz[], ${stops}::timestamptz[]) as span (start, stop)
      join core.evaluation on rooftop_id = ${rooftop.id} and entry_at >= start and entry_at < stop
      where gone_at is null`.execute(db)
    return rows
  },

  async setEntryTimes(db, rooftop, times) {
    for (const [id, at] of times) {
      await db
        .updateTable('core.evaluation')
        .set({ entry_at: at })
        .where('rooftop_id', '=', rooftop.id)
        .where('eval_id', '=', id)
        .execute()
    }
  },

  async markGone(db, rooftop, ids, at) {
    await db
      .updateTable('core.evaluation')
      .set({ gone_at: at })
      .where('rooftop_id', '=', rooftop.id)
      .where('eval_id', '=', sql<number>`any(${[...ids]}::bigint[])`)
      .where('gone_at', 'is', null)
      .execute()
  },
})
