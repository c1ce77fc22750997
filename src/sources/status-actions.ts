import type { Operation } from '../contract/operation.ts'
import type { StatusAction } from './http-fault.ts'

/** What to do about each documented status of an operation: skip the record on 400 and 404, park the stream on a daily throttle
 *  or quota. `refused` is the advice on 401 and 403, which are about the key [A §5.1, §7; V §7]. */
export function statusActionsOf(
  { statuses, recordStatuses }: Operation,
  refused: string,
): Readonly<Record<number, StatusAction>> {
  const documented = Object.entries(statuses).map(([text, condition]): [number, StatusAction] => {
    const status = Number(text)
    const ofRecord = recordStatuses.includes(status)
    return [status, ofRecord ? recordAction(condition) : actionFor(status, condition, refused)]
  })
  const keyErrors = [401, 403].map((status): [number, StatusAction] => [
    status,
    { errorAction: 'abort', advice: refused },
  ])
  return Object.fromEntries([...keyErrors, ...documented])
}

function recordAction(condition: string): StatusAction {
  return { errorAction: 'skip', advice: `Documented as: ${condition}.`, mayRetry: false }
}

function lowerFirst(text: string): string {
  return `${text[0]!.toLowerCase()}${text.slice(1)}`
}

function actionFor(status: number, condition: string, refused: string): StatusAction {
  const advice = `Documented as: ${condition}.`
  if (status === 401 || status === 403)
    return {
      errorAction: 'abort',
      advice: `${advice} If it is the key: ${lowerFirst(refused)}`,
      mayRetry: false,
    }
  if (status !== 429) return recordAction(condition)
  // A daily quota is not waited for within the call. A 429 with a Retry-After of up to 60 s is (`#classify` in http.ts).
  return { errorAction: 'park', advice, mayRetry: false }
}
