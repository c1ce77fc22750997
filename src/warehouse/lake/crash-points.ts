/** The named points of an export at which a kill must leave the last complete state valid. */
export const lakeCrashPoints = [
  'lake-file-made',
  'lake-file-stored',
  'lake-progress-stored',
  'lake-files-complete',
  'lake-manifest-stored',
  'lake-file-removed',
] as const
