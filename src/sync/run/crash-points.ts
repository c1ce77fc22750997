/** The named points at which a kill must neither lose nor duplicate data. Tests kill the process at each of them. */
export const crashPoints = [
  'run-started',
  'slice-claimed',
  'window-listed',
  'record-read',
  'before-commit',
  'rows-written',
  'ledger-written',
  'committed',
  'run-finished',
] as const
/** A point where a test may kill the process. */
export type CrashPoint = (typeof crashPoints)[number]
