/** The six GCC countries with their currencies [V §1]. */
export const gccCurrencies: Readonly<Record<string, string>> = {
  AE: 'AED',
  SA: 'SAR',
  QA: 'QAR',
  KW: 'KWD',
  BH: 'BHD',
  OM: 'OMR',
}

/** The countries of each region of keys with their currencies, and their territories that have time zones of their own.
 *  GCC keys serve the rest of MENA too [A §1]. */
const currencies = {
  AU: { AU: 'AUD', NF: 'AUD', CX: 'AUD', CC: 'AUD' },
  US: { US: 'USD', PR: 'USD', VI: 'USD', GU: 'USD', MP: 'USD', AS: 'USD' },
  GCC: {
    ...gccCurrencies,
    ...{ JO: 'JOD', LB: 'LBP', IQ: 'IQD', EG: 'EGP', YE: 'YER' },
    ...{ LY: 'LYD', TN: 'TND', DZ: 'DZD', MA: 'MAD' },
  },
} satisfies Readonly<Record<string, Readonly<Record<string, string>>>>

type Region = keyof typeof currencies

/** The country of the region whose clocks the time zone is for; null: none of them. */
export function countryOfZone(region: Region, timeZone: string): string | null {
  const wanted = canonicalZone(timeZone)
  return Object.keys(currencies[region]).find((country) => findZones(country).has(wanted)) ?? null
}

/** The currencies that are used in a country of the region, or, with null, in any of them. */
export function findCurrencies(region: Region, country: string | null): ReadonlySet<string> {
  const ofCountries: Readonly<Record<string, string>> = currencies[region]
  return new Set(country === null ? Object.values(ofCountries) : [ofCountries[country]!])
}

const zones = new Map<string, ReadonlySet<string>>()

function findZones(country: string): ReadonlySet<string> {
  const known = zones.get(country)
  if (known !== undefined) return known
  // A method since Node 24, a property in Node 22; TypeScript knows neither.
  const locale = new Intl.Locale(`und-${country}`) as unknown as {
    readonly getTimeZones?: () => string[]
    readonly timeZones?: string[]
  }
  const found = locale.getTimeZones?.() ?? locale.timeZones ?? []
  const names = new Set(found.map(canonicalZone))
  zones.set(country, names)
  return names
}

/** The name that Intl gives a zone with several, e.g. US/Eastern. */
function canonicalZone(name: string): string {
  return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
}
