import { expect, test } from 'vitest'
import { saveBacklog, takeBacklog } from '#src/sync/windows/backlog.ts'

const day = 86_400
const listedAt = new Date('2026-03-10T02:00:00Z')
const later = new Date('2026-03-10T02:00:09Z')

/** Two days that a backfill has listed, one unit each. */
function savedDays() {
  const run = { runId: 1 }
  const job = { context: {}, run, stream: { name: 'evaluations' }, rooftop: { uid: 'north' } }
  const windows = [0, day].map((from) => ({ from, until: from + day, open: false }))
  const units = windows.map((window) => [
    { window, items: [], malformed: [], listedAt, proof: 'plain' },
  ])
  saveBacklog(job as never, { units, earlier: [], readBefore: new Map() } as never)
  const due = windows.map((window) => ({ ...window, reason: 'gap' as const }))
  const take = (certified: readonly object[]) =>
    takeBacklog(job as never, due, certified as never)?.units.map(([part]) => part!.window.from)
  return take
}

test('a backlog leaves out what another run has listed and certified since', () => {
  const certificate = { from: day, until: 2 * day }

  expect(savedDays()([])).toEqual([0, day])
  expect(savedDays()([{ ...certificate, listedAt }])).toEqual([0, day])
  expect(savedDays()([{ ...certificate, listedAt: later }])).toEqual([0])
})
