import { expect, test } from 'vitest'
import { mergeListed } from '#src/streams/vehicle-checks/load-past-checks.ts'

const at = (day: number) => new Date(Date.UTC(2026, 2, day))
const known = {
  kind: 'ppsr' as const,
  ...{ searchedAt: at(1), searchNumber: '1', certificateNumber: null, goneAt: at(10) },
}

function listed(day: number, searchNumber: string | null) {
  const check = {
    ...{ ref: 'R', searchedAt: null, searchNumber, certificateNumber: 'C' },
    ...{ pdfUrl: null, watchStatus: null, isOfVehicle: false },
  }
  const answer = { groupId: 1, vin: 'V', kind: 'ppsr', checks: [check], at: at(day) } as const
  return { answer: { ...answer, isOfThisVehicle: true }, check }
}

test('a list says again that a check is there, but not one from before it was gone', () => {
  const facts = { vin: 'V', searched_at: at(1), certificate_number: 'C' }

  expect(mergeListed(known, listed(11, null))).toEqual({
    ...facts,
    ...{ search_number: '1', gone_at: null },
  })
  expect(mergeListed(known, listed(9, '2'))).toEqual({
    ...facts,
    ...{ search_number: '2', gone_at: at(10) },
  })
})
