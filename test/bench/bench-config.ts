import { type Config, makeConfig } from '#src/config.ts'

/** What a run of the benchmark works on. */
export interface BenchConfig {
  readonly warehouse: string
  readonly source: string
  readonly rooftops: number
  /** Where the sync begins; a date. */
  readonly start: string
  readonly concurrency: number
}

/** The config of the benchmark's rooftops, which share a key. */
export function configOf({ warehouse, source, rooftops, start, concurrency }: BenchConfig): Config {
  return makeConfig(
    {
      appraisal: { baseUrl: source },
      warehouse: { url: warehouse },
      keys: { bench: { value: 'bench', kind: 'partner', region: 'AU' } },
      rooftops: Array.from({ length: rooftops }, (_, at) => ({
        ...{ uid: `rooftop-${at + 1}`, name: `Rooftop ${at + 1}`, dealerId: at + 1, key: 'bench' },
        ...{ timezone: 'Australia/Sydney', currency: 'AUD' },
      })),
      sync: { start, rereadBudget: 10_000_000 },
      http: { concurrency, maxRetries: 2 },
    },
    '.',
  )
}
