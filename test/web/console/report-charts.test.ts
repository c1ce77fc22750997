import { expect, test } from 'vitest'
import { drawCharts } from '#src/web/console/reports/draw-charts.ts'
import { lines } from '#src/web/console/reports/spec.ts'

const spec = lines('Appraisals by week', 'cars', 'week', { appraisals: '', value: '' })
const row = (x: string, ...values: (number | null)[]) => ({
  ...{ currency: null, x, by: null, values, count: 1 },
})
const span = (from: string, until: string) => ({ from: new Date(from), until: new Date(until) })

test('a week without a row is 0 only where it was listed, and what is not known is no 0', () => {
  const rows = [row('2026-03-02', 5, 90), row('2026-03-16', 3, null), row('2026-04-20', 4, 70)]
  const listed = [
    span('2026-03-01T14:00:00Z', '2026-03-25T00:00:00Z'),
    span('2026-04-05T14:00:00Z', '2026-04-22T00:00:00Z'),
  ]

  const [chart] = drawCharts(spec, rows, { rooftops: [], listed })
  const [unlisted] = drawCharts(spec, rows, { rooftops: [], listed: [] })

  expect(chart!.rows.map((cells) => cells.slice(1))).toEqual([
    ['5 cars', '90 cars'],
    ['0 cars', '0 cars'],
    ['3 cars', '–'],
    ['–', '–'],
    ['–', '–'],
    ['0 cars', '0 cars'],
    ['0 cars', '0 cars'],
    ['4 cars', '70 cars'],
  ])
  expect(unlisted!.rows[1]!.slice(1)).toEqual(['–', '–'])
})
