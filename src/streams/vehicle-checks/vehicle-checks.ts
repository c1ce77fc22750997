import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { defineEnrichment } from '../../sync/enrich/enrichment.ts'
import { planAsks, requestDue } from '../../sync/enrich/enrichment-slice.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import { evaluationRecords } from '../evaluations/evaluation-records.ts'
import { type CheckRecord, checkContent, checkOperations, readRecord } from './check-answers.ts'
import { checkKeys, deriveChecks } from './derive.ts'
import { daysUntilDue, dueChecks, pastAsks, savedCalls } from './due.ts'
import { loadAnswers } from './load-answers.ts'
import { vehicleChecksName as name } from './make-due.ts'

const checks = defineEnrichment<CheckRecord>({
  name,
  asks: Object.keys(checkOperations),
  alsoAnswers: { [pastAsks.ppsr]: watchPpsr.name },
  // Every answer is complete.
  polling: { everySeconds: 15, maxWaitSeconds: 0 },

  serves: ({ region }) => region === 'AU',
  // The schedule limits the calls: an evaluation without checks is not asked about without end.
  budget: () => 10_000_000,
  historyBudget: ({ checks: { backfillBudget } }) => backfillBudget,
  due: async (db, rooftop, ask, settings) => await dueChecks(db, rooftop, ask, settings),

  async read({ services }, rooftop, { evalId, ask }, _settings, options) {
    const call = { ...options, rooftop, naturalKey: String(evalId), fields: { evalid: evalId } }
    const { body, text, date } = await services.call(checkOperations[ask]!, call)
    return { body, text, at: date }
  },

  contentOf: checkContent,
  normalise: (body, { ask }, _rooftop, wire) => readRecord(body, ask, wire),
  isPending: () => false,
  daysUntilDue: (ageDays, ask, settings) => daysUntilDue(ageDays, ask, settings.checks),
  load: loadAnswers,
  savedCalls: async (db, rooftop, runStart, settings) =>
    await savedCalls(db, rooftop, name, runStart, settings),
})

const payloadRows: PayloadRows = { keysOf: checkKeys, derive: deriveChecks }
const requestChecks = bindSlice(checks, requestDue)

/** Past PPSR searches and Car History reports with their links, and the statuses of the watches: AU alone [A §4]. */
export const vehicleChecks: Stream = {
  name,
  endpoints: checks.asks,
  enrichment: checks,
  // An answer may be about a vehicle of the group: which evaluation asks, and which one owns it, depends on all its rooftops.
  follows: [evaluationRecords.name],
  payloadRows,
  slices: {
    ...{ sync: requestChecks, backfill: requestChecks, retry: requestChecks, links: requestChecks },
  },
  plan: async (scope) => await planAsks(checks, scope),
}
