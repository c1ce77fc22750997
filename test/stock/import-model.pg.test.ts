import { expect, test } from 'vitest'
import { type SeededRandom, seededRandom } from '#src/sandbox/seeded-random.ts'
import { aVehicle, listOf, openImportFixture, type Vehicle, vinOf } from './import-fixture.ts'

interface Unit {
  readonly vin: string
  readonly price: string
  readonly isOnHand: boolean
}

type Stock = ReadonlyMap<string, Unit>

const broken = '1x2'

// Few stock numbers, VINs and prices: rows repeat and contradict each other, share a VIN and reuse a stock number.
function randomList(random: SeededRandom): Vehicle[] {
  return Array.from({ length: random.int(1, 14) }, () => {
    const index = random.int(0, 11)
    const vin = vinOf(random.chance(0.9) ? index : random.int(0, 11))
    return aVehicle(index, {
      vin,
      price: random.chance(0.08) ? broken : String(random.int(20_000, 20_001)),
      km: '50000',
    })
  })
}

function countVins(rows: readonly Vehicle[]): number {
  const counts = Object.groupBy(rows, ({ vin }) => vin)
  return Object.values(counts).reduce((sum, of) => sum + (of!.length > 1 ? of!.length : 0), 0)
}

function countOf(rows: readonly Vehicle[], vin: string): number {
  return rows.filter((row) => row.vin === vin).length
}

/** The effect of a list on the stock, without a database. */
function applied(stock: Stock, list: readonly Vehicle[]) {
  const sound = list.filter(({ price }) => price !== broken)
  const groups = Object.values(Object.groupBy(sound, ({ stockNo }) => stockNo)).map((of) => of!)
  const same = groups.filter((of) => of.every((row) => isEqual(row, of[0]!)))
  const accepted = same.map((of) => of[0]!)
  const rejected = list.filter((row) => !same.some((of) => of.includes(row)))
  const after = new Map(stock)
  const counts = { added: 0, updated: 0, unchanged: 0, removed: 0, reappeared: 0 }
  const isNamed = (stockNo: string) => list.some((row) => row.stockNo === stockNo)
  const renumbered = new Set<string>()
  for (const { stockNo, vin, price } of accepted) {
    const known = stock.get(stockNo)
    const isAlone = sound.filter((row) => row.stockNo === stockNo).length === countOf(list, vin)
    const old = [...stock].filter(([no, unit]) => unit.vin === vin && !isNamed(no))
    if (!known && isAlone && old.length === 1) {
      const [oldNo, { isOnHand }] = old[0]!
      renumbered.add(oldNo)
      after.delete(oldNo)
      counts[isOnHand ? 'updated' : 'reappeared'] += 1
    }
    after.set(stockNo, { vin, price, isOnHand: true })
    if (!known && isAlone && old.length === 1) continue
    if (!known) counts.added += 1
    else if (known.vin !== vin) {
      counts.added += 1
      if (known.isOnHand) counts.removed += 1
    } else if (!known.isOnHand) counts.reappeared += 1
    else counts[known.price === price ? 'unchanged' : 'updated'] += 1
  }
  for (const [stockNo, unit] of stock) {
    if (!unit.isOnHand || isNamed(stockNo) || renumbered.has(stockNo)) continue
    if (rejected.some(({ vin }) => vin === unit.vin)) continue
    after.set(stockNo, { ...unit, isOnHand: false })
    counts.removed += 1
  }
  const rows = { accepted: accepted.length, rejected: rejected.length }
  const collapsed = sound.length - groups.flat().filter((row) => rejected.includes(row)).length
  return {
    after,
    twoVins: countVins(accepted),
    report: { ...rows, ...counts, collapsed: collapsed - accepted.length },
  }
}

function isEqual(one: Vehicle, other: Vehicle): boolean {
  return one.vin === other.vin && one.price === other.price
}

test('after any lists, the stock equals the model', async () => {
  await using fixture = await openImportFixture(365)
  const random = seededRandom(1, 'lists')
  let stock: Stock = new Map()
  for (let round = 0; round < 15; round += 1) {
    const list = randomList(random)
    const { after, report, twoVins } = applied(stock, list)
    const text = listOf(list)
    const allow = { allowMassRemoval: true, allowMassChange: true, allowUnusualValues: true }
    const options = { maps: ['stock_number=Stock Number', 'vin=VIN'], ...allow }

    const asFirst = await fixture.import(text, { ...options, rooftop: 'south', dryRun: true })
    const dry = await fixture.import(text, { ...options, dryRun: true })
    const real = await fixture.import(text, options)

    const message = `list ${round}:\n${text}`
    expect(asFirst, message).toMatchObject(applied(new Map(), list).report)
    expect(real, message).toMatchObject({ records: list.length, ...report })
    expect(real.issueCounts['DUPLICATE_VIN'] ?? 0, message).toBe(twoVins)
    const { file: _, ...rest } = real
    expect(dry, message).toMatchObject({ ...rest, status: 'dry-run', importId: null })
    stock = after
    expect(await stockOf(fixture), message).toEqual(stock)
  }
})

async function stockOf(fixture: { rows: Awaited<ReturnType<typeof openImportFixture>>['rows'] }) {
  const units = await fixture.rows<{ stock_no: string; vin: string; price: string; here: boolean }>(
    'select stock_no, vin, asking_price::int::text as price, missing_since is null as here from core.stock_unit',
  )
  return new Map(
    units.map(({ stock_no, vin, price, here }) => [stock_no, { vin, price, isOnHand: here }]),
  )
}
