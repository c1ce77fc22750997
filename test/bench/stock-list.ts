import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { checkDigit } from '#src/stock/csv/map/typing/vehicle-keys.ts'

const header =
  'Stock Number,VIN,Rego,Rego State,Make,Model,Variant,Year,Body,Transmission,Fuel Type,Colour,Odometer (km),Price,Cost,Date In Stock,Location,Status,Branch Code,Comments'
const makes = ['Toyota', 'Mazda', 'Kia', 'Hyundai', 'Ford', 'Mitsubishi', 'Subaru', 'Volkswagen']
const models = ['Corolla', 'CX-5', 'Sportage', 'i30', 'Ranger', 'Outlander', 'Forester', 'Golf']
const bodies = ['Hatch', 'SUV', 'Wagon', 'Sedan', 'Ute']
const fuels = ['Petrol', 'Diesel', 'Hybrid', 'Electric']
const colours = ['White', 'Black', 'Silver', 'Blue', 'Red', 'Grey']
const states = ['NSW', 'VIC', 'QLD', 'SA', 'WA']
const sites = ['Northside', 'Southside', 'City', 'Airport']

/** A stock list as a dealer system writes it: 20 columns, one row in four with a quoted text. The same count gives the same file. */
export async function writeStockList(file: string, rows: number): Promise<void> {
  await pipeline(Readable.from(stockListText(rows)), createWriteStream(file))
}

/** The text of such a list in chunks of about 64 kB; a row has 179 bytes on average. */
export function* stockListText(rows: number): Generator<string> {
  let text = `${header}\r\n`
  for (let row = 0; row < rows; row += 1) {
    text += `${line(row)}\r\n`
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield text
}

function line(row: number): string {
  const of = (list: readonly string[], step = 1) => list[Math.floor(row / step) % list.length]!
  const two = (number: number) => String(number).padStart(2, '0')
  const spread = (row * 7919) % 100_003
  const price = `${5000 + (spread % 90_000)}.00`
  const day = `${two((row % 28) + 1)}/${two((row % 12) + 1)}/${2020 + (row % 6)}`
  return [
    ...[`S${1_000_000 + row}`, vin(row)],
    ...[`${two(row % 97)}${String.fromCharCode(65 + (row % 26))}${row}`, of(states, 3)],
    ...[
      of(makes),
      of(models),
      `${of(fuels, 5)} Sport ${spread % 40}`,
      String(2008 + (spread % 18)),
    ],
    ...[of(bodies, 2), row % 3 === 0 ? 'Manual' : 'Automatic', of(fuels, 7), of(colours)],
    ...[String(spread * 2), price, String(4000 + (spread % 70_000)), day, of(sites, 11)],
    ...[row % 9 === 0 ? 'Reserved' : 'In Stock', `B${spread % 60}`, comment(row, spread)],
  ].join(',')
}

/** A VIN with its check digit, except for one in ten: makers outside North America need not use one. */
function vin(row: number): string {
  const open = `JTDBR32E0${30_000_000 + row}`
  return row % 10 === 0 ? open : open.slice(0, 8) + checkDigit(open) + open.slice(9)
}

function comment(row: number, spread: number): string {
  if (row % 4 === 0) return `"One owner, full history, ${spread} ""as new"""`
  return row % 4 === 1 ? '' : `Serviced at ${spread} km`
}
