import { type Kysely, sql } from 'kysely'
import { listPastCarHistory, listPastPpsr, watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import {
  documentedEvaluationPaths,
  requiredEvaluationPaths,
} from '../../api/contract/appraisal/shapes.ts'
import { isEmpty } from '../../api/learn/answers.ts'
import { defineRecords } from '../../sync/windows/windowed-records.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { holdLock } from '../../warehouse/db/locks.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { addUser, isGeneratedAccount } from '../app-user.ts'
import { type Links, mergeEvaluation } from './merge.ts'
import { type EvaluationRecord, findEvaluation, normaliseEvaluation } from './normalise.ts'
import { evaluationPeople } from './person.ts'
import { resumeEvaluation } from './resume.ts'

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
  // The settings of `wire.appraisal.evaluation`.
  names: {
    settings: ({ evaluation }) =>
      Object.fromEntries(
        Object.entries<JsonPath>(evaluation).map(([name, path]) => [
          `appraisal.evaluation.${name}`,
          path,
        ]),
      ),
    isFilled: (record, path) => !isEmpty(valueAt(record, path)),
    readNewest: async (db, rooftopId, most) => {
      const { rows } = await sql<{ id: number }>`select eval_id::float8 as id from core.evaluation
        where rooftop_id = ${rooftopId} order by entry_at desc limit ${most}`.execute(db)
      return rows.map(({ id }) => id)
    },
    // The learner is loaded where it is needed.
    findMoved: async (...of) => (await import('./moved-names.ts')).findMoved(...of),
  },
  warnings: (record) => record.warnings,
  entryAt: (record) => record.entryAt,
  resolve: linkSalespeople,
  merge: mergeEvaluation,
  resume: resumeEvaluation,
})

/**
 * Finds the salespeople that evaluations name, by e-mail within the dealer group. Adds those that no user list has shown, marked
 * as not in the list: a list never shows generated link accounts [A §4 /getuserlist]. `read` adds none: they have no user_id.
 */
async function linkSalespeople(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  records: readonly EvaluationRecord[],
  wire: AppraisalWire,
  mode: 'add' | 'read' = 'add',
): Promise<(record: EvaluationRecord) => Links> {
  const named = new Map<string, { email: string; name: string | null }>()
  for (const { user } of records) if (user) named.set(user.email, user)
  const emails = [...named.keys()]
  const ids = await userIds(db, rooftop.groupId, emails)
  const missing = emails.filter((email) => !ids.has(email)).sort()
  if (missing.length > 0 && mode === 'add') {
    // Two rooftops of a group may find the same new salesperson at once.
    await holdLock(db, 'salespeople', rooftop.groupId)
    const addUnlisted = async (email: string) => {
      const { user_id } = await addUser(db, rooftop, email, {
        display_name: named.get(email)!.name,
        is_generated_link_account: isGeneratedAccount(email, wire),
        ...{ is_active: null, in_user_list: false },
      })
      return user_id
    }
    for (const email of missing) {
      // One that was just added may have this e-mail in another case.
      const id = (await userIds(db, rooftop.groupId, [email])).get(email)
      ids.set(email, id ?? (await addUnlisted(email)))
    }
  }
  return (record) => ({ user_id: record.user ? (ids.get(record.user.email) ?? null) : null })
}

/** Ids by e-mail as given. Postgres lowers both sides, as its unique index does: our lower case differs, for example for a final sigma. */
async function userIds(
  db: Kysely<Tables>,
  groupId: number,
  emails: readonly string[],
): Promise<Map<string, number>> {
  if (emails.length === 0) return new Map()
  const { rows } = await sql<{ email: string; id: number }>`
    select given.email, user_id as id
    from unnest(${[...emails]}::text[]) as given (email)
    join pii.app_user_email as known on known.group_id = ${groupId} and lower(known.email) = lower(given.email)`.execute(
    db,
  )
  return new Map(rows.map(({ email, id }) => [email, id]))
}
