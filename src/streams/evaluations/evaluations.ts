import { retryRecords } from '../../sync/run/retry-slice.ts'
import { type Stream, sliceOf } from '../../sync/run/stream.ts'
import { planWindows, readWindows } from '../../sync/windows/windowed-slice.ts'
import { evaluationRecords } from './evaluation-records.ts'
import { readHinted } from './hints.ts'

/** Completed evaluations with their versions, reconditioning, photos, custom fields, user prices and customer. */
export const evaluations: Stream = {
  name: evaluationRecords.name,
  endpoints: [evaluationRecords.endpoint],
  records: evaluationRecords,
  slices: {
    sync: sliceOf(evaluationRecords, readWindows),
    backfill: sliceOf(evaluationRecords, readWindows),
    retry: sliceOf(evaluationRecords, retryRecords),
    hints: sliceOf(evaluationRecords, readHinted),
  },
  plan: async (scope) => await planWindows(evaluationRecords, scope),
}
