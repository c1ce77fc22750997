import { utcText } from '../../values/instant.ts'
import type { BilledCall, Spend } from '../billing/spend.ts'

/** The calls of a budget today (user, vehicle, check), and the calls of earlier days whose outcome is unknown. */
export function spendLines(budget: string, spend: Spend): string[] {
  const { allowed, used, unknown, calls, open } = spend
  const doubt = unknown === 0 ? '' : `, ${unknown} of them with an unknown outcome`
  const earlier = `Calls of earlier days on budget.${budget} that may have been billed:`
  return [
    `Spent today (UTC) of budget.${budget}: ${used} of ${allowed} calls${doubt}`,
    ...calls.map(callLine),
    ...(open.length === 0 ? [] : [earlier]),
    ...open.map(callLine),
  ]
}

function callLine(call: BilledCall): string {
  const { at, operation, state, subject, vin, by, check } = call
  const about = [subject, vin === subject ? null : vin].filter((text) => text !== null).join(' ')
  const outcome = state === 'reserved' ? 'outcome unknown' : state
  return `  ${utcText(at)}  ${operation} ${about}  ${outcome}, by ${by}${check === null ? '' : `, check ${check}`}`
}
