import type { Dealers } from './generate-dealers.ts'
import type { Moment } from './generate-moments.ts'
import { type VehicleFields, vehicleAt } from './generate-vehicle.ts'
import { priceVehicle } from './price-evaluation.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import { angles, awkwardTexts, longNote, notes, regionTexts } from './texts.ts'
import type {
  Customer,
  CustomField,
  Edit,
  Evaluation,
  EvaluationPatch,
  OptionalText,
  Rooftop,
  StoredPhoto,
  UserPrice,
} from './world-types.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

/** One evaluation per moment. Ids rise with time and have gaps, as at a service with other customers. */
export function generateEvaluations(
  seed: number,
  dealers: Dealers,
  moments: readonly Moment[],
): Evaluation[] {
  const gaps = seededRandom(seed, 'evaluation ids')
  const usersByRooftop = Map.groupBy(dealers.users, ({ rooftopUid }) => rooftopUid)
  let evalId = 1_000_000
  return moments.map((moment, index) => {
    evalId += gaps.int(1, 7)
    const random = seededRandom(seed, `evaluation ${index}`)
    const users = usersByRooftop.get(moment.rooftop.uid) ?? []
    const userId = random.chance(0.02) ? null : random.pick(users).userId
    return evaluationAt(moment, { index, evalId, userId, random })
  })
}

interface Draft {
  readonly index: number
  readonly evalId: number
  readonly userId: number | null
  readonly random: SeededRandom
}

function evaluationAt({ rooftop, atMs }: Moment, draft: Draft): Evaluation {
  const { index, evalId, userId, random } = draft
  const vehicle = vehicleAt(rooftop, new Date(atMs), random)
  const completedAt = completionOf(atMs, index, random)
  const price = priceAt(rooftop, vehicle, new Date(atMs), random)
  return {
    evalId,
    rooftopUid: rooftop.uid,
    createdAt: new Date(atMs),
    completedAt,
    userId,
    ...vehicle,
    notes: noteOf(index, random),
    finalPrice: index % 60 === 7 ? 0 : random.chance(0.03) ? null : price,
    photos: photosOf(index, atMs, random),
    userPrices: userPricesOf(rooftop, price, random),
    customFields: customFieldsOf(index, random),
    customer: customerOf(rooftop, index, random),
    extra: extraOf(index, random),
    edits: completedAt === null ? [] : editsAfter(completedAt, price, random),
    vanishedAt:
      index % 180 === 11 && completedAt !== null
        ? new Date(completedAt.getTime() + random.int(1, 60 * 24) * 60 * minuteMs)
        : null,
    vanishedStaysListed: index % 360 === 11,
  }
}

/** Time of completion: usually within two hours; one in twelve days later, one in fifty weeks later, one in twenty-five never. */
function completionOf(atMs: number, index: number, random: SeededRandom): Date | null {
  if (index % 25 === 9) return null
  const delayMs =
    index % 50 === 3
      ? random.int(30, 80) * dayMs
      : index % 12 === 5
        ? random.int(1, 20) * dayMs
        : random.int(2, 120) * minuteMs
  return new Date(atMs + delayMs + random.int(0, 59) * 1000)
}

/** A price near the wholesale price, in the currency of the rooftop: dinars with three decimals, others without. */
function priceAt(rooftop: Rooftop, vehicle: VehicleFields, at: Date, random: SeededRandom): number {
  const { wholesale } = priceVehicle(vehicle, rooftop, at).prices
  const price = (wholesale * random.int(820, 1120)) / 1000
  return rooftop.currency === 'KWD' ? Math.round(price * 1000) / 1000 : Math.round(price)
}

function noteOf(index: number, random: SeededRandom): OptionalText {
  if (index % 400 === 17) return longNote
  if (index % 15 === 4) return awkwardTexts[Math.floor(index / 15) % awkwardTexts.length]
  return random.pick([...notes, null, undefined])
}

/** Photos in all variants: pinned, default or no hero; all, some, no or duplicate order numbers; no photos. */
function photosOf(index: number, atMs: number, random: SeededRandom): StoredPhoto[] {
  const count = index % 9 === 2 ? 0 : random.int(1, 12)
  const pinned = random.chance(0.4) ? random.int(0, count - 1) : -1
  const numbering = random.pick(['all', 'some', 'none', 'double'])
  return Array.from({ length: count }, (_, at) => ({
    id: 50_000_000 + index * 16 + at,
    order: {
      all: count - at,
      some: at % 2 === 0 ? at + 1 : null,
      none: null,
      double: Math.ceil((at + 1) / 2),
    }[numbering]!,
    takenAt: random.chance(0.5) ? new Date(atMs - random.int(0, 90) * 1000) : null,
    uploadedAt: new Date(atMs + (at + 1) * 5_000),
    pinned: at === pinned,
    angle: random.pick(angles),
  }))
}

function userPricesOf(rooftop: Rooftop, price: number, random: SeededRandom): UserPrice[] {
  if (random.chance(0.75)) return []
  return Array.from({ length: random.int(1, 4) }, (_, at) => ({
    amount: random.chance(0.05) ? null : Math.round(price * (90 + at * 4) * 10) / 1000,
    currency: rooftop.currency,
    note: random.pick(['Trade offer', 'Guide', null, 'عرض']),
  }))
}

function customFieldsOf(index: number, random: SeededRandom): Record<string, CustomField> {
  if (index % 3 === 0) return {}
  const sources = ['Walk-in', 'Phone', 'Web', 'Service lane']
  const plain = {
    'Lead source': { type: 'select', options: sources, value: random.pick([...sources, null]) },
    'Keys handed over': { type: 'checkbox', options: null, value: random.chance(0.5) },
  }
  if (index % 6 !== 1) return plain
  return {
    ...plain,
    'Next service (km)': { type: 'number', options: null, value: random.int(1, 90) * 1000 },
    'Rego. due': { type: 'date', options: null, value: '2027-02-29' },
    constructor: { type: 'text', options: [], value: random.pick(awkwardTexts) },
    'ملاحظات "خاصة"': { type: 'multi', options: ['A', 'B'], value: ['A', 'B'] },
  }
}

function customerOf(rooftop: Rooftop, index: number, random: SeededRandom): Customer {
  const texts = regionTexts[rooftop.region]
  const name = `${random.pick(texts.firstNames)} ${random.pick(texts.lastNames)}`
  if (index % 11 === 6) {
    const missing = index % 2 === 0 ? null : undefined
    return {
      name: missing,
      phone: missing,
      email: missing,
      postcode: missing,
      state: missing,
      address: missing,
      suburb: missing,
    }
  }
  return {
    name: index % 40 === 21 ? random.pick(awkwardTexts) : name,
    phone: random.pick(texts.phones),
    email: `customer${index}@example.org`,
    // A postcode is text: some begin with 0.
    postcode:
      rooftop.region === 'GCC'
        ? null
        : String(random.int(800, 6999)).padStart(rooftop.region === 'US' ? 5 : 4, '0'),
    state: random.pick(texts.states),
    address: `${random.int(1, 400)} Example Street`,
    suburb: random.pick(texts.suburbs),
  }
}

/** Fields that no document names: a reader must store them and continue. */
function extraOf(index: number, random: SeededRandom): Record<string, unknown> {
  const common = { sparekey: random.pick([0, 1, null]), service: random.int(2, 6) }
  if (index % 8 !== 5) return common
  return { ...common, AuctionLot: `L-${index}`, internal: { flags: ['a', null], depth: { n: 1 } } }
}

/** Later `/dcupdateeval` calls: a fresh price, another salesperson's note, a new VIN for a mistyped one. */
function editsAfter(completedAt: Date, price: number, random: SeededRandom): Edit[] {
  if (!random.chance(0.15)) return []
  const patches: readonly EvaluationPatch[] = [
    { finalPrice: Math.round(price * 950) / 1000 },
    { notes: 'Price agreed with the manager.' },
    { customer: { phone: '0491 570 110' }, finalPrice: Math.round(price * 1020) / 1000 },
    { reconditioning: [{ type: 'tyres', source: null, cost: 480, value: '4' }], reconTotal: 'sum' },
    { photos: [] },
  ]
  return Array.from({ length: random.int(1, 3) }, () => ({
    at: new Date(completedAt.getTime() + random.int(60, 40 * 86_400) * 1000),
    patch: random.pick(patches),
  }))
}
