import type { VehicleCheck } from '#src/sandbox/checks.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { users } from '#src/streams/users/users.ts'
import type { ListAnswer } from '#src/streams/vehicle-checks/check-answers.ts'
import { loadChecks } from '#src/streams/vehicle-checks/load-checks.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { defaultWire } from '#src/values/wire.ts'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { aRooftop, type EvaluationDraft } from './build-world.ts'
import type { Fixture } from './fixture.ts'
import { morning, pricedFixture, rowsOf } from './pricing-fixture.ts'

/** A fixture whose nights bring in evaluations and their vehicle checks, and nothing else. */
export async function checkedFixture(
  drafts: readonly EvaluationDraft[],
  options: Parameters<typeof pricedFixture>[1] = {},
): Promise<Fixture> {
  const rooftopsOfWorld = options.rooftopsOfWorld ?? [aRooftop()]
  return await pricedFixture(drafts, {
    streams: [users, evaluations, vehicleChecks],
    ...options,
    rooftopsOfWorld,
  })
}

export const aVin = 'JTMDFREV90D123456'
export const dayMs = 86_400_000

/** Runs a check at the source, this number of days after the first morning. */
export function addCheck(
  { sandbox }: Fixture,
  days: number,
  draft: Partial<Parameters<Fixture['sandbox']['checks']['add']>[0]> = {},
): VehicleCheck {
  const rooftopUid = draft.rooftopUid ?? 'rooftop-1'
  return sandbox.checks.add({
    kind: 'ppsr',
    groupId: sandbox.world.rooftop(rooftopUid)!.groupId,
    rooftopUid,
    evalId: 1001,
    vin: aVin,
    searchedAt: new Date(morning.getTime() + days * dayMs),
    ...draft,
  })
}

export const paths = {
  ppsr: '/getpastppsrsearch',
  history: '/getpastcarhistory',
  watch: '/ppsrwatch',
} as const

/** Requests to the three operations so far. */
export function checkRequests({ sandbox }: Fixture): {
  ppsr: number
  history: number
  watch: number
} {
  const count = (path: string) => sandbox.requests.count(path)
  return { ppsr: count(paths.ppsr), history: count(paths.history), watch: count(paths.watch) }
}

export async function checkRows(fixture: Fixture): Promise<Record<string, unknown>[]> {
  return await rowsOf(
    fixture,
    `select eval_id, check_kind, check_ref, vin, searched_at, search_number, certificate_number, watch_status,
       watch_status_since, watch_ends_at, gone_at
     from core.vehicle_check order by check_kind, searched_at, check_ref`,
  )
}

/** Loads lists that no run has read, in one transaction. */
export async function loadLists(
  { context: { pool } }: Fixture,
  ...lists: readonly Omit<ListAnswer, 'runId'>[]
): Promise<void> {
  const answers = lists.map((list) => ({ ...list, runId: null }))
  await inTransaction(pool, async (tx) => await loadChecks(tx, answers, defaultWire.appraisal))
}
