import { type SliceEnded, sliceEnded } from '../telemetry.ts'
import { type Counts, zeroCounts } from './run-ledger.ts'

/** Tells whoever listens in this process how a slice ended; `counts` only where it was committed. */
export function reportSlice(
  stream: string,
  outcome: SliceEnded['outcome'],
  counts: Partial<Counts> = {},
): void {
  sliceEnded.publish({ stream, outcome, rows: { ...zeroCounts, ...counts } })
}
