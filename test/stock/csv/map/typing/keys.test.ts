import { expect, test } from 'vitest'
import { checkDigit, suggestedVin } from '#src/stock/csv/map/typing/vehicle-keys.ts'
import { dallas, sydney, typeTable } from '../table.ts'

const sound = '5TDXZ3DC2KS015402'

/** Types VINs beside valid ones, so that the column is recognised. */
function typeVins(vins: readonly string[], options = sydney) {
  const rows = [...vins, ...Array(20).fill(sound)].map((vin, index) => [
    `S${index}X`,
    vin as string,
  ])
  return typeTable(['Stock No', 'VIN'], rows, options).rows.slice(0, vins.length)
}

/** Types stock numbers beside valid ones. */
function typeStock(numbers: readonly string[]) {
  const others = Array.from({ length: 60 }, (_, index) => `UF${8000 + index * 7}`)
  const rows = [...numbers, ...others].map((number) => [number, 'Toyota'])
  return typeTable(['Stock #', 'Make'], rows).rows.slice(0, numbers.length)
}

test('a stock number is text: zeros, letters and length stay', () => {
  const numbers = ['0230058A', '000885B', '22E1', '1234E5', ' A-1/2 ', '="00123"', '٠١٢٣', "'00124"]

  expect(typeStock(numbers).map(({ unit }) => unit?.stock_no)).toEqual([
    ...['0230058A', '000885B', '22E1', '1234E5', 'A-1/2', '00123', '0123', '00124'],
  ])
})

test('changes by Excel to a stock number are reported, and only lost digits reject the row', () => {
  const damaged = ['Nov-97', '22-May', '2025-03-01 00:00:00', '1.23E+15']
  const amounts = ['12345.0', '12345.00', '12,345', '1,012,345']
  const rows = typeStock([...damaged, ...amounts, '1234567890123450', '########'])

  expect(rows.map(({ issues }) => issues[0]?.code)).toEqual([
    ...Array(3).fill('STOCK_LOOKS_LIKE_DATE'),
    'SCI_NOTATION',
    ...amounts.map(() => 'STOCK_LOOKS_LIKE_NUMBER'),
    ...['DIGITS_LOST', 'EXCEL_ERROR'],
  ])
  expect(rows[0]!.unit?.stock_no).toBe('Nov-97')
  expect(rows[3]).toMatchObject({ status: 'rejected', key: { stockNo: null } })
  expect(rows.at(-1)!.issues.map(({ code }) => code)).toEqual(['EXCEL_ERROR', 'primary-key'])
})

test('a formula that Excel wrote around a text, and the quote before it, are removed', () => {
  const wrapped = ['=HYPERLINK("https://x.test/1","U8917")', "'=U8918", "'-U8919", "O'Brien1"]

  expect(typeStock(wrapped).map(({ unit }) => unit?.stock_no)).toEqual([
    ...['U8917', '=U8918', '-U8919', "O'Brien1"],
  ])
})

test('the VIN replaces a missing stock number; without both the row is rejected', () => {
  const { rows } = typeTable(
    ['Stock No', 'VIN', 'Make'],
    [
      ['U1', sound, 'Toyota'],
      ['', sound, 'Toyota'],
      ['TBA', 'HJ75-1234567', 'Toyota'],
      ['N/A', '', 'Toyota'],
    ],
  )

  expect(rows.map(({ unit }) => unit?.stock_no)).toEqual(['U1', sound, undefined, undefined])
  expect(rows.map(({ issues }) => issues.at(-1)?.code)).toEqual([
    ...[undefined, 'VIN_AS_KEY', 'primary-key', 'primary-key'],
  ])
})

test('a VIN may come in lower case, with blanks, hyphens, asterisks, its name or Arabic digits', () => {
  const forms = [
    ...['  5tdxz3dc2ks015402', '5TDXZ3DC2-KS015402*', '5TDX Z3DC 2KS0 15402'],
    ...['VIN: 5TDXZ3DC2KS015402', 'Chassis No. 5TDXZ3DC2KS015402'],
  ]
  const arabic = sound.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)))

  expect(typeVins([...forms, arabic]).map(({ unit }) => unit?.vin)).toEqual(Array(6).fill(sound))
  expect(typeVins(forms).flatMap(({ issues }) => issues)).toEqual([])
})

test('a VIN that begins like a number in exponent form is a VIN, in either letter case', () => {
  const rows = typeVins(['1E912345678901234', '1e912345678901234', '1.23E+16'])

  const codes = rows.map(({ issues }) => issues.map(({ code }) => code))
  expect(codes[0]).toEqual(codes[1])
  expect(codes[0]).not.toContain('SCI_NOTATION')
  expect(codes[2]).toEqual(['SCI_NOTATION'])
})

test('a number without 17 characters is a chassis number', () => {
  const rows = typeVins(['HJ75-1234567', '1Q87T3N166389', 'CH123456', `${sound}1`, 'see file'])

  expect(rows.map(({ unit }) => unit?.vin)).toEqual(Array(5).fill(null))
  expect(rows.map(({ unit }) => unit?.extras['chassis'])).toEqual([
    ...['HJ751234567', '1Q87T3N166389', 'CH123456', `${sound}1`, undefined],
  ])
  expect(rows.map(({ issues }) => issues[0]?.severity)).toEqual([
    ...['info', 'info', 'info', 'warning', 'warning'],
  ])
})

test('a wrong check digit is an error where the digit is law, else a note', () => {
  const wrong = '5TDXZ3DC3KS015402'
  const european = 'WVWZZZ1JZXW000001'
  const [american, german] = typeVins([wrong, european])

  expect(american).toMatchObject({
    status: 'rejected',
    key: { stockNo: 'S0X', vin: wrong },
    issues: [{ code: 'VIN_CHECK_DIGIT', severity: 'error' }],
  })
  expect(german).toMatchObject({
    status: 'accepted',
    unit: { vin: european },
    issues: [{ code: 'VIN_CHECK_DIGIT', severity: 'info' }],
  })
})

test('the check digit agrees with published VINs', () => {
  const vins = ['1M8GDM9AXKP042788', '1HGCM82633A004352', '11111111111111111', sound]

  expect(vins.map(checkDigit)).toEqual(['X', '3', '1', '2'])
  expect(checkDigit('not a VIN')).toBeNull()
})

test('a likely correction is suggested and never applied', () => {
  const letters = typeVins(['STDXZ3DC2KSO15402'])[0]!
  const swapped = '5TDXZ3DC2SK015402'

  expect(letters).toMatchObject({ unit: { vin: null }, issues: [{ code: 'VIN_CHAR' }] })
  expect(letters.issues[0]!.hint).toContain('STDXZ3DC2KS015402')
  expect(suggestedVin(swapped)).toBe(sound)
  expect(typeVins([swapped])[0]!.key.vin).toBe(swapped)
})

test('textbook VINs and one repeated character give a warning', () => {
  const rows = typeVins(['1HGBH41JXMN109186', '11111111111111111'])

  expect(rows.map(({ status, issues }) => [status, issues[0]?.code])).toEqual([
    ['accepted', 'VIN_TEST'],
    ['accepted', 'VIN_TEST'],
  ])
})

test('a model year that the VIN contradicts gives a warning only in the US, and the year stays', () => {
  const table = (options: typeof sydney) =>
    typeTable(
      ['Stock No', 'VIN', 'Year'],
      [
        ['A1X', sound, '2019'],
        ['A2X', sound, '2016'],
      ],
      options,
    ).rows

  expect(table(dallas).map(({ issues }) => issues[0]?.code)).toEqual([undefined, 'VIN_YEAR'])
  expect(table(dallas)[1]!.unit?.model_year).toBe(2016)
  expect(table(sydney).flatMap(({ issues }) => issues)).toEqual([])
})

test('a whole date in place of a stock number is reported', () => {
  const dates = ['01/03/2026', '1-3-2026', '1.3.2026', '1/03/2026 0:00', '2026-03-01']
  const numbers = ['1/3/26', '12-2026', '01/03-2026', '26/0013/2026']

  const codes = (texts: readonly string[]) =>
    typeStock(texts).map(({ unit, issues }) => [unit?.stock_no, issues.map(({ code }) => code)])
  expect(codes(dates)).toEqual(dates.map((text) => [text, ['STOCK_LOOKS_LIKE_DATE']]))
  expect(codes(numbers)).toEqual(numbers.map((text) => [text, []]))
})

test('a plate loses the .0 of a program, and one that became a date or a number is left out', () => {
  const plates = ['12345.0', '1-Mar', 'Nov-97', '01/03/2026', '1.00E+10', 'MAR 01', '1E5', '12.345']
  const rows = [...plates, ...Array.from({ length: 20 }, (_, at) => `ABC${100 + at}`)]

  const table = typeTable(
    ['Stock No', 'Rego'],
    rows.map((plate, at) => [`S${at}X`, plate]),
  )

  const typed = table.rows.slice(0, plates.length)
  expect(typed.map(({ unit }) => unit?.plate)).toEqual([
    ...['12345', null, null, null, null, 'MAR01', '1E5', '12345'],
  ])
  expect(typed.map(({ issues }) => issues.map(({ severity }) => severity))).toEqual([
    ...[[], ['warning'], ['warning'], ['warning'], ['warning'], [], [], []],
  ])
})
