import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import {
  pastContent,
  pastOperations,
  readPastChecks,
} from '../../api/contract/appraisal/past-checks.ts'
import type { evalid } from '../../api/contract/fields.ts'
import type { Operation } from '../../api/contract/operation.ts'
import { defineEnrichment } from '../../sync/enrich/enrichment.ts'
import { planAsks, requestDue } from '../../sync/enrich/enrichment-slice.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { evaluationRecords } from '../evaluations/evaluation-records.ts'
import { checkKeys, deriveChecks } from './derive.ts'
import { daysUntilDue, dueChecks, pastAsks, savedCalls } from './due.ts'
import { type CheckRecord, loadAnswers } from './load-answers.ts'
import { vehicleChecksName as name } from './make-due.ts'
import { readWatch, watchContent } from './watch.ts'

/** By name; each takes an EvalID. */
const operations: Readonly<Record<string, Operation<'read', { evalid: typeof evalid }>>> =
  Object.fromEntries(
    [pastOperations.ppsr, pastOperations.car_history, watchPpsr].map((one) => [one.name, one]),
  )

const checks = defineEnrichment<CheckRecord>({
  name,
  asks: [pastAsks.ppsr, pastAsks.car_history, watchPpsr.name],
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
    const { body, text, date } = await services.call(operations[ask]!, call)
    return { body, text, at: date }
  },

  contentOf: (body, ask, wire) =>
    ask === watchPpsr.name ? watchContent(body, wire) : pastContent(body, wire),
  normalise: (body, { ask }, _rooftop, wire) =>
    ask === watchPpsr.name
      ? { kind: 'watch', watch: readWatch(body, wire) }
      : pastRecord(body, wire),
  isPending: () => false,
  daysUntilDue: (ageDays, ask, settings) => daysUntilDue(ageDays, ask, settings.checks),
  load: loadAnswers,
  savedCalls: async (db, rooftop, runStart, settings) =>
    await savedCalls(db, rooftop, name, runStart, settings.checks),
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

function pastRecord(body: unknown, wire: AppraisalWire): CheckRecord {
  const checks = readPastChecks(body, wire)
  return {
    kind: 'past',
    checks,
    itemsWithoutId: (body as readonly unknown[]).length - checks.length,
  }
}
