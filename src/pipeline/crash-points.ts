/** The named points of a slice at which a kill must lose nothing and double nothing. Tests kill the process at every one. */
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
export type CrashPoint = (typeof crashPoints)[number]
