import { retryRecords } from '../../sync/run/retry-slice.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import { planWindows, readWindows } from '../../sync/windows/windowed-slice.ts'
import { evaluationRecords } from './evaluation-records.ts'
import { readHinted } from './hints.ts'

/** Completed evaluations with their versions, reconditioning, photos, custom fields, user prices and customer. */
export const evaluations: Stream = {
  name: evaluationRecords.name,
  endpoints: [evaluationRecords.endpoint],
  records: evaluationRecords,
  slices: {
    sync: bindSlice(evaluationRecords, readWindows),
    backfill: bindSlice(evaluationRecords, readWindows),
    retry: bindSlice(evaluationRecords, retryRecords),
    hints: bindSlice(evaluationRecords, readHinted),
  },
  plan: async (scope) => await planWindows(evaluationRecords, scope),
}
