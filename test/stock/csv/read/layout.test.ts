import { expect, test } from 'vitest'
import { problemsOf, readAll } from './read-all.ts'

const body = 'A1,Kia,2019,900\nA2,Ford,2020,800\nA3,Kia,2021,700\n'

test('lines above the header are the preamble, and `head` is all text above the records', async () => {
  const head = 'Northside Motors\nPrinted 01/02/2025,,,\n\nStock,Make,Year,Price\n'

  const { file, records } = await readAll(head + body)

  expect(file.preamble).toEqual(['Northside Motors', 'Printed 01/02/2025,,,', ''])
  expect(file.header).toMatchObject({ line: 4, rows: 1, ragged: false })
  expect(file.head).toBe(head)
  expect(records[0]).toEqual({
    line: 5,
    cells: ['A1', 'Kia', '2019', '900'],
    raw: 'A1,Kia,2019,900',
  })
})

test('a list without a header gets none, and loses no row', async () => {
  const { file, records } = await readAll(body)

  expect(file.header).toBeNull()
  expect(file.head).toBe('')
  expect(records).toHaveLength(3)
})

test('a list of words has a header if no word of its first row repeats', async () => {
  const named = await readAll('Make,Model,Colour\nToyota,Camry,White\nKia,Rio,Red\n')
  const nameless = await readAll('Toyota,Camry,White\nKia,Rio,Red\nToyota,Yaris,White\n')

  expect(named.file.header?.names).toEqual(['Make', 'Model', 'Colour'])
  expect(nameless.file.header).toBeNull()
  expect(nameless.records).toHaveLength(3)
})

test('names of two and three rows are joined, and the rows are available too', async () => {
  const two = await readAll(`Vehicle,,Build,Money\nStock,Make,Year,Price\n${body}`)
  const units = await readAll(`Stock,Make,Year,Price\n,,,AUD\n${body}`)
  const three = await readAll(`${'Stock,Make,Year,Price\n'.repeat(3)}${body}`)

  expect(two.file.header).toMatchObject({
    rows: 2,
    names: ['Vehicle Stock', 'Make', 'Build Year', 'Money Price'],
    rowNames: [
      ['Vehicle', '', 'Build', 'Money'],
      ['Stock', 'Make', 'Year', 'Price'],
    ],
  })
  expect(units.file.header?.rows).toBe(1)
  expect(three.file.header?.rows).toBe(3)
  expect(three.records).toHaveLength(3)
})

test('known names make a row the header that would otherwise count as values', async () => {
  const text = 'Report,of,2025,all\n2019,2020,Stock,Make\n1,2,A1,Kia\n3,4,A2,Ford\n'
  const known = new Set(['2019', '2020', 'Stock', 'Make'])

  const { file } = await readAll(text, { isKnownName: (name) => known.has(name) })

  expect(file.header?.names).toEqual(['2019', '2020', 'Stock', 'Make'])
  expect(file.preamble).toEqual(['Report,of,2025,all'])
})

test('a file with only a header has no records', async () => {
  const { file, records } = await readAll('Stock,Make,Price\r\n')

  expect(file.header?.names).toEqual(['Stock', 'Make', 'Price'])
  expect(file.head).toBe('Stock,Make,Price\r\n')
  expect(records).toEqual([])
})

test('a repeated header in the middle is not a vehicle', async () => {
  const outcome = await readAll(
    `Stock,Make,Year,Price\n${body}Stock,Make,Year,Price\nA4,BMW,2018,600\n`,
  )

  expect(problemsOf(outcome)).toEqual(['5 repeated-header'])
  expect(outcome.records).toHaveLength(5)
})

test('an empty last column without a name is ignored; a filled one makes the header uncertain', async () => {
  const comma = body.replaceAll('\n', ',\n')
  const empty = await readAll(`Stock,Make,Year,Price\n${comma}`)
  const full = await readAll(`Make,Year,Price\n${body}`)

  expect(empty.file.header).toMatchObject({
    ragged: false,
    names: ['Stock', 'Make', 'Year', 'Price', ''],
  })
  expect(empty.file.warnings).toEqual([])
  expect(full.file.header).toMatchObject({ ragged: true })
  expect(full.file.warnings).toMatchObject([{ code: 'HEADER_WIDTH', line: 1 }])
})

test('blank rows and rows of delimiters are not vehicles', async () => {
  const outcome = await readAll(`Stock,Make,Year,Price\n${body}\n,,,\nA4,BMW,2018,600\n\n`)

  expect(problemsOf(outcome)).toEqual(['5 blank-row', '6 blank-row', '8 blank-row'])
})
