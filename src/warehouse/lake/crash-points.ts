/** The named points of an export at which a kill must leave every version that readers know whole. */
export const lakeCrashPoints = [
  'lake-file-made',
  'lake-file-stored',
  'lake-files-complete',
  'lake-table-committed',
  'lake-export-committed',
  'lake-file-removed',
] as const
