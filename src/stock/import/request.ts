import type { Readable } from 'node:stream'
import type { RooftopConfig } from '../../config.ts'
import type { Warehouse } from '../../warehouse.ts'

/** What a person asks for: one list of one rooftop. */
export interface ImportRequest {
  /** Path of the file, or what messages call the input. */
  readonly file: string
  /** Is read to its end instead of the file. */
  readonly input?: Readable
  /** What the user says of the file; else it is found. */
  readonly encoding?: string
  readonly delimiter?: string
  readonly rooftop: RooftopConfig
  /** `snapshot`: the file names the whole stock; `delta`: only what is new or has changed. */
  readonly mode: 'snapshot' | 'delta'
  /** Reads, types and compares, and writes nothing. */
  readonly dryRun: boolean
  /** `--map` arguments as typed. */
  readonly maps: readonly string[]
  /** Where rejected rows go; null: nowhere but the warehouse. */
  readonly rejects: string | null
  readonly allowMassRemoval: boolean
  readonly allowMassChange?: boolean
  readonly importedBy: string
  /** Ours, as run times are. */
  readonly now: Date
}

export interface ImportServices {
  readonly warehouse: Pick<Warehouse, 'pool' | 'config'>
  readonly signal: AbortSignal
  /** Tests kill the process there. */
  readonly crashPoint?: (name: string) => void
}

/** The day at the rooftop, `YYYY-MM-DD`. */
export function todayAt({ rooftop, now }: ImportRequest): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: rooftop.timezone }).format(now)
}
