import type { CheckKind } from '../api/contract/appraisal/past-checks.ts'
import { documentedEvaluationPaths } from '../api/contract/appraisal/shapes.ts'
import { firstCandidate, type JsonPath } from '../values/json-path.ts'
import { defaultWire, type WireSettings, wireSettings } from '../values/wire.ts'
import type { VehicleCheck } from './checks.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { Evaluation, EvaluationFields } from './world-types.ts'

// A service with other names for what the documents leave open, and with fields beside them that are easily taken for them.

/** Words for the settings; `|` separates them. A path has one of them, in the spelling of the service. */
const words = {
  evaluation: {
    dealerId: 'dealer id|dealership id|rooftop id|branch id|store id|site id|outlet id|lot id|org',
    make: 'make|manufacturer|marque|brand|oem|mfr|make name|maker|nameplate|fabricant|franchise',
    model: 'model|model name|range|family|model family|model desc|line|nameplate|model group|mdl',
    variant:
      'variant|derivative|trim|trim level|badge|grade|version|spec|edition|deriv|finish|package',
    year: 'year|model year|my|yr|year model|manu year|plate year|vintage|anno|year group',
    registration: 'registration|rego|reg no|plate|number plate|vrm|tag|reg mark|index|licence no',
    registrationState:
      'registration state|rego state|plate state|jurisdiction|emirate|issued by|plate region|authority',
    odometer:
      'odometer|mileage|kms|odo|odometer reading|clocked|distance|reading|current km|meter|hub reading',
    colour: 'colour|color|exterior colour|ext color|paint|body colour|finish|hue|shade|col',
    condition:
      'condition|condition score|grade|rating|score|overall condition|state|health|appearance',
    notes:
      'notes|comments|remarks|memo|appraisal notes|description|observations|free text|annotation',
    customerName:
      'customer name|owner name|client name|contact name|seller name|vendor|full name|party|consumer',
    customerPhone:
      'customer phone|mobile|cell|phone|tel|contact number|phone number|handset|gsm|reach',
    customerEmail:
      'customer email|email|email address|mail|owner email|contact email|electronic|inbox|addr2',
    customerPostcode:
      'customer postcode|post code|zip|p code|postal code|drop code|area code|mail code',
    customerState: 'customer state|state|province|region|owner state|territory|admin area|county',
    customerAddress:
      'customer address|address|street|line1|addr|street address|premises|dwelling|location line',
    customerSuburb: 'customer suburb|suburb|city|town|locality|district|neighbourhood|place',
  },
  evalList: {
    id: 'eval id|id|evaluation id|appraisal id|ref|seq|handle',
    updatedAt: 'updated at|modified|last changed|ts|last modified|touched|revised on',
  },
  pastCheck: {
    id: 'id|check id|search id|report id|ref|reference|uid|seq|handle',
    createdAt:
      'created at|created|searched at|run at|date|timestamp|ordered at|issued on|stamp|when',
    pdfUrl: 'pdf url|pdf|url|link|report url|document link|download|artefact|blob|doc',
  },
  watch: {
    checks: 'checks|searches|items|monitors|entries|lines',
    checkId: 'id|check id|search id|report id|ref|uid|seq|handle',
    checkStatus: 'watch status|status|state|result|condition',
    checkedAt: 'checked at|last checked|as at|polled|seen on',
  },
} as const
type JsonObject = Readonly<Record<string, unknown>>
type Group = keyof typeof words
const envelopes = ['', 'data', 'result', 'data.items', 'response.evaluations', 'rows']
const parents: Readonly<Record<string, readonly string[]>> = {
  vehicle: ['', '', 'vehicle', 'details.vehicle'],
  customer: ['', '', 'owner', 'owner.contact', 'party'],
}

type Spelling = (word: string) => string
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
const spellings: readonly Spelling[] = [
  (word) => word.split(' ').map(capital).join(''),
  (word) =>
    word
      .split(' ')
      .map((part, at) => (at === 0 ? part : capital(part)))
      .join(''),
  (word) => word.replaceAll(' ', '_'),
  (word) => word.replaceAll(' ', '-'),
  (word) => word.replaceAll(' ', '').toUpperCase(),
  (word) => word.replaceAll(' ', ''),
]

/** How a service writes what the settings name, and what it sends beside that. Each record is given with what the documents and the settings
 *  name. */
export interface Decoys {
  /** A value as the service writes it, by the group and the name of its setting; undefined: it does not send it. */
  encode(group: string, name: string, value: unknown): unknown
  evaluation(body: JsonObject, fields: EvaluationFields, evaluation: Evaluation): JsonObject
  listItem(body: JsonObject, evaluation: Evaluation): JsonObject
  /** The answer of `/getevallist`. */
  list(body: unknown): unknown
  /** null: the items as they are. */
  pastChecks(kind: CheckKind, items: readonly ListedCheck[]): readonly JsonObject[] | null
  watchedChecks(items: readonly ListedCheck[]): readonly JsonObject[] | null
  /** The answer of `/ppsrwatch`. */
  watch(body: JsonObject, checks: readonly VehicleCheck[]): JsonObject
}

/** An item of a list of checks. */
export interface ListedCheck {
  readonly check: VehicleCheck
  readonly body: JsonObject
  readonly signedLink: string
}

/** A service with other names: what a client has to set, and what is beside them. */
export interface OtherNames {
  readonly wire: WireSettings
  readonly decoys: Decoys
}

/** The names of a service, from a seed. The documented ones stay. */
export function otherNames(seed: number): OtherNames {
  const random = seededRandom(seed, 'other names')
  const spell = random.pick(spellings)
  const prefix = random.chance(0.2) ? random.pick(['veh ', 'vehicle ', 'car ']) : ''
  const nests = {
    vehicle: random.pick(parents['vehicle']!),
    customer: random.pick(parents['customer']!),
  }
  const taken = new Set<string>(documentedEvaluationPaths.map((path) => path.toLowerCase()))
  const nameOf = (group: Group, setting: string, list: string) => {
    const isCustomer = setting.startsWith('customer') || setting === 'notes'
    const isVehicle = group === 'evaluation' && !isCustomer && setting !== 'dealerId'
    const nest = isVehicle ? nests.vehicle : setting.startsWith('customer') ? nests.customer : ''
    const choices = list.split('|').flatMap((word) => [word, word])
    for (let at = 0; ; at += 1) {
      const word = at < 40 ? random.pick(choices) : `${random.pick(choices)} ${at}`
      const parts = [...nest.split('.').filter(Boolean), (isVehicle ? prefix : '') + word].map(
        spell,
      )
      // Names with upper or lower case alone would differ in nothing that a person sees.
      const key = `${group} ${parts.join('.').toLowerCase()}`
      if (taken.has(key) || taken.has(parts.join('.').toLowerCase())) continue
      taken.add(key)
      return parts.join('.')
    }
  }
  const named = Object.entries(words).map(([group, settings]) => [
    group,
    Object.fromEntries(
      Object.entries(settings).map(([setting, list]) => [
        setting,
        nameOf(group as Group, setting, list),
      ]),
    ),
  ])
  const appraisal = Object.fromEntries(named) as Record<Group, Record<string, string>>
  const items = random.pick(envelopes)
  const wire = wireSettings.parse({
    appraisal: { ...appraisal, evalList: { ...appraisal.evalList, items } },
  })
  return { wire, decoys: drawDecoys(wire, random, spell) }
}

type Maker = (fields: EvaluationFields, evaluation: Evaluation) => unknown

/** By the word of the decoy. `defaults`: under the default name of the setting, where the service has another name for it. */
const makers: Readonly<Record<string, Maker>> = {
  'build year': ({ year, make }) => (year == null ? year : year - ((make?.length ?? 0) % 2)),
  'sales email': ({ userId }) => (userId == null ? null : `sales${userId}@example.com`),
  'dealer phone': () => '(02) 5550 9876',
  'dealer address': () => '1 Auction Road',
  series: ({ model }) => (model == null ? null : `S${model.length}`),
  body: ({ model }) => ((model?.length ?? 0) % 2 === 0 ? 'Wagon' : 'Sedan'),
  miles: ({ odometer }) => (odometer == null ? odometer : Math.round(odometer / 1.609)),
  'interior colour': ({ condition }) => ((condition ?? 0) > 4 ? 'Black' : 'Beige'),
  'stock no': (_, { evalId }) => `S${evalId % 9973}`,
  'previous eval id': (_, { evalId }) => evalId - 900_000,
  'group id': () => 7,
  tyres: (_, { evalId }) => evalId % 11,
  'second owner email': (_, { evalId }) => `second${evalId}@example.net`,
  'second owner name': (_, { evalId }) => `Canary Person${evalId}`,
  'internal notes': (_, { evalId }) => `Canary note ${evalId}, not for the customer.`,
  'dealer state': ({ userId }) => ((userId ?? 0) % 2 === 0 ? 'NSW' : 'QLD'),
  'franchise name': (_, { rooftopUid }) =>
    ['Toyota', 'Mazda', 'Ford', 'Kia'][rooftopUid.length % 4],
  'trade in make': (_, { evalId }) => ['Toyota', 'Mazda', 'Ford', 'Kia', null][evalId % 5],
  'finance mobile': (_, { evalId }) => `0491 57${evalId % 10} ${100 + (evalId % 900)}`,
  'lender email': (_, { evalId }) => (evalId % 3 === 0 ? `lender${evalId}@bank.example` : null),
  'postal address': (_, { evalId }) => (evalId % 4 === 0 ? `${evalId % 97} Post Street` : null),
  'vehicle id': (_, { evalId }) => evalId % 499_979,
  'engine no': (_, { evalId }) => `G${evalId % 997}X`,
  title: ({ year, make, model }) => [year, make, model].filter(Boolean).join(' '),
}
const asDefaults: Readonly<Record<string, string>> = {
  ...{ year: 'build year', customerEmail: 'second owner email', customerPhone: 'finance mobile' },
  ...{ odometer: 'miles', colour: 'interior colour', condition: 'tyres', notes: 'internal notes' },
  ...{
    customerName: 'second owner name',
    customerState: 'dealer state',
    model: 'series',
    variant: 'title',
  },
  ...{ customerAddress: 'postal address', dealerId: 'vehicle id', registration: 'engine no' },
  ...{ make: 'trade in make', customerSuburb: 'series', registrationState: 'dealer state' },
}

function drawDecoys(wire: WireSettings, random: SeededRandom, spell: Spelling): Decoys {
  const { evaluation } = wire.appraisal
  const used = new Set(Object.values(evaluation).map((path) => firstCandidate(path).toLowerCase()))
  const isFree = (name: string) => !used.has(name.toLowerCase())
  const chosen = Object.entries(makers)
    .filter(() => random.chance(0.35))
    .map(([word, make]) => [spell(word), make] as const)
  const defaults = Object.entries(asDefaults)
    .filter(() => random.chance(0.3))
    .map(([setting, word]) => [firstCandidate(defaultName(setting)), makers[word]!] as const)
  const copied = random.chance(0.3)
    ? random.pick(Object.keys(evaluation) as (keyof typeof evaluation)[])
    : null
  const copyName = spell(
    `${random.pick(['other', 'display', 'raw'])} ${random.pick(['value', 'field', 'text'])}`,
  )
  const copies: [string, Maker][] =
    copied === null || !(copied in copyable) ? [] : [[copyName, copyable[copied]!]]
  const all = [...chosen, ...defaults, ...copies].filter(([name]) => isFree(name))
  const [previous, entered, end, key, status] = (
    [
      ['EvalID', 'previous eval id'],
      ['UpdatedAt', 'entered on'],
      ['CreatedAt', 'watch end'],
      ['ID', 'vehicle key'],
      ['WatchStatus', 'search state'],
    ] as const
  ).map(([byDefault, word]) => (random.chance(0.3) ? byDefault : spell(word))) as string[]
  const some = (share: number, named: () => JsonObject) =>
    random.chance(share) ? named : () => ({})
  const { listItem, people, ofCheck, thumbnail, vehicle, copy, word } = {
    listItem: some(0.5, () => ({ [previous!]: 0, [entered!]: 0 })),
    people: some(0.4, () => ({
      [spell('people')]: [2001, 2002].map((id) => ({ [spell('person id')]: id })),
    })),
    ofCheck: some(0.5, () => ({ [end!]: 0 })),
    thumbnail: some(0.3, () => ({ [spell('thumbnail')]: 0 })),
    vehicle: some(0.4, () => ({ [key!]: 0 })),
    copy: some(0.15, () => ({ [spell('same number')]: 0 })),
    word: some(0.2, () => ({ [status!]: 0 })),
  }
  /** The same names with these values. */
  const filled = (named: JsonObject, ...values: readonly unknown[]) =>
    Object.fromEntries(Object.keys(named).map((name, at) => [name, values[at]]))
  const keyOf = ({ vin }: VehicleCheck) => vin.length * 1000 + (vin.codePointAt(16) ?? 0)
  const endOf = ({ searchedAt }: VehicleCheck) => new Date(searchedAt.getTime() + 14 * 86_400_000)
  return {
    encode: drawEncoding(random),
    evaluation: (body, fields, one) => ({
      ...Object.fromEntries(all.map(([name, make]) => [name, make(fields, one)])),
      ...body,
    }),
    listItem: (body, { evalId, createdAt }) => ({
      ...filled(listItem(), evalId - 1, createdAt),
      ...filled(copy(), evalId),
      ...body,
    }),
    list: (body) =>
      Array.isArray(body)
        ? body
        : { [spell('page')]: { [spell('number')]: 1 }, ...people(), ...(body as object) },
    pastChecks: (_, items) =>
      items.map(({ check, body, signedLink }) => ({
        ...filled(ofCheck(), endOf(check)),
        ...filled(vehicle(), keyOf(check)),
        ...filled(thumbnail(), signedLink.replace(/\/pdf\/.*/, '/logo.png')),
        ...filled(copy(), check.id),
        ...body,
      })),
    watchedChecks: (items) =>
      items.map(({ check, body }) => ({
        ...filled(ofCheck(), endOf(check)),
        ...filled(vehicle(), keyOf(check)),
        ...filled(copy(), check.id),
        ...filled(word(), 'watching'),
        ...body,
      })),
    watch: (body) => body,
  }
}

/** How one service writes ids, numbers, times and what it does not know. */
function drawEncoding(random: SeededRandom): Decoys['encode'] {
  const [idsAsText, numbersAsText, unit] = [0.2, 0.15, 0.1].map((share) => random.chance(share))
  const unknown = random.pick([null, null, undefined, '', 'N/A'])
  const time = random.pick(['iso', 'iso', 'iso', 'seconds', 'milliseconds', 'zoneless'])
  return (_, name, value) => {
    if (value === null) return unknown
    if (value instanceof Date) {
      if (time === 'seconds') return Math.floor(value.getTime() / 1000)
      if (time === 'milliseconds') return value.getTime()
      return time === 'zoneless' ? value.toISOString().slice(0, 19).replace('T', ' ') : value
    }
    if (typeof value !== 'number') return value
    if (name === 'odometer' && unit) return `${value.toLocaleString('en')} km`
    const isId = /id$/i.test(name)
    return (isId ? idsAsText : numbersAsText) ? String(value) : value
  }
}

const copyable: Readonly<Record<string, Maker>> = {
  ...{ make: ({ make }) => make, model: ({ model }) => model, year: ({ year }) => year },
  ...{ colour: ({ colour }) => colour, odometer: ({ odometer }) => odometer },
  ...{ registration: ({ registration }) => registration, notes: ({ notes }) => notes },
  ...{
    customerEmail: ({ customer }) => customer.email,
    customerPhone: ({ customer }) => customer.phone,
  },
} satisfies Readonly<Record<string, Maker>>

function defaultName(setting: string): JsonPath {
  return defaultWire.appraisal.evaluation[setting as keyof WireSettings['appraisal']['evaluation']]
}
