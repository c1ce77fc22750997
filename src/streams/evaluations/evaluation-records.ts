import { listPastCarHistory, listPastPpsr, watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import {
  documentedEvaluationPaths,
  requiredEvaluationPaths,
} from '../../api/contract/appraisal/shapes.ts'
import { defineRecords } from '../../sync/windows/windowed-records.ts'
import { valueAt } from '../../values/json-path.ts'
import { evaluationNames } from './evaluation-names.ts'
import { mergeEvaluation } from './merge.ts'
import { type EvaluationRecord, findEvaluation, normaliseEvaluation } from './normalise.ts'
import { evaluationPeople } from './person.ts'
import { resumeEvaluation } from './resume.ts'
import { linkSalespeople } from './salespeople.ts'

/** Evaluations as the list shows them: by creation time, since it filters on EntryDate and knows no "updated since"
 *  [A §4 /getevallist, /geteval]. */
export const evaluationRecords = defineRecords<EvaluationRecord>({
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
  dependentEndpoints: [getPricing, listPastPpsr, listPastCarHistory, watchPpsr].map(
    ({ name }) => name,
  ),
  idColumn: 'eval_id',
  ageingColumn: 'completed_at',
  isSummed: true,
  documented: { paths: new Set(documentedEvaluationPaths), required: requiredEvaluationPaths },

  async list({ appraisal }, rooftop, range, options) {
    const list = await appraisal.listEvaluations(rooftop, range, options)
    return { ...list, items: list.items.map(({ evalId: id, updatedAt }) => ({ id, updatedAt })) }
  },
  hydrate: ({ appraisal }, rooftop, id, options) => appraisal.getEvaluation(rooftop, id, options),
  normalise: normaliseEvaluation,
  findRecord: findEvaluation,
  readDealer: (body, id, wire) => {
    const dealer = Number(valueAt(findEvaluation(body, id), wire.evaluation.dealerId) ?? Number.NaN)
    return Number.isSafeInteger(dealer) ? dealer : null
  },
  people: evaluationPeople,
  names: evaluationNames,
  warnings: (record) => record.warnings,
  entryAt: (record) => record.entryAt,
  resolve: linkSalespeople,
  merge: mergeEvaluation,
  resume: resumeEvaluation,
})
