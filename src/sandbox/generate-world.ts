import { type CatalogueVehicle, catalogue, generatedModels } from './catalogue.ts'
import {
  type Dealers,
  type GeneratedUserNames,
  generateDealers,
  generateMoments,
  type Moment,
} from './generate-dealers.ts'
import { priceVehicle } from './price-evaluation.ts'
import { ageAt, averageKm, kmPerUnit } from './price-model.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import { World } from './world.ts'
import {
  type Customer,
  type CustomField,
  type Edit,
  type Evaluation,
  type EvaluationFields,
  type EvaluationPatch,
  type OptionalText,
  type ReconLine,
  type Region,
  type Rooftop,
  type StoredPhoto,
  type UserPrice,
  unknownCustomer,
} from './world-types.ts'

/** Size of a generated world; the same plan gives the same world, byte for byte. */
export interface WorldPlan {
  readonly seed: number
  readonly rooftops: number
  /** In every state, including those that never complete. */
  readonly evaluations: number
  /** Length of the history before `now`. */
  readonly days: number
  readonly now: Date
  readonly generatedUser: GeneratedUserNames
}

/** Generates a world: a pure function of the plan. */
export function generateWorld(plan: WorldPlan): World {
  for (const [name, least] of [
    ['rooftops', 1],
    ['evaluations', 0],
    ['days', 1],
  ] as const) {
    if (!Number.isInteger(plan[name]) || plan[name] < least)
      throw new RangeError(`${name} has to be a whole number from ${least} on, it is ${plan[name]}`)
  }
  const dealers = generateDealers(plan.seed, plan.rooftops, plan.generatedUser)
  const span = { count: plan.evaluations, days: plan.days, now: plan.now }
  const moments = generateMoments(plan.seed, dealers.rooftops, span)
  const evaluations = generateEvaluations(plan.seed, dealers, moments)
  return new World({ ...dealers, evaluations })
}

const minuteMs = 60_000
const dayMs = 86_400_000

/** One evaluation per moment. Ids rise with time and have gaps, as at a service with other customers. */
function generateEvaluations(
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
  const completedAt = drawCompletion(atMs, index, random)
  const price = priceAt(rooftop, vehicle, new Date(atMs), random)
  return {
    evalId,
    rooftopUid: rooftop.uid,
    createdAt: new Date(atMs),
    completedAt,
    userId,
    ...vehicle,
    notes: drawNote(index, random),
    finalPrice: index % 60 === 7 ? 0 : random.chance(0.03) ? null : price,
    photos: drawPhotos(index, atMs, random),
    userPrices: drawUserPrices(rooftop, price, random),
    customFields: drawCustomFields(index, random),
    customer: drawCustomer(rooftop, index, random),
    extra: drawExtraFields(index, random),
    edits: completedAt === null ? [] : editsAfter(completedAt, price, random),
    vanishedAt:
      index % 180 === 11 && completedAt !== null
        ? new Date(completedAt.getTime() + random.int(1, 60 * 24) * 60 * minuteMs)
        : null,
    vanishedStaysListed: index % 360 === 11,
  }
}

/** Time of completion: usually within two hours; one in twelve days later, one in fifty weeks later, one in twenty-five never. */
function drawCompletion(atMs: number, index: number, random: SeededRandom): Date | null {
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

function drawNote(index: number, random: SeededRandom): OptionalText {
  if (index % 400 === 17) return longNote
  if (index % 15 === 4) return awkwardTexts[Math.floor(index / 15) % awkwardTexts.length]
  return random.pick([...notes, null, undefined])
}

/** Photos in all variants: pinned, default or no hero; all, some, no or duplicate order numbers; no photos. */
function drawPhotos(index: number, atMs: number, random: SeededRandom): StoredPhoto[] {
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

function drawUserPrices(rooftop: Rooftop, price: number, random: SeededRandom): UserPrice[] {
  if (random.chance(0.75)) return []
  return Array.from({ length: random.int(1, 4) }, (_, at) => ({
    amount: random.chance(0.05) ? null : Math.round(price * (90 + at * 4) * 10) / 1000,
    currency: rooftop.currency,
    note: random.pick(['Trade offer', 'Guide', null, 'عرض']),
  }))
}

function drawCustomFields(index: number, random: SeededRandom): Record<string, CustomField> {
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

function drawCustomer(rooftop: Rooftop, index: number, random: SeededRandom): Customer {
  const texts = regionTexts[rooftop.region]
  const name = `${random.pick(texts.firstNames)} ${random.pick(texts.lastNames)}`
  if (index % 11 === 6) return unknownCustomer(index % 2 === 0 ? null : undefined)
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
function drawExtraFields(index: number, random: SeededRandom): Record<string, unknown> {
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

/** The part of an evaluation that describes the vehicle and its condition. */
type VehicleFields = Pick<
  EvaluationFields,
  | 'vin'
  | 'make'
  | 'model'
  | 'variant'
  | 'year'
  | 'registration'
  | 'registrationState'
  | 'odometer'
  | 'colour'
  | 'condition'
  | 'reconTotal'
  | 'reconditioning'
>

const vinCharacters = [...'ABCDEFGHJKLMNPRSTUVWXYZ0123456789']
const plateLetters = [...'ABCDEFGHKLMNPRSTWXYZ']

/** A vehicle that the region sells, of a year in which it was sold, with a mileage for its age. Sometimes one that was appraised
 *  before, or one without a VIN. */
function vehicleAt(rooftop: Rooftop, at: Date, random: SeededRandom): VehicleFields {
  const texts = regionTexts[rooftop.region]
  const sold = generatedModels.filter(({ badge }) => badge.region === rooftop.region)
  const { badge, build, variants } = random.pick(sold)
  const { make, model } = badge
  const lines = random.chance(0.04) ? null : reconLines(rooftop, { make, ...build }, random)
  const vin = vinAt(rooftop, random)
  const variant = random.chance(0.02) ? random.pick(awkwardTexts) : random.pick(variants)[0]
  const year = random.chance(0.02)
    ? null
    : drawModelYear(rooftop, { make, model, variant }, at, random)
  return {
    vin,
    ...{ make, model, variant },
    year,
    registration: random.chance(0.06) ? null : plateAt(random),
    registrationState: random.pick(texts.states),
    odometer: random.chance(0.01) ? 0 : drawOdometer(rooftop, year, at, random),
    colour: random.pick([...colours, null, undefined]),
    condition: random.chance(0.1) ? null : random.int(0, 10),
    reconditioning: lines,
    // A total that a user overwrote may differ from the sum of the lines.
    reconTotal: random.chance(0.03) ? random.int(0, 9000) : random.chance(0.02) ? null : 'sum',
  }
}

/** A model year in which the variant was sold, not after the appraisal. */
function drawModelYear(
  { region }: Rooftop,
  { make, model, variant }: Pick<CatalogueVehicle, 'make' | 'model' | 'variant'>,
  at: Date,
  random: SeededRandom,
): number {
  const alike = catalogue.filter(
    (one) => one.region === region && one.make === make && one.model === model,
  )
  const { firstYear, lastYear } = alike.find((one) => one.variant === variant) ?? alike[0]!
  return random.int(firstYear, Math.max(firstYear, Math.min(lastYear, at.getUTCFullYear())))
}

/** 0.25 to 1.75 of the average for its age, in the unit of the region. */
function drawOdometer(
  { region }: Rooftop,
  year: number | null,
  at: Date,
  random: SeededRandom,
): number {
  const age = year === null ? 5 : ageAt({ year, at })
  const share = random.int(25, 175) / 100
  return Math.round(12 + (averageKm(age + 0.3) * share) / kmPerUnit(region))
}

function vinAt({ dealerId }: Rooftop, random: SeededRandom): string | null {
  if (random.chance(0.03)) return null
  // One of ten vehicles per rooftop that are appraised again and again.
  if (random.chance(0.03)) return `SAMPLE${dealerId}X`.padEnd(16, '0') + random.int(0, 9)
  return Array.from({ length: 17 }, () => random.pick(vinCharacters)).join('')
}

function plateAt(random: SeededRandom): string {
  const letters = Array.from({ length: 3 }, () => random.pick(plateLetters)).join('')
  return `${letters}${random.int(100, 999)}`
}

/** Workshop lines; for electric vehicles also the battery reading of the maker: `info`, cost 0, a percentage [A §2]. */
function reconLines(
  rooftop: Rooftop,
  { make, fuel }: Pick<CatalogueVehicle, 'make' | 'fuel'>,
  random: SeededRandom,
): ReconLine[] {
  const types = ['tyres', 'paint', 'rims', 'interior', 'detail', 'screen', null]
  const lines = Array.from({ length: random.int(0, 5) }, () => ({
    type: random.pick(types),
    source: random.pick(['dealer', 'workshop', null]),
    cost: rooftop.currency === 'KWD' ? random.int(5_000, 400_000) / 1000 : random.int(50, 4000) / 2,
    value: random.pick(['1', 2, null, 'see notes']),
  }))
  if (fuel !== 'Electric') return lines
  const battery = { type: 'info', source: make, cost: 0, value: `${random.int(61, 100)}%` }
  return [battery, ...lines]
}

// Texts for a generated world. People and places are invented; phone numbers are from ranges reserved for fiction.

/** What differs by region. */
interface RegionTexts {
  /** 2-3 uppercase letters [A §8]. */
  readonly states: readonly string[]
  readonly suburbs: readonly string[]
  readonly phones: readonly string[]
  readonly firstNames: readonly string[]
  readonly lastNames: readonly string[]
}

/** Words by region. */
const regionTexts: Readonly<Record<Region, RegionTexts>> = {
  AU: {
    states: ['NSW', 'QLD', 'VIC', 'SA', 'WA'],
    suburbs: ['Artarmon', 'Fortitude Valley', 'Box Hill', 'Unley', "O'Connor"],
    phones: ['0491 570 006', '0491 570 156', '+61 491 570 157', '(02) 5550 1234'],
    firstNames: ['Olivia', 'Jack', 'Mia', 'Lachlan', 'Siobhán', 'Nguyễn'],
    lastNames: ["O'Brien", 'Walker', 'Nguyen', 'Papadopoulos', 'Smith-Jones'],
  },
  US: {
    states: ['IL', 'TX', 'WI', 'IN', 'MI'],
    suburbs: ['Naperville', 'Plano', 'Oak Park', "Coeur d'Alene"],
    phones: ['(312) 555-0142', '312-555-0187', '+1 469 555 0110'],
    firstNames: ['Emma', 'Liam', 'José', 'Ava', 'DeShawn'],
    lastNames: ['Johnson', 'García', 'Miller', 'Von der Heide', 'Lee'],
  },
  GCC: {
    states: ['DXB', 'AUH', 'SHJ', 'KWT'],
    suburbs: ['Al Quoz', 'السالمية', 'Shuwaikh', 'القوز'],
    phones: ['+965 5550 0123', '+971 50 555 0144', '٠٥٠٥٥٥٠١٩٩'],
    firstNames: ['Fatima', 'محمد', 'Omar', 'نورة', 'Priya'],
    lastNames: ['Al-Sabah', 'العلي', 'Hassan', 'Nair'],
  },
}

/** Colours, including some that break a careless reader. */
const colours: readonly string[] = ['White', 'Black', 'Silver', 'Blau métallisé', 'أبيض', '']

/** Labels of photo angles. */
const angles: readonly (string | null)[] = ['front', 'rear', 'left', 'interior', null]

/** Notes of an ordinary evaluation. */
const notes: readonly string[] = [
  'Tidy, two keys, full history.',
  'Scuffed front left rim, stone chips on bonnet.',
  'Customer wants an answer by Friday.',
  'Warning light on, see workshop quote.',
]

/** Texts that break a careless pipeline; each is legal in JSON. */
const awkwardTexts: readonly string[] = [
  'Zero\u0000in the middle',
  'Cut emoji \ud83d',
  '\ude97 low surrogate first',
  'سيارة نظيفة جدًا، فحص وكالة ١٠٠٪',
  'Family 👨‍👩‍👧‍👦 in a 🚗💨',
  'He said "as new" and \\ walked off \\N',
  'First line\nsecond line\r\nthird\ttabbed\rold Mac',
  '\ufeffBOM, then \u2028 and \u2029 and \u202eright-to-left',
  "'); drop table evaluation; --",
  '=HYPERLINK("http://example.invalid","click")',
  '{"looks": ["like", "JSON"]}',
  '   ',
  '',
  'NULL',
  'e\u0301 is not \u00e9',
]

/** A note of 50 KB (1 KB = 1,024 bytes, ASCII). */
const longNote: string = 'Panel beater quote, line by line. '.repeat(1600).slice(0, 51_200)
