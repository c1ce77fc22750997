/** The named points of a drop folder at which a kill must neither lose a file nor import one again. */
export const inboxCrashPoints = [
  'inbox-recorded',
  'inbox-taken',
  'list-hashed',
  'list-read',
  'inbox-imported',
  'inbox-decided',
  'inbox-offered',
  'inbox-reported',
  'inbox-moved',
] as const

/** Those that only a refused file of a warehouse with a console passes. */
export const offerCrashPoints = ['offer-stored'] as const
