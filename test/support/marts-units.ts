import { lastSoldYear, vehicleByCode } from '#src/sandbox/catalogue.ts'
import { isRegionalSpec } from '#src/sandbox/factory-build.ts'
import { findMarket, requireDecoded } from '#src/sandbox/find-vehicle.ts'
import { modelPrices } from '#src/sandbox/price-model.ts'
import { Refusal } from '#src/sandbox/refusal.ts'
import type { World } from '#src/sandbox/world.ts'
import type { Rooftop } from '#src/sandbox/world-types.ts'
import { localDay } from '#src/values/instant.ts'
import type { MartFixture, StockNight } from './marts-fixture.ts'
import type { ListedUnit } from './marts-stock.ts'
import type { SeenEvaluation } from './marts-truth.ts'

const graceMs = 3 * 86_400_000

/** The answer of a price batch about a unit; retail null: the service could not price it. */
interface MarketAnswer {
  readonly at: Date
  readonly vin: string | null
  readonly retail: number | null
}

/** A unit of a stock list after the last import. */
export interface StockUnit {
  readonly rooftop: Rooftop
  /** What the last list that names it says. */
  readonly listed: ListedUnit
  readonly acquiredOn: string
  readonly isOnHand: boolean
  /** More than one list has named it since it had a price. */
  readonly isPriceComparable: boolean
  readonly askingFirst: number | null
  readonly askingNow: number | null
  readonly priceChanges: number
  /** About this vehicle, in order: a stock number that is used again starts again. */
  readonly market: readonly MarketAnswer[]
  /** The evaluation that it was bought on. */
  readonly outcome: SeenEvaluation | null
}

interface Unit {
  listed: ListedUnit
  firstSeenAt: Date
  prices: (number | null)[]
  missingSince: Date | null
  isOff: boolean
  market: MarketAnswer[]
}

/** The stock of all rooftops, from what the test wrote into the lists. */
export function stockUnits(
  fixture: MartFixture,
  present: readonly SeenEvaluation[],
  gone: readonly SeenEvaluation[],
): StockUnit[] {
  return Map.groupBy(fixture.stock, ({ rooftop }) => rooftop)
    .entries()
    .flatMap(([rooftop, nights]) => {
      const units = new Map<string, Unit>()
      for (const night of nights) passNight(fixture.world, units, night)
      return units.values().map((unit) => finished(unit, rooftop, present, gone))
    })
    .toArray()
}

function passNight(world: World, units: Map<string, Unit>, night: StockNight): void {
  const { list, importedAt: now } = night
  for (const listed of list) {
    const known = units.get(listed.stockNo)
    const isAnother = known && known.listed.vin !== null && known.listed.vin !== listed.vin
    if (known === undefined || isAnother) units.set(listed.stockNo, arrived(listed, now))
    else
      Object.assign(known, {
        ...{ listed, missingSince: null, isOff: false },
        prices: [...known.prices, listed.price],
      })
  }
  const named = new Set(list.map(({ stockNo }) => stockNo))
  for (const [stockNo, unit] of units) {
    if (!named.has(stockNo)) unit.missingSince ??= now
    const sinceMs = unit.missingSince?.getTime() ?? Number.POSITIVE_INFINITY
    unit.isOff ||= now.getTime() - sinceMs >= graceMs
    if (!unit.isOff) askMarket(world, unit, night)
  }
}

function arrived(listed: ListedUnit, now: Date): Unit {
  const nothing = { missingSince: null, isOff: false, market: [] }
  return { listed, firstSeenAt: now, prices: [listed.price], ...nothing }
}

/** What the batch of the night says; nothing where the unit has neither a code nor a whole VIN. */
function askMarket(world: World, { listed, market }: Unit, { rooftop, pricedAt }: StockNight) {
  const { vin, adcode, km } = listed
  if (pricedAt === null || (adcode === null && vin?.length !== 17)) return
  const country = rooftop.region === 'AU' ? 'AU' : rooftop.currency.slice(0, 2)
  const place = findMarket(country)!
  const vehicle =
    vehicleByCode(adcode ?? '') ?? decoded(world, vin!, rooftop.region, pricedAt)?.vehicle
  const retail =
    vehicle === undefined
      ? null
      : modelPrices({
          ...{ vehicle, km, at: pricedAt, currency: place.currency },
          year: lastSoldYear(vehicle, pricedAt),
          gccSpec: isRegionalSpec(vehicle, vin?.length === 17 ? vin : null),
        }).retail
  market.push({ at: pricedAt, vin, retail })
}

function decoded(world: World, vin: string, region: Rooftop['region'], now: Date) {
  try {
    return requireDecoded(vin, { world, now, regions: [region] })
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

function finished(
  unit: Unit,
  rooftop: Rooftop,
  present: readonly SeenEvaluation[],
  gone: readonly SeenEvaluation[],
): StockUnit {
  const { listed, firstSeenAt, prices, isOff, market } = unit
  const acquiredOn = listed.acquired ?? localDay(firstSeenAt, rooftop.timezone)
  return {
    ...{ rooftop, listed, acquiredOn, market },
    isOnHand: !isOff,
    isPriceComparable: prices.slice(prices.findIndex((price) => price !== null)).length > 1,
    askingFirst: prices.find((price) => price !== null) ?? null,
    askingNow: listed.price,
    priceChanges: prices.filter((price, at) => at > 0 && price !== prices[at - 1]).length,
    outcome: boughtOn(listed.vin, acquiredOn, rooftop, present, gone),
  }
}

/** The last evaluation of the vehicle in the dealer group on or before the day that it came in, the rooftop's own first; null: it is gone. */
function boughtOn(
  vin: string | null,
  acquiredOn: string,
  { uid, groupId }: Rooftop,
  present: readonly SeenEvaluation[],
  gone: readonly SeenEvaluation[],
): SeenEvaluation | null {
  const [best] = [...present, ...gone]
    .filter((one) => one.groupId === groupId && one.vin17 !== null && one.vin17 === vin)
    .filter(({ completedOn }) => completedOn <= acquiredOn)
    .sort(
      (a, b) =>
        Number(b.rooftop.uid === uid) - Number(a.rooftop.uid === uid) ||
        b.truth.completedAt.getTime() - a.truth.completedAt.getTime() ||
        b.evalId - a.evalId,
    )
  return best === undefined || gone.includes(best) ? null : best
}
