import { expect, test } from 'vitest'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { hasSameStyles, startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { dallas, sydney, typeColumn, typeTable } from '../table.ts'

const datesOf = (values: readonly string[], options = sydney) =>
  typeColumn('Date In Stock', values, options).rows.map(({ unit }) => unit?.acquired_on)

test('a date whose order is clear is read the same in every market', () => {
  const written = [
    ...['2025-04-03', '2025/04/03 09:15:51', '3 Apr 2025', '03-Apr-25', 'April 3, 2025'],
    ...['20250403', '3rd April 2025', 'Thu 3 Apr 2025', '٢٠٢٥/٠٤/٠٣', '٣ أبريل ٢٠٢٥', '45750'],
  ]

  expect(datesOf(written)).toEqual(written.map(() => '2025-04-03'))
  expect(datesOf(['44927', '44927.75'])).toEqual(['2023-01-01', '2023-01-01'])
})

test('one part above 12 decides the order of the whole column', () => {
  expect(datesOf(['02/11/2018', '25/11/2018'], dallas)).toEqual(['2018-11-02', '2018-11-25'])
  expect(datesOf(['02/11/2018', '11/25/2018 0:00'], sydney)).toEqual(['2018-02-11', '2018-11-25'])
})

test('without proof the market decides, and that is reported once', () => {
  const here = typeColumn('Date In Stock', ['02/11/2018', '03/12/2019'], sydney)
  const there = typeColumn('Date In Stock', ['02/11/2018', '03/12/2019'], dallas)

  expect(here.rows.map(({ unit }) => unit?.acquired_on)).toEqual(['2018-11-02', '2019-12-03'])
  expect(there.rows.map(({ unit }) => unit?.acquired_on)).toEqual(['2018-02-11', '2019-03-12'])
  expect(here.styles.issues).toMatchObject([
    { code: 'DATE_ORDER_ASSUMED', severity: 'warning', line: null, text: '02/11/2018' },
  ])
  expect(typeColumn('Date In Stock', ['05/05/2019', '2019-05-06']).styles.issues).toEqual([])
})

test('both orders in one column give a warning, and ambiguous dates are left out', () => {
  const table = typeColumn('Date In Stock', [
    '25/11/2018',
    '11/25/2018',
    '02/11/2018',
    '2018-11-02',
  ])

  expect(table.styles.issues).toMatchObject([{ code: 'DATE_ORDER_MIXED', severity: 'warning' }])
  expect(table.rows.map(({ unit }) => unit?.acquired_on)).toEqual([
    ...['2018-11-25', '2018-11-25', null, '2018-11-02'],
  ])
  expect(table.rows[2]).toMatchObject({
    status: 'accepted',
    issues: [{ code: 'DATE_ORDER_MIXED', line: 4, text: '02/11/2018' }],
  })
})

test('an invalid date, or one far in the future, is left out with a warning; the row is accepted', () => {
  const dates = ['31/02/2025', '30/13/2025', '01/01/2031', '29/02/2024', '28/02/2023', '1/3/99']
  const bad = ['2025-99-99', '99999', '13.13.13.13', '0002/03/04']

  const { rows } = typeColumn('Date In Stock', dates)

  expect(rows.map(({ unit }) => unit?.acquired_on)).toEqual([
    ...[null, null, null, '2024-02-29', '2023-02-28', '1999-03-01'],
  ])
  const all = [...rows, ...typeColumn('Date In Stock', [...bad, ...dates]).rows]
  expect(all.map(({ status }) => status)).toEqual(all.map(() => 'accepted'))
  expect(all.filter(({ issues }) => issues.length === 1)).toHaveLength(10)
  expect(all.flatMap(({ issues }) => issues.map(({ severity }) => severity))).toEqual(
    Array(10).fill('warning'),
  )
})

test('styles from a sample apply to the whole file unless a later cell proves another', () => {
  const mapping = proposeMapping(['Stock No', 'Date In Stock', 'Price'], [])
  const evidence = startStyles(mapping, dallas)
  evidence.observe({ cells: ['U1', '02/11/2018', '12.990'] })
  const early = evidence.styles()

  evidence.observe({ cells: ['U2', '03/12/2018', '13.990'] })
  const same = evidence.styles()
  evidence.observe({ cells: ['U3', '25/12/2018', '14.990'] })
  const other = evidence.styles()

  expect([hasSameStyles(early, same), hasSameStyles(early, other)]).toEqual([true, false])
})

test('a day that is still to come, or before the vehicle was built, is stored with a warning', () => {
  const { rows } = typeTable(
    ['Stock No', 'Year', 'Date In Stock'],
    [
      ['A1X', '2022', '2026-11-21'],
      ['A2X', '2022', '2026-12-01'],
      ['A3X', '2022', '2021-06-30'],
      ['A4X', '2022', '2020-12-31'],
      ['A5X', '2022', '1970-01-01'],
      ['A6X', '', '1970-01-01'],
    ],
  )

  expect(rows.map(({ unit }) => unit?.acquired_on)).toEqual([
    ...['2026-11-21', '2026-12-01', '2021-06-30', '2020-12-31', '1970-01-01', '1970-01-01'],
  ])
  expect(rows.map(({ issues }) => issues.map(({ code, hint }) => `${code} ${hint}`))).toEqual([
    [],
    ['DATE_DOUBTED the day is still to come: are day and month in the right places?'],
    [],
    ['DATE_DOUBTED a vehicle of 2022 was not in stock on 2020-12-31: check both'],
    ['DATE_DOUBTED a vehicle of 2022 was not in stock on 1970-01-01: check both'],
    [],
  ])
})

test('the names of months are read in French, German and Spanish, with accents or without', () => {
  const march = ['3. März 2026', '3 mars 2026', '3 marzo 2026', '03-Mar-2026']
  const december = ['9. Dezember 2025', '9 déc. 2025', '9 decembre 2025', '9-dic-25']

  expect(datesOf([...march, ...december], sydney)).toEqual([
    ...march.map(() => '2026-03-03'),
    ...december.map(() => '2025-12-09'),
  ])
})

test('the header may name the order, which is reported only where dates contradict it', () => {
  const [header, cells] = ['Date In (MM/DD/YYYY)', ['02/11/2018', '03/12/2019']]
  const named = typeColumn(header, cells)
  const other = typeColumn(header, [...cells, '25/11/2018'])

  expect(named.rows.map(({ unit }) => unit?.acquired_on)).toEqual(['2018-02-11', '2019-03-12'])
  expect(named.styles.issues).toEqual([])
  expect(other.rows[0]!.unit?.acquired_on).toBe('2018-11-02')
  expect(other.styles.issues[0]?.hint).toContain('its header names the other order')
})

test('a few dates that turn the usual order of the market are reported', () => {
  const usual = ['03/02/2026', '05/01/2026', '07/02/2026', '02/03/2026', '09/02/2026']
  const issuesOf = (values: readonly string[], options = sydney) =>
    typeColumn('Date In Stock', values, options).styles.issues.map(({ code }) => code)

  expect(datesOf([...usual, '01/15/2026'])[0]).toBe('2026-03-02')
  expect(issuesOf([...usual, '01/15/2026'])).toEqual(['DATE_ORDER_ASSUMED'])
  expect(issuesOf([...usual, '15/01/2026'], dallas)).toEqual(['DATE_ORDER_ASSUMED'])
  expect(issuesOf([...usual, '15/01/2026'])).toEqual([])
  expect(issuesOf([...usual, '01/15/2026', '02/25/2026'])).toEqual([])
})
