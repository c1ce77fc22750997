import type { Readable } from 'node:stream'

/** What other parts of the program do for the console, which may not import them; `serve` fills it in. */
export interface Doors {
  /** Signs the links of a rooftop again that are about to expire; null: of every rooftop. Gives the run that does it. */
  readonly refreshLinks: (rooftopUid: string | null) => Promise<number | null>
  /** Starts a job of the schedule now. */
  readonly runJob: (name: string) => Promise<number | null>
  /** A view of the marts as a file. */
  readonly exportView: (view: string, format: 'csv' | 'parquet') => Promise<Readable>
}
