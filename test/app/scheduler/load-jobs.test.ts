import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { findJob, loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { nextSlot } from '#src/app/scheduler/slots.ts'
import { allStreams } from '#src/streams/all.ts'

const now = new Date('2026-03-10T00:00:00Z')

test('a job is a file in jobs/ with a name, one line on what it does, and a next slot', async () => {
  const jobs = await loadJobs(makeConfig({}, '/nowhere'))

  expect(jobs.map(({ name }) => name)).toEqual([
    ...['hourly', 'lake-export', 'nightly', 'recheck', 'reconcile'],
    ...['refresh-links', 'reprice', 'retention', 'stock-inbox', 'verify', 'watch-checks'],
  ])
  for (const { name, does, slots, budgetMinutes } of jobs) {
    expect({ name, does }).toEqual({
      name,
      does: expect.stringMatching(/^[A-Z][^\n]{20,100}[^.]$/),
    })
    expect(nextSlot(slots, now)!.getTime()).toBeGreaterThan(now.getTime())
    expect(budgetMinutes).toBeGreaterThan(0)
  }
})

test('the nightly run takes every stream, in the order of sync', async () => {
  const { work } = findJob(await loadJobs(makeConfig({}, '/nowhere')), 'nightly')

  expect(work).toEqual({
    kind: 'sync',
    streams: allStreams.map(({ name }) => name),
    windows: 'due',
  })
})

test('the config moves a job, puts it into another zone, and switches it off', async () => {
  const jobs = {
    nightly: { schedule: '30 1 * * *', timezone: 'America/New_York' },
    hourly: { enabled: false },
  }

  const loaded = await loadJobs(makeConfig({ jobs }, '/nowhere'))

  const nightly = findJob(loaded, 'nightly')
  expect(nightSlot(nightly)).toBe('2026-03-10T05:30:00.000Z')
  expect(findJob(loaded, 'hourly').disabledReason).toBe('switched off in the config')
  expect(findJob(loaded, 'reprice').disabledReason).toBe('vehicleData.apiKey is not set')
  expect(findJob(loaded, 'retention').disabledReason).toBe(null)
})

function nightSlot({ slots }: ReturnType<typeof findJob>): string {
  return nextSlot(slots, now)!.toISOString()
}

test('an invalid schedule and an invalid zone are reported at their setting', () => {
  const jobs = {
    nightly: { schedule: '61 2 * * *' },
    hourly: { schedule: '0 0 L * *' },
    recheck: { timezone: 'Sydney' },
  }

  expect(() => makeConfig({ jobs }, '/nowhere')).toThrow(
    [
      'config: jobs.nightly.schedule is not a schedule: write five cron fields, e.g. "0 2 * * *", or six with seconds first.',
      'config: jobs.hourly.schedule is not a schedule: write five cron fields, e.g. "0 2 * * *", or six with seconds first.',
      'config: jobs.recheck.timezone is not an IANA time zone, e.g. Australia/Sydney: correct it.',
    ].join('\n'),
  )
})
