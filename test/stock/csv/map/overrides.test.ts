import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'

const names = ['Stock#', 'Order Number', 'Order Number', 'Ask']

test('a field is named by its name or its warehouse column, a header in any letter case', () => {
  const { columns, absent } = parseOverrides(
    ['stock_no=stock #', 'asking_price=Ask', 'vin=', 'adcode=#3'],
    names,
  )

  expect([...columns]).toEqual([
    [0, 'stock_number'],
    [3, 'price_asking'],
    [2, 'adcode'],
  ])
  expect([...absent]).toEqual(['vin'])
})

test('each mistake is reported with what to write instead', () => {
  const faultOf =
    (...texts: string[]) =>
    () =>
      parseOverrides(texts, names)

  expect(faultOf('stock_number')).toThrow(/write it as <field>=<header>/)
  expect(faultOf('stok_number=Ask')).toThrow(/Did you mean stock_number\?/)
  expect(faultOf('cost=Aks')).toThrow(/Did you mean "Ask"\?/)
  expect(faultOf('cost=Order Number')).toThrow(/2 columns .* #2 or #3/)
  expect(faultOf('cost=#9')).toThrow(/no column #9; the file has 4 columns/)
  expect(faultOf('cost=Ask', 'cost=Stock#')).toThrow(/names cost twice/)
  expect(faultOf('cost=Ask', 'vin=Ask')).toThrow(/to cost already/)
  expect(faultOf('cost=Ask', 'cost=')).toThrow(UsageError)
})

test('a file without a header has only positions', () => {
  expect([...parseOverrides(['vin=#2'], null, 4).columns]).toEqual([[1, 'vin']])
  expect(() => parseOverrides(['vin=VIN'], null, 4)).toThrow(/no header row.*#1 to #4/)
})
