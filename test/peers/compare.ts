type Kind = 'text' | 'number' | 'instant'

/** The fields that are compared, by their names in the answer of `/geteval`: every peer stores them. */
export const fields: Readonly<Record<string, Kind>> = {
  VIN: 'text',
  Registration: 'text',
  Make: 'text',
  Model: 'text',
  Year: 'number',
  Odometer: 'number',
  Condition: 'number',
  FinalPrice: 'number',
  Reconditioning: 'number',
  CreatedAt: 'instant',
  CompletedAt: 'instant',
  UpdatedAt: 'instant',
}

/** An evaluation of a rooftop, at the source or as a peer stored it. */
export interface Row {
  readonly dealer: string
  readonly id: number
  readonly document: Readonly<Record<string, unknown>>
}

export interface Difference {
  /** At the source, not stored. */
  readonly missing: number
  /** Stored, and deleted or moved away at the source. */
  readonly extra: number
  /** Stored with another value in one of the fields. */
  readonly stale: number
  /** Rows too many for one evaluation. */
  readonly doubled: number
  /** At most five of each. */
  readonly examples: readonly string[]
}

export function compare(truth: readonly Row[], stored: readonly Row[]): Difference {
  const keyOf = ({ dealer, id }: Row) => `${dealer} ${id}`
  const wanted = new Map(truth.map((row) => [keyOf(row), row]))
  const found = Map.groupBy(stored, keyOf)
  const missing = [...wanted.keys()].filter((key) => !found.has(key))
  const extra = [...found.keys()].filter((key) => !wanted.has(key))
  const doubled = [...found].flatMap(([key, rows]) => rows.slice(1).map(() => key))
  const stale = [...found].flatMap(([key, rows]) => {
    const right = wanted.get(key)
    const name = right && differentField(right, rows.at(-1)!)
    return name === undefined ? [] : [`${key} ${name}`]
  })
  const sets = { missing, extra, stale, doubled }
  return {
    ...{ missing: missing.length, extra: extra.length },
    ...{ stale: stale.length, doubled: doubled.length },
    examples: Object.entries(sets).flatMap(([name, keys]) =>
      keys.slice(0, 5).map((key) => `${name}: ${key}`),
    ),
  }
}

function differentField({ document: a }: Row, { document: b }: Row): string | undefined {
  return Object.entries(fields)
    .filter(([name, kind]) => canonical(a[name], kind) !== canonical(b[name], kind))
    .map(
      ([name, kind]) =>
        `${name} ${canonical(b[name], kind)} instead of ${canonical(a[name], kind)}`,
    )[0]
}

/** Numbers, times and missing values have one spelling, so that the types that a peer chooses make no difference. */
function canonical(value: unknown, kind: Kind): string | null {
  if (value === null || value === undefined || value === '') return null
  if (kind === 'number' && Number.isFinite(Number(value))) return String(Number(value))
  if (kind === 'instant') {
    const text = value instanceof Date ? value.toISOString() : String(value).replace(' ', 'T')
    const ms = Date.parse(/(Z|[+-]\d\d(:?\d\d)?)$/i.test(text) ? text : `${text}Z`)
    if (!Number.isNaN(ms)) return new Date(ms).toISOString()
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
