import { expect } from 'vitest'
import { problemsOf, readAll } from './read-all.ts'
import { sharedPath, testOfShared } from './shared.ts'

// As described in the MANIFEST beside the files.
const files = [
  ['za_autotrader_sepline', ',', 'CRLF', 22, 18, 'ImageUrl,ListingId,StockNumber'],
  ['ksa_syarah_semicolon', ';', 'CRLF', 2499, 15, 'Link,Make,Type,Year,Origin'],
  ['au_gumtree_cars_info', ',', 'LF', 3999, 16, 'ID,Name,Price,Brand,Model,Variant,Series'],
  ['us_carscom_stockhash', ',', 'CRLF', 3081, 31, 'Year,Make,Model,Price'],
  ['us_pipe_preamble_noheader', '|', 'LF', 4, 8, null],
  ['uae_used_cars', ',', 'CRLF', 2999, 12, 'Make,Model,Year,Price,Mileage'],
  ['uae_auction_lots_from_xlsx', ',', 'CRLF', 5, 11, 'Lot#,S#,Fleet#,Reg#,Current Location'],
  ['us_dealer_NULLs', ',', 'CRLF', 287, 25, 'year,make,model,stock_number,is_new,vin'],
  ['us_homenet_dealer_longtext', ',', 'CRLF', 138, 18, 'Year,Make,Model,NewUsed'],
  ['us_quirk_badvins', ',', 'LF', 100, 12, 'StockType,StockNumber,VIN'],
  ['br_volvo_tab_decimalcomma', '\t', 'LF', 14, 17, 'model,price'],
  ['us_auction_lot_paddedvin', ',', 'CRLF', 2499, 13, 'Column1,price,brand,model,year'],
] as const

const folder = 'data/stock-csv'

for (const [name, delimiter, lineEnd, count, width, header] of files)
  testOfShared(folder, `${name}: ${count} records of ${width} cells, none damaged`, async () => {
    const outcome = await readAll({ path: sharedPath(`${folder}/${name}.csv`) })

    const { file, records } = outcome
    expect(file.encoding).toMatchObject({ name: 'utf-8', bom: false })
    expect(file.dialect).toMatchObject({ delimiter, quote: '"', lineEnd })
    expect(file.header?.names.slice(0, header?.split(',').length).join(',') ?? null).toBe(header)
    expect(records).toHaveLength(count)
    expect(records.every(({ cells }) => cells.length === width)).toBe(true)
    expect(problemsOf(outcome)).toEqual([])
    expect(file.warnings).toEqual([])
  })

async function column(name: string, header: string): Promise<string[]> {
  const { file, records } = await readAll({ path: sharedPath(`${folder}/${name}.csv`) })
  const at = file.header?.names.indexOf(header) ?? -1
  return records.map(({ cells }) => cells[at]!)
}

testOfShared(
  folder,
  'the quoted sep line, and the title of a pipe file, are not records',
  async () => {
    const hinted = await readAll({ path: sharedPath(`${folder}/za_autotrader_sepline.csv`) })
    const titled = await readAll({ path: sharedPath(`${folder}/us_pipe_preamble_noheader.csv`) })

    expect(hinted.file.dialect.sepLine).toBe(true)
    expect(hinted.file.head).toMatch(/^"sep=,"\r\nImageUrl,/)
    expect(hinted.records[0]).toMatchObject({ line: 3 })
    expect(titled.file.preamble).toEqual(['NewDeal-ership|123MainSt|222222222'])
    expect(titled.records[0]?.cells.slice(0, 4)).toEqual(['4222442', '2020', 'chevy', 'impala'])
  },
)

testOfShared(
  folder,
  'cells are not changed: blanks, placeholders, quotes, line breaks',
  async () => {
    const status = await column('au_gumtree_cars_info', 'Status')
    const vins = await column('us_auction_lot_paddedvin', 'vin')
    const stock = await column('us_carscom_stockhash', 'Stock#')
    const prices = await column('us_dealer_NULLs', 'selling_price')
    const path = sharedPath(`${folder}/us_homenet_dealer_longtext.csv`)
    const long = (await readAll({ path })).records.flatMap(({ cells }) => cells)

    expect(status).toContain(' Used')
    expect(vins.every((vin) => vin.startsWith('  '))).toBe(true)
    expect(stock).toEqual(expect.arrayContaining(['Nov-97', '0230058A', '–']))
    expect(prices.filter((price) => price === 'NULL')).toHaveLength(172)
    expect(long.filter((text) => text.includes('\n'))).toHaveLength(2)
    expect(long.join('')).toContain('147" LT')
  },
)
