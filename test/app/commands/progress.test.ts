import { expect, test } from 'vitest'
import { measurePace, progressLine, type StreamProgress } from '#src/app/commands/progress.ts'

const early: StreamProgress = {
  stream: 'vehicle-checks',
  done: 7,
  total: 805,
  records: 31,
  rate: null,
  secondsLeft: null,
}
const late = { ...early, done: 7_402, total: 18_050, records: 123_456, rate: 812.4 }

test.for([
  early,
  { ...late, secondsLeft: 0.2 },
  { ...late, secondsLeft: 75 },
  { ...late, secondsLeft: 45_296 },
])('a line fits into 80 columns with the name, the rate and the time left', (progress) => {
  const line = progressLine(progress, 80)

  expect(line.length).toBeLessThan(80)
  expect(line).toMatch(
    /^vehicle-checks [█░]{5,} +\d+\/\d+ done +\d+ records +(812|-)\/s +(1s|1m15s|12h34m|-) left$/,
  )
})

test('before anything is known there is a dash, and no NULL or 0', () => {
  const first = { atMs: 0, done: 4, records: 30 }

  expect(measurePace(first, first, 10)).toEqual({ rate: null, secondsLeft: null })
  expect(measurePace(first, { ...first, atMs: 5000 }, 10).secondsLeft).toBeNull()
  expect(progressLine(early, 80)).toMatch(/ -\/s +- left$/)
})

test('rate and time left are those between two moments', () => {
  const first = { atMs: 1000, done: 4, records: 30 }

  expect(measurePace(first, { atMs: 3000, done: 8, records: 130 }, 18)).toEqual({
    rate: 50,
    secondsLeft: 5,
  })
})

test('a narrow terminal shows the name and the facts, a wide one does not stretch the bar', () => {
  expect(progressLine(early, 50)).toMatch(/^vehicle-checks 7\/805 done/)
  expect(progressLine(early, 50).length).toBeLessThan(50)
  expect(progressLine(early, 200)).toMatch(/ [█░]{20} /)
})
