import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lastSlot, nextSlot, parseSchedule, type Schedule } from '#src/app/scheduler/slots.ts'
import { parseCron } from '#src/values/cron.ts'

/** Every slot in (from, until], found forwards; finding them backwards must give the same. */
function slots(expression: string, timezone: string, from: string, until: string): string[] {
  const schedule = parseSchedule(expression, timezone)
  const [start, end] = [new Date(from), new Date(until)]
  const found = forwards(schedule, start, end)
  expect(backwards(schedule, start, end)).toEqual(found)
  return found.map((slot) => slot.toISOString().replace('.000Z', 'Z'))
}

function forwards(schedule: Schedule, from: Date, until: Date): Date[] {
  const found: Date[] = []
  for (let at = nextSlot(schedule, from); at !== null && at <= until; at = nextSlot(schedule, at))
    found.push(at)
  return found
}

function backwards(schedule: Schedule, from: Date, until: Date): Date[] {
  const found: Date[] = []
  for (let at = lastSlot(schedule, until); at !== null && at > from; ) {
    found.unshift(at)
    at = lastSlot(schedule, new Date(at.getTime() - 1))
  }
  return found
}

test('a night in the hour that Sydney skips runs once, when the clocks go forward', () => {
  const nights = slots('30 2 * * *', 'Australia/Sydney', '2026-10-02T12:00Z', '2026-10-05T12:00Z')

  expect(nights).toEqual(['2026-10-02T16:30:00Z', '2026-10-03T16:00:00Z', '2026-10-04T15:30:00Z'])
})

test('a night in the hour that occurs twice in Sydney runs once, the first time', () => {
  const nights = slots('30 2 * * *', 'Australia/Sydney', '2026-04-03T12:00Z', '2026-04-06T12:00Z')

  expect(nights).toEqual(['2026-04-03T15:30:00Z', '2026-04-04T15:30:00Z', '2026-04-05T16:30:00Z'])
})

test('New York skips an hour in spring and repeats one in autumn: either night runs once', () => {
  const spring = slots('30 2 * * *', 'America/New_York', '2026-03-07T00:00Z', '2026-03-10T00:00Z')
  const autumn = slots('30 1 * * *', 'America/New_York', '2026-10-31T00:00Z', '2026-11-03T00:00Z')

  expect(spring).toEqual(['2026-03-07T07:30:00Z', '2026-03-08T07:00:00Z', '2026-03-09T06:30:00Z'])
  expect(autumn).toEqual(['2026-10-31T05:30:00Z', '2026-11-01T05:30:00Z', '2026-11-02T06:30:00Z'])
})

test('Lord Howe moves its clocks by half an hour', () => {
  const zone = 'Australia/Lord_Howe'

  const spring = slots('15 2 * * *', zone, '2026-10-03T00:00Z', '2026-10-05T00:00Z')
  const afterwards = slots('45 2 * * *', zone, '2026-10-03T00:00Z', '2026-10-05T00:00Z')
  const autumn = slots('45 1 * * *', zone, '2026-04-04T00:00Z', '2026-04-06T00:00Z')

  expect(spring).toEqual(['2026-10-03T15:30:00Z', '2026-10-04T15:15:00Z'])
  expect(afterwards).toEqual(['2026-10-03T15:45:00Z', '2026-10-04T15:45:00Z'])
  expect(autumn).toEqual(['2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z'])
})

test('several slots in a skipped hour are one', () => {
  const found = slots('*/20 2 * * *', 'Australia/Sydney', '2026-10-03T12:00Z', '2026-10-04T12:00Z')

  expect(found).toEqual(['2026-10-03T16:00:00Z'])
})

test('an hourly job follows elapsed time, also when clocks change', () => {
  const twice = slots('20 * * * *', 'America/New_York', '2026-11-01T04:00Z', '2026-11-01T08:00Z')
  const skipped = slots('20 * * * *', 'America/New_York', '2026-03-08T05:00Z', '2026-03-08T09:00Z')

  expect(twice.map((slot) => slot.slice(11, 16))).toEqual(['04:20', '05:20', '06:20', '07:20'])
  expect(skipped.map((slot) => slot.slice(11, 16))).toEqual(['05:20', '06:20', '07:20', '08:20'])
})

test('a leap day is found, also across the year 2100, which has none', () => {
  const found = slots('0 0 29 2 *', 'UTC', '2093-01-01T00:00Z', '2105-01-01T00:00Z')

  expect(found).toEqual(['2096-02-29T00:00:00Z', '2104-02-29T00:00:00Z'])
})

test('the last second of the year and the first minute of the next are slots of their zone', () => {
  const from = '2026-12-30T00:00Z'
  const until = '2027-01-02T00:00Z'

  expect(slots('59 59 23 31 12 *', 'Australia/Sydney', from, until)).toEqual([
    '2026-12-31T12:59:59Z',
  ])
  expect(slots('0 0 1 * *', 'America/New_York', from, until)).toEqual(['2027-01-01T05:00:00Z'])
})

test('day of month and day of week must both fit', () => {
  const found = slots('0 9 1-7 * 1', 'UTC', '2026-01-01T00:00Z', '2026-04-01T00:00Z')

  expect(found).toEqual(['2026-01-05T09:00:00Z', '2026-02-02T09:00:00Z', '2026-03-02T09:00:00Z'])
})

test('a nightly job has one slot per day in every zone, whatever the clocks do', () => {
  const zones = Intl.supportedValuesOf('timeZone')
  const day = 86_400_000
  const samples = {
    zone: fc.constantFrom(...zones),
    minute: fc.integer({ min: 0, max: 1439 }),
    start: fc.date({
      min: new Date('2015-01-01'),
      max: new Date('2035-01-01'),
      noInvalidDate: true,
    }),
  }
  fc.assert(
    fc.property(fc.record(samples), ({ zone, minute, start }) => {
      const schedule = parseSchedule(`${minute % 60} ${Math.floor(minute / 60)} * * *`, zone)
      const end = new Date(start.getTime() + 100 * day)
      const found = forwards(schedule, start, end)
      const gaps = found.slice(1).map((slot, index) => slot.getTime() - found[index]!.getTime())
      expect(Math.abs(found.length - 100)).toBeLessThanOrEqual(1)
      // Antarctica/Casey has put its clocks on by three hours.
      expect(gaps.every((gap) => Math.abs(gap - day) <= 3 * 3_600_000)).toBe(true)
    }),
    { numRuns: 60 },
  )
})

test('invalid schedules are recognised', () => {
  const expressions = ['0 2 * * *', '*/2 * * * * *', '0 6 * * sun', '@daily']
  const others = ['', '0 2 * *', '61 * * * *', '0 0 30 2 *', '0 0 L * *', '0 0 * * 5#2', 'nightly']

  expect(expressions.filter((text) => parseCron(text) === null)).toEqual([])
  expect(others.filter((text) => parseCron(text) !== null)).toEqual([])
})
