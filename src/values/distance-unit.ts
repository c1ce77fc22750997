export type DistanceUnit = 'km' | 'mi'

const unitOf = new Map<string, DistanceUnit>([
  ...[
    ...['km', 'kms', 'k.m', 'kilometer', 'kilometers', 'kilometre', 'kilometres', 'klms', 'klm'],
    ...['kmt', 'كم', 'كيلومتر', 'كلم'],
  ].map((word) => [word, 'km'] as const),
  ...['mi', 'mile', 'miles', 'mls', 'smi', 'ميل'].map((word) => [word, 'mi'] as const),
])

/** The unit that a word or cell names; null for none. */
export function findDistanceUnit(text: string): DistanceUnit | null {
  return unitOf.get(text.toLowerCase().replace(/\.$/, '')) ?? null
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
