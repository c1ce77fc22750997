export type DistanceUnit = 'km' | 'mi'

const unitOf = new Map<string, DistanceUnit>([
  ...[
    ...['km', 'kms', 'k.m', 'kilometer', 'kilometers', 'kilometre', 'kilometres', 'klms', 'klm'],
    ...['kmt', 'كم', 'كيلومتر', 'كيلومترات', 'كلم', 'kilomètres', 'kilómetros', 'kilometros'],
  ].map((word) => [word, 'km'] as const),
  ...['mi', 'mile', 'miles', 'mls', 'smi', 'ميل'].map((word) => [word, 'mi'] as const),
])

/** The unit that a word or cell names; null for none. */
export function findDistanceUnit(text: string): DistanceUnit | null {
  return unitOf.get(text.toLowerCase().replace(/\.$/, '')) ?? null
}

const unitOfLetter = new Map<string, DistanceUnit>([
  ['k', 'km'],
  ['m', 'mi'],
])

/** The same of a cell in a column of units: many systems of dealers write a letter there. */
export function findColumnUnit(text: string): DistanceUnit | null {
  return findDistanceUnit(text) ?? unitOfLetter.get(text.toLowerCase()) ?? null
}

/** A distance without the unit behind its number: `48,000 km`. Other values are returned as they are, without a unit. */
export function splitDistance(value: unknown): {
  readonly number: unknown
  readonly unit: DistanceUnit | null
} {
  const [, number, word] =
    (typeof value === 'string' && /^(.{1,40}?)([^\d\s]{1,12})$/.exec(value.trim())) || []
  const unit = word === undefined ? null : findDistanceUnit(word)
  return unit === null ? { number: value, unit } : { number, unit }
}
