import { sql } from 'kysely'
import { isEmpty } from '../../api/learn/answers.ts'
import type { NamedFields } from '../../sync/records/named-fields.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'

/** The settings of `wire.appraisal.evaluation`. */
export const evaluationNames: NamedFields = {
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
}
