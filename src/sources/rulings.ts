import type { Operation } from '../contract/operation.ts'
import type { Ruling } from './http-fault.ts'

/** What each documented status of an operation means: the record is left out on 400 and 404, the stream is parked on a
 *  daily throttle or quota, a running report is asked for again. `refused` is about the key: 401 and 403 [A §5.1, §7; V §7]. */
export function rulingsOf(
  { statuses, recordStatuses }: Operation,
  refused: string,
): Readonly<Record<number, Ruling>> {
  const stated = Object.entries(statuses).map(([text, condition]): [number, Ruling] => {
    const status = Number(text)
    const ofRecord = recordStatuses.includes(status)
    return [status, ofRecord ? recordRuling(condition) : rulingFor(status, condition, refused)]
  })
  const keyErrors = [401, 403].map((status): [number, Ruling] => [
    status,
    { verdict: 'abort', advice: refused },
  ])
  return Object.fromEntries([...keyErrors, ...stated])
}

function recordRuling(condition: string): Ruling {
  return { verdict: 'skip', advice: `Documented as: ${condition}.`, again: false }
}

function lowerFirst(text: string): string {
  return `${text[0]!.toLowerCase()}${text.slice(1)}`
}

function rulingFor(status: number, condition: string, refused: string): Ruling {
  const advice = `Documented as: ${condition}.`
  if (status === 401 || status === 403)
    return {
      verdict: 'abort',
      advice: `${advice} If it is the key: ${lowerFirst(refused)}`,
      again: false,
    }
  if (status !== 429) return recordRuling(condition)
  // A throttle that lasts until tomorrow is not waited for within the call.
  return { verdict: 'park', advice, again: false }
}
