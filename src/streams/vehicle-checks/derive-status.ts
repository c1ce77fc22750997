import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import {
  buildCheckRef,
  type CheckKind,
  type PastCheck,
  readPastChecks,
} from '../../api/contract/appraisal/past-checks.ts'
import type { Row } from '../../values/record.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { pastAsks } from './due.ts'
import { checkKey, type KnownCheck } from './known-checks.ts'
import { matchSearches, readWatch, type Watch } from './watch.ts'
import { changesStatus } from './watch-statuses.ts'

/** How far the time of an answer and that of its payload may differ: the source's clock has seconds. */
export const toleranceMs = 5000

/** An answer about a vehicle of the dealer group. */
export interface StoredAnswer {
  readonly vin: string
  readonly endpoint: string
  readonly rooftopId: number
  readonly naturalKey: string
  readonly runId: number
  readonly readAt: Date
  readonly text: string
}

/** An answer with what it says: the checks that it lists, or a watch. */
export interface ReadAnswer extends StoredAnswer {
  readonly listed: { readonly checks: readonly PastCheck[]; readonly isComplete: boolean } | null
  readonly watch: Watch | null
}

/** Pure. RecordIssues when it no longer fits. */
export function readAnswer(answer: StoredAnswer, wire: AppraisalWire): ReadAnswer {
  const body: unknown = JSON.parse(answer.text)
  if (answer.endpoint === watchPpsr.name)
    return { ...answer, listed: null, watch: readWatch(body, wire) }
  const checks = readPastChecks(body, wire)
  const isComplete = (body as readonly unknown[]).length === checks.length
  return { ...answer, listed: { checks, isComplete }, watch: null }
}

/** What is stored about the statuses of watches. */
export interface StatusFacts {
  readonly known: readonly KnownCheck[]
  readonly terminal: ReadonlySet<string>
  /** Checks whose status has its change in `core.watch_status_change`, by `keyOf`. */
  readonly recorded: ReadonlySet<string>
}

/** The status that the answers give a check; the stored one where one of the newest answers, or a final one, says it. */
export function deriveStatus(
  row: Row,
  { answers, facts }: { readonly answers: readonly ReadAnswer[]; readonly facts: StatusFacts },
): unknown {
  const { terminal, known, recorded } = facts
  const sameVin = known.filter(
    ({ kind, vin, goneAt }) => kind === 'ppsr' && goneAt === null && vin === answers[0]!.vin,
  )
  const kind = row['check_kind'] as CheckKind
  const ref = row['check_ref'] as string
  const seen = answers.flatMap((answer) => {
    const status = statusIn(answer, { ref, kind, sameVin: sameVin })
    return status === null ? [] : [{ endpoint: answer.endpoint, at: answer.readAt, status }]
  })
  const newest = new Map(seen.map(({ endpoint, status }) => [endpoint, status]))
  const since = row['watch_status_since'] as Date | null
  const reported = seen.filter(
    ({ endpoint, status }) => terminal.has(status) || newest.get(endpoint) === status,
  )
  const isKnown = reported.some(({ status }) => status === row['watch_status'])
  const [first, last] = [seen[0], seen.at(-1)]
  if (isKnown || first === undefined || last === undefined) return row['watch_status']
  if (since !== null && since.getTime() > last.at.getTime() + toleranceMs)
    return row['watch_status']
  // The answer that reported a final status may have been deleted (`retention.rawDays`): the change of the status shows it.
  const isOlder = since !== null && since.getTime() < first.at.getTime() - toleranceMs
  if (isOlder && terminal.has(row['watch_status'] as string) && recorded.has(checkKey(kind, ref)))
    return row['watch_status']
  return seen.reduce<string | null>((status, one) => {
    const check = { status, isTerminal: terminal.has(status ?? ''), statusSince: null }
    return changesStatus({ check, status: one.status, at: one.at }) ? one.status : status
  }, null)
}

function statusIn(
  { endpoint, listed, watch, vin, readAt: at }: ReadAnswer,
  check: {
    readonly ref: string
    readonly kind: CheckKind
    readonly sameVin: readonly KnownCheck[]
  },
): string | null {
  if (endpoint === pastAsks[check.kind]) {
    const found = listed?.checks.find((one) => buildCheckRef(one, vin) === check.ref)
    return found?.watchStatus ?? null
  }
  if (watch === null || check.kind !== 'ppsr') return null
  const { seen } = matchSearches({ watch, at }, check.sameVin)
  return seen.find(({ check: { ref } }) => ref === check.ref)?.status ?? null
}
