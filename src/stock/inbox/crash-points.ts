/** The named points of a drop folder at which a kill must neither lose a file nor import one again. */
export const inboxCrashPoints = [
  'inbox-recorded',
  'inbox-taken',
  'inbox-imported',
  'inbox-decided',
  'inbox-reported',
  'inbox-moved',
] as const
