import type { LoadOutcome } from './stream.ts'

/** The observation that is current: what the next answer is held against. */
export interface Standing {
  readonly observedAt: Date
  readonly confirmedAt: Date
  readonly valueHash: Buffer
}

/** Whether an answer says something new, and when the observation that it makes or confirms was made. */
export function observationOf(
  at: Date,
  valueHash: Buffer,
  current: Standing | undefined,
): { readonly outcome: LoadOutcome; readonly observedAt: Date } {
  if (current === undefined) return { outcome: 'inserted', observedAt: at }
  if (current.valueHash.equals(valueHash))
    return { outcome: 'unchanged', observedAt: current.observedAt }
  // Later than all that it follows, also when the source's clock was put back or told the same second.
  const observedAt = new Date(Math.max(at.getTime(), current.confirmedAt.getTime() + 1))
  return { outcome: 'updated', observedAt }
}
