import { expect, test } from 'vitest'
import { mergeListed } from '#src/streams/vehicle-checks/merge.ts'

const at = (day: number) => new Date(Date.UTC(2026, 2, day))
const known = {
  ...{ rooftop_id: 1, eval_id: 2, check_kind: 'ppsr', check_ref: 'R', group_id: 1, vin: 'OLD' },
  ...{ searched_at: at(1), search_number: '1', certificate_number: null, watch_ends_at: at(15) },
  ...{ security_interest_count: 3, written_off_count: null, stolen_count: null },
  ...{ watch_status: 'watching', watch_status_since: at(2), first_seen_at: at(2), run_id: 4 },
  gone_at: at(10),
}

function listed(day: number, searchNumber: string | null) {
  const check = {
    ...{ ref: 'R', searchedAt: null, searchNumber, certificateNumber: 'C' },
    ...{ pdfUrl: null, watchStatus: null, isOfVehicle: false },
  }
  const answer = { groupId: 1, vin: 'V', kind: 'ppsr', checks: [check], at: at(day) } as const
  return { answer: { ...answer, runId: 5, isOfThisVehicle: true }, check }
}

test('a list says again that a check is there, but not one from before it was gone', () => {
  const facts = { ...known, vin: 'V', certificate_number: 'C' }

  expect(mergeListed(known, listed(11, null))).toEqual({ ...facts, gone_at: null })
  expect(mergeListed(known, listed(9, '2'))).toEqual({ ...facts, search_number: '2' })
})
