import { allStreams } from '../../../streams/all.ts'
import type { QuarantineFilter } from '../../../sync/explain/quarantine-list.ts'
import { planRetry } from '../../../sync/records/retry-quarantined.ts'
import { type ActionDone, ActionRefused, type ActionRequest, type PageAction } from '../page.ts'
import { assertSameCount, startRunForWorkers } from '../start-run.ts'

/** Leaves the records of a filter to the workers, who read them again; refused when they are many more or fewer than were shown. */
export async function retryRecords(
  request: ActionRequest,
  filter: QuarantineFilter,
): Promise<ActionDone> {
  const { db, config, form } = request
  const planned = await planRetry(db, config, allStreams, filter)
  if (planned === null)
    throw new ActionRefused(
      'None of these records is left to retry: they fit by now, or they cannot be read again.',
    )
  assertSameCount(form['count'], planned.records, 'records can be retried')
  return await startRunForWorkers(request, planned.request)
}

/** Retries what the filter of the list finds. */
export const retryAction: PageAction = {
  roles: ['engineer'],
  run: async (request) => {
    const { stream = '', rooftop = '', cause = '' } = request.form
    return await retryRecords(request, {
      ...(stream === '' ? {} : { stream }),
      ...(rooftop === '' ? {} : { rooftop }),
      ...(cause === '' ? {} : { cause }),
    })
  },
}
