import { type Config, makeConfig } from '#src/app/config/read.ts'

/** The source, warehouse and rooftops of a benchmark run. */
export interface BenchConfig {
  readonly warehouse: string
  readonly source: string
  readonly rooftops: number
  /** Where the sync begins; a date. */
  readonly start: string
  readonly concurrency: number
  /** A key for each rooftop; default: one for all. */
  readonly ownKeys?: boolean
}

/** The config of the benchmark's rooftops. */
export function configOf(config: BenchConfig): Config {
  const { warehouse, source, start, concurrency, ownKeys = false } = config
  const numbers = Array.from({ length: config.rooftops }, (_, at) => at + 1)
  const keyOf = (number: number) => (ownKeys ? `bench-${number}` : 'bench')
  const keyed = { kind: 'partner', region: 'AU' } as const
  return makeConfig(
    {
      appraisal: { baseUrl: source },
      warehouse: { url: warehouse },
      keys: Object.fromEntries(
        numbers.map((number) => [keyOf(number), { value: keyOf(number), ...keyed }]),
      ),
      rooftops: numbers.map((number) => ({
        ...{ uid: `rooftop-${number}`, name: `Rooftop ${number}`, dealerId: number },
        ...{ key: keyOf(number), timezone: 'Australia/Sydney', currency: 'AUD' },
      })),
      sync: { start, rereadBudget: 10_000_000 },
      http: { concurrency, maxRetries: 2 },
    },
    '.',
  )
}
