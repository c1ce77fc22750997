import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import { openUploads, pathOf } from '../web/console/upload-fixture.ts'
import { openInboxFixture } from './folders/inbox-fixture.ts'
import { aVehicle, openImportFixture } from './import-fixture.ts'
import { textRows, workbook } from './workbook/make-workbook.ts'

/** A workbook with two price columns, the first of them hidden; each car's visible price is 5,000 more. */
function pricedBook(hidden: string, visible: string, hiddenColumn = 5): Buffer {
  const rows = [1, 2, 3, 4, 5, 6].map((at) => {
    const { stockNo, vin } = aVehicle(at)
    const prices = [String(20_000 + at), String(25_000 + at)]
    if (hiddenColumn === 6) prices.reverse()
    return [stockNo, vin, 'Toyota', 'Corolla', '2019', ...prices, String(45_000 + at)]
  })
  const names = hiddenColumn === 5 ? [hidden, visible] : [visible, hidden]
  const header = ['Stock No', 'VIN', 'Make', 'Model', 'Year', ...names, 'Odometer (km)']
  return workbook({
    sheets: [{ name: 'Cars', hidden: [hiddenColumn], rows: textRows([header, ...rows]) }],
  })
}

const names: readonly (readonly [string, string])[] = [
  ['Price', 'Asking Price'],
  ['Asking Price', 'Price'],
  ['Price', 'Retail Price'],
  ['Retail', 'Price'],
  ['Retail Price', 'Price'],
  ['Sale Price', 'Price'],
  ['Price', 'Sale Price'],
  ['Price', 'Internet Price'],
  ['Asking Price', 'Our Price'],
]

test.for(
  names.flatMap(([hidden, visible]) =>
    someOf([5, 6], 1).map((at) => [hidden, visible, at] as const),
  ),
)(
  'of a hidden "%s" and a visible "%s" the visible one is the price (hidden column %i)',
  async ([hidden, visible, at]) => {
    await using fixture = await openImportFixture()

    const answer = await fixture.import(pricedBook(hidden, visible, at)).then(
      () => 'imported',
      (error: Error) => error.message,
    )

    const prices = await fixture.rows<{ price: string }>(
      'select asking_price::int::text as price from core.stock_unit order by stock_no',
    )
    if (answer === 'imported')
      expect(prices.map(({ price }) => price)).toEqual(
        [1, 2, 3, 4, 5, 6].map((n) => `${25_000 + n}`),
      )
    else expect(answer).toContain(`price_asking=${visible}`)
  },
)

test('of two columns with one name the question names the visible one first', async () => {
  await using fixture = await openImportFixture()

  await expect(fixture.import(pricedBook('Price', 'Price'))).rejects.toThrow(
    /#7 and #6 \(#6 is hidden in the workbook\).*--map 'price_asking=#7'/s,
  )
})

test('a drop folder and its report do the same', async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('a.xlsx', pricedBook('Price', 'Price'))
  await fixture.drop('b.xlsx', pricedBook('Price', 'Asking Price'))

  const { files } = await fixture.pass()

  expect(files.map(({ state }) => state)).toEqual(['failed', 'done'])
  expect(files[0]!.reason).toContain('#7 and #6')
})

test('a hidden column that alone has a name of the price is read', async () => {
  await using fixture = await openImportFixture()

  await fixture.import(pricedBook('Price', 'Notes'))

  expect(
    await fixture.rows('select asking_price::int as price from core.stock_unit order by 1 limit 1'),
  ).toEqual([{ price: 20_001 }])
})

test('the page that asks has the visible column chosen, and says that the other is hidden', async () => {
  await using console = await openUploads()

  const mapping = pathOf(await console.upload(pricedBook('Price', 'Price'), { name: 'a.xlsx' }))
  const { text } = await console.get(mapping, { role: 'stock' })
  const [hidden, visible] = [5, 6].map(
    (at) => new RegExp(`<select name="column-${at}".*?</select>(.*?)</tr>`, 's').exec(text)!,
  )

  expect(mapping).toMatch(/mapping$/)
  expect(visible![0]).toContain('value="price_asking" selected')
  expect(hidden![0]).toContain('<option value="" selected>')
  expect(hidden![1]).toContain('it is hidden in the workbook')
})
