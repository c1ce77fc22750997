import type { Operation } from '../contract/operation.ts'
import type { StatusAction } from './http-fault.ts'

/** What each documented status of an operation means: the record is left out on 400 and 404, the stream is parked on a
 *  daily throttle or quota, a running report is asked for again. `refused` is about the key: 401 and 403 [A §5.1, §7; V §7]. */
export function statusActionsOf(
  { statuses, recordStatuses }: Operation,
  refused: string,
): Readonly<Record<number, StatusAction>> {
  const stated = Object.entries(statuses).map(([text, condition]): [number, StatusAction] => {
    const status = Number(text)
    const ofRecord = recordStatuses.includes(status)
    return [status, ofRecord ? recordRuling(condition) : rulingFor(status, condition, refused)]
  })
  const keyErrors = [401, 403].map((status): [number, StatusAction] => [
    status,
    { errorAction: 'abort', advice: refused },
  ])
  return Object.fromEntries([...keyErrors, ...stated])
}

function recordRuling(condition: string): StatusAction {
  return { errorAction: 'skip', advice: `Documented as: ${condition}.`, mayRetry: false }
}

function lowerFirst(text: string): string {
  return `${text[0]!.toLowerCase()}${text.slice(1)}`
}

function rulingFor(status: number, condition: string, refused: string): StatusAction {
  const advice = `Documented as: ${condition}.`
  if (status === 401 || status === 403)
    return {
      errorAction: 'abort',
      advice: `${advice} If it is the key: ${lowerFirst(refused)}`,
      mayRetry: false,
    }
  if (status !== 429) return recordRuling(condition)
  // A throttle that lasts until tomorrow is not waited for within the call.
  return { errorAction: 'park', advice, mayRetry: false }
}
