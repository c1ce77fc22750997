import type { Readable } from 'node:stream'
import type { RooftopConfig } from '../../config/read.ts'
import type { Warehouse } from '../../warehouse.ts'

/** The options of one import: one list of one rooftop. */
export interface ImportRequest {
  /** Path of the file, or the input's name for messages. */
  readonly file: string
  /** Read to its end instead of the file. */
  readonly input?: Readable
  /** The user's choice; else detected. */
  readonly encoding?: string
  readonly delimiter?: string
  readonly rooftop: RooftopConfig
  /** `snapshot`: the file names the whole stock; `delta`: only what is new or has changed. */
  readonly mode: 'snapshot' | 'delta'
  /** Reads, types and compares, and writes nothing. */
  readonly dryRun: boolean
  /** `--map` arguments as typed. */
  readonly maps: readonly string[]
  /** File for rejected rows; null: only the warehouse stores them. */
  readonly rejects: string | null
  readonly allowMassRemoval: boolean
  readonly allowMassChange?: boolean
  readonly importedBy: string
  /** The time of this process, like the times of runs. */
  readonly now: Date
}

/** What an import uses of the program. */
export interface ImportServices {
  readonly warehouse: Pick<Warehouse, 'pool' | 'config'>
  readonly signal: AbortSignal
  /** Called at named points, where tests kill the process. */
  readonly crashPoint?: (name: string) => void
}

/** The day at the rooftop, `YYYY-MM-DD`. */
export function todayAt({ rooftop, now }: ImportRequest): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: rooftop.timezone }).format(now)
}
