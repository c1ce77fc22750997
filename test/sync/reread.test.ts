import { expect, test } from 'vitest'
import { isRereadDue, isUnchanged } from '#src/sync/records/reread.ts'

const day = 86_400
const today = Date.parse('2026-06-01T02:15:00Z') / 1000

/** The nights on which a record is read again, if its window is listed every night. */
function nightsRead(id: number, ageDays: number, nights: number, stride = 1): number[] {
  const bornAt = new Date((today - ageDays * day) * 1000)
  let rereadAt = new Date((today - day) * 1000)
  return Array.from({ length: nights / stride }, (_, index) => index * stride).filter((night) => {
    // The age stays constant, so that each step of the schedule is tested alone.
    const now = today + night * day
    const due = isRereadDue(
      { id, ageingSince: new Date(bornAt.getTime() + night * day * 1000) },
      rereadAt,
      now,
    )
    rereadAt = new Date(now * 1000)
    return due
  })
}

test.each([
  { ageDays: 0, nights: 1 },
  { ageDays: 5, nights: 1 },
  { ageDays: 30, nights: 7 },
  { ageDays: 400, nights: 28 },
])(
  'a record of $ageDays days is read once in $nights nights, never more',
  ({ ageDays, nights }) => {
    for (let id = 1000; id < 1056; id++) {
      const read = nightsRead(id, ageDays, nights * 4)

      expect(read, `of ${id}`).toHaveLength(4)
      expect(read.slice(1).map((night, index) => night - read[index]!)).toEqual([
        nights,
        nights,
        nights,
      ])
    }
  },
)

test('the re-reads of many records are spread evenly over the nights', () => {
  const perNight = new Map<number, number>()

  for (let id = 1; id <= 2800; id++)
    for (const night of nightsRead(id, 400, 28)) perNight.set(night, (perNight.get(night) ?? 0) + 1)

  expect([...perNight.values()]).toEqual(Array.from({ length: 28 }, () => 100))
})

test('a record whose window is listed only every fifth night is still read within 28 + 5', () => {
  for (let id = 0; id < 28; id++) {
    const read = nightsRead(id, 400, 140, 5)

    const waits = read.slice(1).map((night, index) => night - read[index]!)
    expect(Math.max(...waits, read[0]!)).toBeLessThanOrEqual(33)
  }
})

test('a record that was never reread is due', () => {
  expect(isRereadDue({ id: 1, ageingSince: new Date(0) }, null, today)).toBe(true)
})

test.each([
  ['the same instant', '2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z', true],
  ['whole seconds of the stored instant', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678Z', true],
  ['a later instant', '2026-01-02T03:04:06Z', '2026-01-02T03:04:05.678Z', false],
  ['an earlier instant', '2026-01-02T03:04:05.100Z', '2026-01-02T03:04:05.678Z', false],
])('a list item with %s is compared correctly', (_, listed, stored, unchanged) => {
  expect(isUnchanged(new Date(listed), new Date(stored))).toBe(unchanged)
})

test('a list item without an update time allows no comparison', () => {
  expect(isUnchanged(null, new Date())).toBeNull()
})
