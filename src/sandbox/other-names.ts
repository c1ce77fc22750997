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

/** Fields beside the documented ones and the named ones: each is easily taken for one of them. */
export interface Decoys {
  evaluation(fields: EvaluationFields, evaluation: Evaluation): JsonObject
  listItem(evaluation: Evaluation): JsonObject
  /** Beside the list of evaluations, where that is not the whole answer. */
  envelope(): JsonObject
  check(check: VehicleCheck, signedLink: string): JsonObject
  watched(check: VehicleCheck): JsonObject
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
  return { wire, decoys: decoysOf(wire, random, spell) }
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
  title: ({ year, make, model }) => [year, make, model].filter(Boolean).join(' '),
}
const asDefaults: Readonly<Record<string, string>> = {
  ...{ year: 'build year', customerEmail: 'second owner email', customerPhone: 'dealer phone' },
  ...{ odometer: 'miles', colour: 'interior colour', condition: 'tyres', notes: 'internal notes' },
  ...{
    customerName: 'second owner name',
    customerState: 'dealer state',
    model: 'series',
    variant: 'title',
  },
  ...{ customerAddress: 'dealer address', dealerId: 'group id', registration: 'stock no' },
}

function decoysOf(wire: WireSettings, random: SeededRandom, spell: Spelling): Decoys {
  const { evaluation } = wire.appraisal
  const used = new Set(Object.values(evaluation).map((path) => firstCandidate(path).toLowerCase()))
  const isFree = (name: string) => !used.has(name.toLowerCase())
  const chosen = Object.entries(makers)
    .filter(() => random.chance(0.35))
    .map(([word, make]) => [spell(word), make] as const)
  const defaults = Object.entries(asDefaults)
    .filter(() => random.chance(0.15))
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
  const has = {
    previous: random.chance(0.4),
    people: random.chance(0.4),
    end: random.chance(0.5),
    thumbnail: random.chance(0.3),
    vehicle: random.chance(0.4),
  }
  return {
    evaluation: (fields, one) =>
      Object.fromEntries(all.map(([name, make]) => [name, make(fields, one)])),
    listItem: ({ evalId, createdAt }) => ({
      ...(has.previous
        ? { [spell('previous eval id')]: evalId - 1, [spell('entered on')]: createdAt }
        : {}),
    }),
    envelope: () => ({
      [spell('page')]: { [spell('number')]: 1 },
      ...(has.people
        ? { [spell('people')]: [{ [spell('person id')]: 2001 }, { [spell('person id')]: 2002 }] }
        : {}),
    }),
    check: ({ searchedAt, vin }, link) => ({
      ...(has.end
        ? { [spell('watch end')]: new Date(searchedAt.getTime() + 14 * 86_400_000) }
        : {}),
      ...(has.vehicle
        ? { [spell('vehicle key')]: vin.length * 1000 + (vin.codePointAt(16) ?? 0) }
        : {}),
      ...(has.thumbnail ? { [spell('thumbnail')]: link.replace(/\/pdf\/.*/, '/logo.png') } : {}),
    }),
    watched: ({ searchedAt, vin }) => ({
      ...(has.end ? { [spell('started on')]: searchedAt } : {}),
      ...(has.vehicle
        ? { [spell('vehicle key')]: vin.length * 1000 + (vin.codePointAt(16) ?? 0) }
        : {}),
    }),
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
