import { expect, test } from 'vitest'
import { bars } from '#src/web/console/charts/bars.ts'
import { columns } from '#src/web/console/charts/columns.ts'
import { lines } from '#src/web/console/charts/lines.ts'
import { chartFigure } from '#src/web/console/charts/plot.ts'
import { range } from '#src/web/console/charts/range.ts'

const day = (number: number) => new Date(Date.UTC(2026, 10, number))
const widths = (svg: string) =>
  [...svg.matchAll(/<rect [^>]*width="([\d.]+)"[^>]*><title>/g)].map(([, width]) => Number(width))
const photos = {
  ...{ title: 'Photos', of: 'Rooftop', unit: 'share', categories: ['North', 'South'] },
  series: [
    { name: 'complete', values: [0.5, 0.25] },
    { name: 'none', values: [0.5, null] },
  ],
}

test('the length of a bar is its value, and the table has the same numbers', () => {
  const { svg, columns, rows } = bars(photos)

  const [all, half, quarter] = widths(svg.text)
  expect(all! / quarter!).toBeCloseTo(2, 1)
  expect(half).toBe(all)
  expect(columns).toEqual(['Rooftop', 'complete', 'none'])
  expect(rows).toEqual([
    ['North', '50 %', '50 %'],
    ['South', '25 %', '–'],
  ])
})

test('a share that is neither none nor all is not drawn as 0 or 100 %, and the axis of small shares has no tick twice', () => {
  const { svg, rows } = bars({
    ...photos,
    series: [{ name: 'none', values: [0.0004, 0.0016] }],
  })
  const { rows: most } = bars({ ...photos, series: [{ name: 'complete', values: [0.9996, 1] }] })

  expect([...rows, ...most].map(([, share]) => share)).toEqual([
    '< 0.1 %',
    '0.2 %',
    '> 99.9 %',
    '100 %',
  ])
  const ticks = [...svg.text.matchAll(/text-anchor="middle">([\d.]+) %</g)].map(([, tick]) => tick)
  expect(ticks.length).toBeGreaterThan(3)
  expect(new Set(ticks).size).toBe(ticks.length)
})

test('the bars of a stack begin where the one before ends', () => {
  const { svg } = bars({ ...photos, kind: 'stacked' })

  const [first, second] = [
    ...svg.text.matchAll(/<rect [^>]*x="([\d.]+)"[^>]*width="([\d.]+)"[^>]*><title>North/g),
  ].map(([, x, width]) => ({ x: Number(x), end: Number(x) + Number(width) }))
  expect(second!.x).toBeCloseTo(first!.end, 1)
})

test('a line ends where there is no value, and the last step goes on until the end', () => {
  const points = [
    { at: day(1), value: 10 },
    { at: day(2), value: null },
    { at: day(3), value: 30 },
  ]
  const chart = { title: 'Asking', unit: 'AUD', lines: [{ name: 'asking', points }] }

  const { svg, rows } = lines({ ...chart, kind: 'steps', until: day(5) })

  const path = / class="line-1" d="(M[^"]*M[^"]*)"/.exec(svg.text)![1]!
  expect(path.match(/M/g)).toHaveLength(2)
  expect(Number(/H?([\d.]+)(,[\d.]+)?$/.exec(path)![1])).toBeGreaterThan(500)
  expect(rows).toEqual([
    ['2026-11-01', '10 AUD'],
    ['2026-11-02', '–'],
    ['2026-11-03', '30 AUD'],
  ])
})

test.each([
  ['bars of zero', bars({ ...photos, series: [{ name: 'none', values: [0, 0] }] })],
  ['bars of nothing', bars({ ...photos, categories: [], series: [] })],
  ['bars on a logarithmic scale', bars({ ...photos, kind: 'log' })],
  ['bars below zero', bars({ ...photos, series: [{ name: 'move', values: [-3, 2] }] })],
  [
    'a range of one value',
    range({
      ...{ title: 'Gap', of: 'Month', unit: 'AUD', names: ['low', 'median', 'high'] },
      ranges: [{ category: 'Nov', low: 5, mid: 5, high: 5, count: 1 }],
    }),
  ],
  [
    'a line of one value',
    lines({
      ...{ title: 'Asking', unit: 'AUD' },
      lines: [{ name: 'asking', points: [{ at: day(1), value: 7 }] }],
    }),
  ],
])('%s can be drawn', (_name, { svg }) => {
  expect(svg.text).toMatch(/^<svg [\s\S]*<\/svg>$/)
  expect(svg.text).not.toMatch(/NaN|undefined|null|Infinity|style=/)
})

test('a name of outside is text in every place', () => {
  const hostile = '"><script>alert(1)</script>'

  const { text } = chartFigure(
    bars({ ...photos, title: hostile, categories: [hostile, hostile], kind: 'stacked' }),
  )

  expect(text).not.toContain('<script')
})

test('two charts of a page share no id', () => {
  const ids = ['Photos in AUD', 'Photos in USD'].flatMap((title) =>
    [...bars({ ...photos, title }).svg.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id),
  )

  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(2)
})

test('a day has a column of its parts, one on the other, and a day without any is not in the table', () => {
  const { svg, rows } = columns({
    ...{ title: 'Calls', unit: 'calls', days: ['2026-11-21', '2026-11-22', '2026-11-23'] },
    series: [
      { name: 'paid', values: [4, 0, 1] },
      { name: 'unknown', values: [2, 0, 0] },
    ],
  })

  const drawn = [...svg.text.matchAll(/ y="([\d.]+)"[^>]* height="([\d.]+)"[^>]*><title>21 Nov/g)]
  const [paid, unknown] = drawn.map(([, y, high]) => ({ y: Number(y), high: Number(high) }))
  expect(paid!.high / unknown!.high).toBeCloseTo(2, 1)
  expect(unknown!.y + unknown!.high).toBeCloseTo(paid!.y, 1)
  expect(svg.text).toContain('<title>23 Nov, paid: 1 calls</title>')
  expect(svg.text).not.toContain('<title>22 Nov')
  expect(rows).toEqual([
    ['2026-11-21', '4 calls', '2 calls'],
    ['2026-11-23', '1 calls', '0 calls'],
  ])
})

test('the label of a midnight just before the end does not leave the chart', () => {
  const points = [
    { at: day(20), value: 10 },
    { at: new Date(day(27).getTime() + 1000), value: 20 },
  ]

  const { svg } = lines({ title: 'Asking', unit: 'AUD', lines: [{ name: 'asking', points }] })

  const [, middle] = /<text x="([\d.]+)" [^>]*text-anchor="middle">27 Nov</.exec(svg.text)!
  // Chromium draws it 39.5 wide.
  expect(Number(middle) + 39.5 / 2).toBeLessThanOrEqual(600)
})
