import fc from 'fast-check'
import { expect, test } from 'vitest'
import { localDay } from '#src/values/instant.ts'

// Days that begin at one minute past midnight, a day that was left out, and half an hour of daylight saving among them.
const zones = [
  'America/St_Johns',
  'Pacific/Apia',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Monrovia',
]

function formatted(at: Date, timeZone: string): string {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  return new Intl.DateTimeFormat('en-CA', { timeZone, ...parts }).format(at)
}

test('a day is that of the zone, at any moment and however often it is calculated', () => {
  const moment = fc.date({
    min: new Date('1960-01-01'),
    max: new Date('2040-01-01'),
    noInvalidDate: true,
  })
  const property = fc.property(moment, fc.constantFrom(...zones), (at, zone) => {
    const later = new Date(at.getTime() + 7 * 60_000)
    expect([localDay(at, zone), localDay(later, zone), localDay(at, zone)]).toEqual([
      formatted(at, zone),
      formatted(later, zone),
      formatted(at, zone),
    ])
  })
  fc.assert(property, { numRuns: 2_000 })
})

test('a day that begins twice is right at every minute', () => {
  // Clocks in St. John's went from 00:01 back to 23:01 of the day before.
  const back = Date.UTC(2006, 9, 29, 2, 30)
  const minutes = Array.from({ length: 90 }, (_, minute) => new Date(back + minute * 60_000))

  expect(minutes.map((at) => localDay(at, 'America/St_Johns'))).toEqual(
    minutes.map((at) => formatted(at, 'America/St_Johns')),
  )
})
