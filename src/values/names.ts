// Names that the help and the completion show too: to import what they name would take as long as to run it.

/** Every stream, in the order in which `sync` runs them. A test compares them with the streams. */
export const streamNames = [
  ...(['users', 'evaluations', 'pricing', 'vehicle-checks', 'stock-prices'] as const),
]

/** How a run can be. abandoned: its process died and another run took its work over. paused: no new slice starts until another run resumes it. */
export const runStates = [
  ...(['running', 'ok', 'partial', 'failed', 'stopped', 'abandoned', 'paused'] as const),
]
/** One of `runStates`. */
export type RunState = (typeof runStates)[number]
