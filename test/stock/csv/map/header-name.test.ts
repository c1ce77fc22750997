import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findMeanings, isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { headerFingerprint, headerKey, readHeader } from '#src/stock/csv/map/header-name.ts'

const firstOf = (header: string) => findMeanings(header)[0]?.field

test('case, blanks, direction marks, width and the forms of Arabic letters do not matter', () => {
  const keys = ['\ufeffStock_No.', 'STOCK-NO', 'ｓｔｏｃｋ ｎｏ', 'stock\u200eNo'].map(headerKey)
  const arabic = ['سنة الصنع', 'سنه الصنع', '\u202bسنة الصـنع\u202c'].map(headerKey)

  expect(new Set(keys)).toEqual(new Set(['stockno']))
  expect(new Set(arabic).size).toBe(1)
})

test('unit, currency and tax are removed and used as evidence', () => {
  expect(readHeader('Mileage (km)')).toMatchObject({ key: 'mileage', unit: 'km' })
  expect(readHeader('Odometer [Miles]')).toMatchObject({ key: 'odometer', unit: 'mi' })
  expect(readHeader('KM Driven')).toMatchObject({ unit: 'km' })
  expect(readHeader('Mileage (mls)')).toMatchObject({ key: 'mileage', unit: 'mi' })
  expect(readHeader('Miles (km)')).toMatchObject({ key: 'miles', unit: 'km' })
  for (const both of ['Odometer (km/mi)', 'Odometer mi/km', 'KM / Miles'])
    expect(readHeader(both).unit, both).toBeNull()
  expect(readHeader('السعر (ريال)')).toMatchObject({ key: 'السعر', currency: 'SAR' })
  expect(readHeader('priceAED')).toMatchObject({ shortKey: 'price', currency: 'AED' })
  expect(['Price (incl. VAT)', 'Price ex GST', 'Price SAR', 'Price ($)'].map(firstOf)).toEqual(
    Array(4).fill('price_asking'),
  )
  expect(firstOf('VIN (last 8)')).toBe('vin_partial')
})

test('the names of a date in stock, a price and a model are known, abbreviated or not', () => {
  const dates = ['Date In', 'DateIn', 'In Stock Date', 'Entry Date', 'Dt In Stk', 'Date Recd']
  const prices = ['Adv Price', 'Adv. Price (inc GST)', 'Now Price', 'Was/Now Price', 'Price SEK']
  const models = ['Model Desc', 'MDL', 'Veh Mdl', 'Model Descr.']

  expect(dates.map(firstOf)).toEqual(dates.map(() => 'received_date'))
  expect(prices.map(firstOf)).toEqual(prices.map(() => 'price_asking'))
  expect(models.map(firstOf)).toEqual(models.map(() => 'model'))
  expect(['Odom', 'Family', 'SIV', 'Our Cost', 'Inv-Amt'].map(firstOf)).toEqual([
    ...['odometer', 'model', 'cost', 'cost', 'cost'],
  ])
  expect(['Car Age', 'Top Speed', 'Order No', 'constructor'].map(firstOf)).toEqual(
    Array(4).fill(undefined),
  )
})

test('both sides of a header in two languages must agree', () => {
  expect(firstOf('Model / الموديل')).toBe('model')
  expect(firstOf('رقم الهيكل / VIN')).toBe('vin')
  expect(firstOf('Make / Price')).toBeUndefined()
})

test('only a whole name counts, never a part of one', () => {
  expect(['Bodywork', 'Costume', 'Order Number', 'Price list code'].map(isKnownHeader)).toEqual(
    Array(4).fill(false),
  )
})

test('the fingerprint depends on the names and their order, not on their spelling', () => {
  const prints = [['Stock No', 'VIN'], ['stock_no', 'Vin'], ['VIN', 'Stock No'], ['Stock No']]
    .map((names) => headerFingerprint(names, names.length))
    .concat(headerFingerprint(null, 2))

  expect(prints[0]).toMatch(/^[0-9a-f]{64}$/)
  expect(prints[1]).toBe(prints[0])
  expect(new Set(prints).size).toBe(4)
})

const list = new URL('../../../../../shared/data/header_aliases.json', import.meta.url)
if (!existsSync(list)) console.warn('skipped: ../shared/data/header_aliases.json is not here')

test.skipIf(!existsSync(list))('every collected alias finds its field', () => {
  const known = JSON.parse(readFileSync(list, 'utf8')) as Record<string, string[]>

  const missed = Object.entries(known).flatMap(([field, aliases]) =>
    aliases.filter((alias) => !findMeanings(alias).some((meaning) => meaning.field === field)),
  )

  expect(missed).toEqual([])
})
