import { vehicleByCode } from '#src/sandbox/catalogue.ts'
import type { World } from '#src/sandbox/world.ts'
import type { Evaluation, Rooftop } from '#src/sandbox/world-types.ts'
import { isCheckDigitLaw } from '#src/stock/csv/map/typing/vehicle-keys.ts'
import { hash32 } from '#src/values/hash32.ts'
import { localDay } from '#src/values/instant.ts'
import { sharedVin } from './marts-plants.ts'
import type { Nights } from './marts-world.ts'

const dayMs = 86_400_000

/** A vehicle as a stock list names it; null is an empty cell. Price in the rooftop's currency. */
export interface ListedUnit {
  readonly stockNo: string
  readonly vin: string | null
  /** A text in the column of VINs that is none. */
  readonly chassis?: string
  readonly adcode: string | null
  readonly make: string | null
  readonly model: string | null
  readonly year: number | null
  readonly km: number | null
  readonly price: number | null
  readonly acquired: string | null
}

const codes: Readonly<Record<Rooftop['region'], string>> = {
  AU: 'AU0TOYHILUX01',
  US: 'US0FORF150X01',
  GCC: 'GC0TOYLANDC01',
}

/** What the rooftop's list says in the night (0 to 2): the vehicles that were appraised there and bought, some of a sister
 *  rooftop, some that no one appraised; sold ones go, one comes back, prices move, a stock number is used again. */
export function stockList(world: World, rooftop: Rooftop, night: number, nights: Nights) {
  const own = boughtAt(world, rooftop, nights[night]!)
  const sister = world.rooftops.find(
    ({ groupId, uid }) => groupId === rooftop.groupId && uid !== rooftop.uid,
  )
  // Every fifth vehicle is in the other rooftop's stock.
  const traded = sister ? boughtAt(world, sister, nights[night]!).filter(isTraded) : []
  const units = [...own.filter((one) => !sister || !isTraded(one)), ...traded].map((one) =>
    unitOf(one, rooftop, night),
  )
  const listed = [...units, ...notAppraised(rooftop, night, nights)]
  return listed.filter((unit) => isListed(unit, night))
}

/** The first evaluation of each VIN that was complete by then; two of three are bought. */
function boughtAt(world: World, { uid }: Rooftop, now: Date): Evaluation[] {
  const seen = new Set<string>()
  return (
    [...world.evaluations()]
      .filter((one) => one.rooftopUid === uid && one.vin?.length === 17)
      // A list with a North American VIN whose check digit is wrong is not taken whole.
      .filter(({ vin }) => !isCheckDigitLaw(vin!))
      .filter(({ completedAt }) => completedAt !== null && completedAt <= now)
      .filter(({ vin }) => !seen.has(vin!.toUpperCase()) && seen.add(vin!.toUpperCase()))
      .filter(({ evalId }) => draw('bought', evalId, 3) > 0)
  )
}

function isTraded({ evalId }: Evaluation): boolean {
  return draw('traded', evalId, 5) === 0
}

function unitOf(one: Evaluation, rooftop: Rooftop, night: number): ListedUnit {
  const { evalId, vin, make, model, year, odometer } = one
  const cents = rooftop.currency === 'KWD' ? 0.125 : 0
  const price = 9_000 + draw('price', evalId, 60_000) + cents
  const cut = draw('cut', evalId, 3) * night * 250
  const isBlank = draw('blank', evalId, 9) === night
  return {
    stockNo: `S${rooftop.dealerId}-${evalId}`,
    vin: vin!.toUpperCase(),
    adcode: rooftop.region !== 'US' && draw('code', evalId, 2) === 0 ? codes[rooftop.region] : null,
    ...{ make: make ?? null, model: model ?? null, year: year ?? null },
    km: odometer || null,
    price: isBlank ? null : price - cut,
    acquired: acquiredOn(one, rooftop),
  }
}

/** Some days after the appraisal, some days before it, or unknown. */
function acquiredOn({ evalId, completedAt, createdAt }: Evaluation, rooftop: Rooftop) {
  const days = [null, 0, -6][draw('acquired', evalId, 3)]
  if (days === null || days === undefined) return null
  const from = completedAt! < createdAt ? createdAt : completedAt!
  return localDay(new Date(from.getTime() + days * dayMs), rooftop.timezone)
}

/** Vehicles that no one appraised: with a code, without any key to a price, and one stock number that is used again. */
function notAppraised({ dealerId, region }: Rooftop, night: number, nights: Nights): ListedUnit[] {
  const { make, model } = vehicleByCode(codes[region])!
  const unit = { make, model, year: 2019, km: 61_000, acquired: null, adcode: null }
  const vin = (letter: string) => `JTDBR32E0${letter}${String(dealerId).padStart(7, '0')}`
  // The other vehicle came in long ago, but was not listed.
  const longAgo = new Date(nights[0].getTime() - 9 * dayMs).toISOString().slice(0, 10)
  const [b, c] = [{ vin: vin('B') }, { vin: vin('C'), acquired: longAgo, km: 8_000 }]
  return [
    { ...unit, stockNo: `X${dealerId}-1`, vin: vin('A'), adcode: codes[region], price: 31_000 },
    {
      ...unit,
      stockNo: `X${dealerId}-2`,
      vin: null,
      chassis: 'SHORT123',
      price: 15_000 - night * 500,
    },
    { ...unit, stockNo: `X${dealerId}-3`, price: 18_500 + night, ...(night < 2 ? b : c) },
    // The same vehicle is in the stock of each rooftop, whichever appraised it.
    { ...unit, stockNo: `X${dealerId}-5`, vin: sharedVin, price: 20_250, km: 30_000 },
    { ...unit, stockNo: `X${dealerId}-4`, vin: vin('D'), price: night === 0 ? null : 12_750 },
  ]
}

/** One in six is sold after the first night, one in six after the second, and one in eight is away for one list. */
function isListed({ stockNo }: ListedUnit, night: number): boolean {
  const sold = hash32(`sold ${stockNo}`) % 6
  if (stockNo.startsWith('X')) return true
  if (sold < 2 && night > sold) return false
  return !(night === 1 && hash32(`away ${stockNo}`) % 8 === 0)
}

function draw(what: string, evalId: number, choices: number): number {
  return hash32(`${what} ${evalId}`) % choices
}

const header = 'Stock Number,VIN,ADCode,Make,Model,Year,Odometer (km),Price,Currency,Date In Stock'

/** The list as a file. */
export function listText(units: readonly ListedUnit[], { currency }: Rooftop): string {
  const lines = units.map((unit) => {
    const { stockNo, vin, chassis, adcode, make, model, year, km, price, acquired } = unit
    const amount = price === null ? null : price.toFixed(currency === 'KWD' ? 3 : 2)
    const cells = [
      stockNo,
      vin ?? chassis,
      adcode,
      make,
      model,
      year,
      km,
      amount,
      currency,
      acquired,
    ]
    return cells.map((cell) => cell ?? '').join(',')
  })
  return [header, ...lines, ''].join('\r\n')
}
