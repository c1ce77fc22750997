import { expect, test } from 'vitest'
import { startOfDay } from '#src/values/instant.ts'
import { calendarRow } from '#src/web/console/charts/calendar.ts'
import { listDays, timeTicks, timeX } from '#src/web/console/charts/scale.ts'
import { strip } from '#src/web/console/charts/strip.ts'

const labels = (from: string, until: string, zone: string) =>
  timeTicks({ from: new Date(from), until: new Date(until) }, zone).map(
    ({ at, label }) => `${at.toISOString().slice(0, 16)} ${label}`,
  )

test('a day begins at its midnight in the zone, or at the first instant that exists', () => {
  const starts = [
    ['2026-11-22', 'Australia/Sydney'],
    ['2026-11-22', 'America/Chicago'],
    ['2026-11-22', 'Asia/Kathmandu'],
    // Clocks went from 23:59:59 to 01:00:00.
    ['2026-03-29', 'Asia/Beirut'],
    ['2026-01-01', 'Pacific/Kiritimati'],
  ].map(([day, zone]) => startOfDay(day!, zone!).toISOString())

  expect(starts).toEqual([
    '2026-11-21T13:00:00.000Z',
    '2026-11-22T06:00:00.000Z',
    '2026-11-21T18:15:00.000Z',
    '2026-03-28T22:00:00.000Z',
    '2025-12-31T10:00:00.000Z',
  ])
})

test('a year has months, a month has days, a day has hours, by the clock of the zone', () => {
  const year = labels('2025-11-30T13:00:00Z', '2026-11-30T13:00:00Z', 'Australia/Sydney')
  const week = labels('2026-10-02T00:00:00Z', '2026-10-06T00:00:00Z', 'Australia/Sydney')
  const day = labels('2026-11-22T18:15:00Z', '2026-11-23T02:15:00Z', 'Asia/Kathmandu')

  expect(year.slice(0, 2)).toEqual(['2025-11-30T13:00 Dec', '2025-12-31T13:00 Jan 2026'])
  expect(year).toHaveLength(12)
  // Daylight saving began on the 4th.
  expect(week).toEqual([
    ...['2026-10-02T14:00 3 Oct', '2026-10-03T14:00 4 Oct', '2026-10-04T13:00 5 Oct'],
    '2026-10-05T13:00 6 Oct',
  ])
  expect(day[1]).toBe('2026-11-22T19:15 01:00')
})

test('the days of a span are those that begin in it', () => {
  const span = { from: new Date('2026-11-21T13:00:00Z'), until: new Date('2026-11-23T13:00:00Z') }

  expect(listDays(span, 'Australia/Sydney')).toEqual(['2026-11-22', '2026-11-23'])
  expect(listDays(span, 'UTC')).toEqual(['2026-11-22', '2026-11-23'])
})

test('what is outside of a span is at its edge', () => {
  const x = timeX({ from: new Date(0), until: new Date(1000) }, [0, 100])

  expect([-5, 0, 250, 5000].map((ms) => x(new Date(ms)))).toEqual([0, 0, 25, 100])
})

test('a calendar row draws the worst state last, wide enough to be seen, with its times in words', () => {
  const frame = { from: new Date('2026-01-01T00:00:00Z'), until: new Date('2027-01-01T00:00:00Z') }
  const { text } = calendarRow({
    summary: 'North & South: 1 gap',
    ...{ frame, zone: 'UTC' },
    spans: [
      {
        state: 'gap',
        from: new Date('2026-07-02T12:00:00Z'),
        until: new Date('2026-07-02T13:00:00Z'),
      },
      { state: 'settled', from: frame.from, until: new Date('2026-07-02T12:00:00Z') },
    ],
  })

  const rects = [...text.matchAll(/<rect fill[^>]*>/g)].map(([rect]) => rect)
  expect(text).toContain('aria-label="North &#38; South: 1 gap"')
  expect(rects).toEqual([
    '<rect fill="url(#span-settled)" x="0" y="0" width="450" height="30">',
    '<rect fill="url(#span-gap)" x="450" y="0" width="3" height="30">',
  ])
  expect(text).toContain('<title>gap: 2 July 2026, 12:00 UTC to 2 July 2026, 13:00 UTC</title>')
})

test('a strip shows each state as a colour and a shape, and lists it in words', () => {
  const { text } = strip({
    summary: '1 night ok, 1 failed',
    squares: [
      { label: '21', title: '21 Nov: ok', tone: 'ok' },
      { label: '22', title: '22 Nov: failed', tone: 'bad' },
    ],
  })

  expect(text).toMatchInlineSnapshot(
    `"<ul class="strip" role="list" aria-label="1 night ok, 1 failed"><li class="square ok" title="21 Nov: ok"><span class="hidden">21 Nov: ok</span><small aria-hidden="true">21</small></li><li class="square bad" title="22 Nov: failed"><span class="hidden">22 Nov: failed</span><small aria-hidden="true">22</small></li></ul>"`,
  )
})
