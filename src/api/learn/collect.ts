import { valueAt } from '../../values/json-path.ts'
import { daySeconds } from '../../values/window.ts'
import type { WireSettings } from '../../values/wire.ts'
import { listPastCarHistory, listPastPpsr, watchPpsr } from '../contract/appraisal/checks.ts'
import { getEvaluation, listEvaluations, listUsers } from '../contract/appraisal/evaluations.ts'
import { documentedEvaluationPaths } from '../contract/appraisal/shapes.ts'
import type { FieldValues, Operation, Region } from '../contract/operation.ts'
import { type Answer, collectFields } from './answers.ts'
import { type Form, forms } from './forms.ts'
import { evaluationsIn } from './learn.ts'
import { isInWindow, possibleIds } from './learn-lists.ts'
import { evaluationRules } from './rules.ts'

/** A rooftop whose key asks. */
export interface KeyedRooftop {
  readonly uid: string
  readonly dealerId: number | null
  readonly keyName: string
  readonly region: Region
}

/** Sends one free, documented read, and returns the parsed body: `[]` where the service refused what was asked for; undefined: no answer. */
export type Ask = (
  operation: Operation<'read'>,
  fields: FieldValues,
  rooftop: KeyedRooftop,
) => Promise<unknown>

/** A kind of call of `wire check`: how often at most, and what for. */
export interface PlannedCalls {
  readonly operation: Operation<'read'>
  readonly most: number
  readonly why: string
}

/** Everything that `wire check` may call: reads alone, by the type of their declarations. */
export const plannedCalls: readonly PlannedCalls[] = [
  { operation: listUsers, most: 2, why: 'who belongs to the staff' },
  { operation: listEvaluations, most: 7, why: 'lists of 30 and 90 days, one of another dealerId' },
  { operation: getEvaluation, most: 9, why: 'evaluations by EvalID' },
  { operation: getEvaluation, most: 5, why: 'the same by plate and state, and by a wrong state' },
  { operation: listPastPpsr, most: 3, why: 'past checks, one twice for its link' },
  { operation: listPastCarHistory, most: 1, why: 'past reports' },
  { operation: watchPpsr, most: 3, why: 'what is watched' },
]
const maxRooftops = 3

/** Asks what `plannedCalls` states, never more. `now`: the source's time in Unix seconds, known once it has answered. */
export async function collectAnswers(
  ask: Ask,
  rooftops: readonly KeyedRooftop[],
  wire: WireSettings,
  now: () => number,
): Promise<Answer[]> {
  const answers: Answer[] = []
  const left = plannedCalls.map(({ most }) => most)
  const send = async (
    plan: number,
    fields: FieldValues,
    rooftop: KeyedRooftop,
  ): Promise<Answer | null> => {
    const { operation } = plannedCalls[plan]!
    if (left[plan]! <= 0) return null
    left[plan]! -= 1
    const body = await ask(operation, fields, rooftop)
    if (body === undefined) return null
    const { uid, dealerId } = rooftop
    const answer = {
      operation: operation.name,
      request: fields,
      body,
      rooftop: { uid, dealerId },
    }
    answers.push(answer)
    return answer
  }
  const ordered = spread(rooftops)
  const share = Math.max(2, Math.floor(plannedCalls[2]!.most / ordered.length))
  let known: string | null = null
  for (const rooftop of ordered) {
    const isFirstOfKey = ordered.find(({ keyName }) => keyName === rooftop.keyName) === rooftop
    if (isFirstOfKey) await send(0, { includeInactive: true }, rooftop)
    const lists = await requestLists(send, rooftop, now())
    known = await requestEvaluations(send, rooftop, lists, { wire, share, known })
  }
  const [first] = ordered
  if (first?.dealerId != null)
    await send(
      1,
      { startdate: now() - 30 * daySeconds, dealerId: `[${first.dealerId + 1}]` },
      first,
    )
  for (const rooftop of ordered) await requestPlates(send, rooftop, answers, wire)
  for (const rooftop of ordered.filter(({ region }) => region === 'AU'))
    await requestChecks(send, rooftop, answers)
  return answers
}

type Send = (plan: number, fields: FieldValues, rooftop: KeyedRooftop) => Promise<Answer | null>

/** Rooftops of different keys before others of the same key. */
function spread(rooftops: readonly KeyedRooftop[]): KeyedRooftop[] {
  const keys = [...Map.groupBy(rooftops, ({ keyName }) => keyName).values()]
  const rounds = Math.max(0, ...keys.map(({ length }) => length))
  return Array.from({ length: rounds }, (_, at) => keys.flatMap((of) => of[at] ?? []))
    .flat()
    .slice(0, maxRooftops)
}

async function requestLists(send: Send, rooftop: KeyedRooftop, now: number): Promise<Answer[]> {
  const found: Answer[] = []
  for (const days of [30, 90]) {
    const dealer = rooftop.dealerId === null ? {} : { dealerId: `[${rooftop.dealerId}]` }
    const answer = await send(1, { startdate: now - days * daySeconds, ...dealer }, rooftop)
    if (answer === null) break
    found.push(answer)
    if (JSON.stringify(answer.body).length > 300) break
  }
  return found
}

/** Reads evaluations spread over a list, by the first place of an id that answers with the id that was asked for. Returns that place;
 *  `known`: the one of another list. */
async function requestEvaluations(
  send: Send,
  rooftop: KeyedRooftop,
  lists: readonly Answer[],
  {
    wire,
    share,
    known,
  }: { readonly wire: WireSettings; readonly share: number; readonly known: string | null },
): Promise<string | null> {
  const places = lists.flatMap((list) =>
    possibleIds(list, wire.appraisal).map((one) => ({ ...one, list })),
  )
  let sent = 0
  for (const { place, ids, list } of places.toSorted(
    (a, b) => Number(b.place === known) - Number(a.place === known),
  )) {
    let isFound = false
    for (
      let at = 0;
      at < ids.length && sent < share;
      at += Math.max(1, Math.floor(ids.length / share))
    ) {
      const id = ids[at]!
      sent += 1
      const answer = await send(2, { evalid: id }, rooftop)
      if (answer === null) return known
      const read = evaluationsIn([answer]).find(({ key }) => key === String(id))
      // The id of an earlier evaluation answers as well.
      isFound ||= read !== undefined && isInWindow(read.body, list.request)
      if (!isFound) break
    }
    if (isFound) return place
  }
  return known
}

/** Paths that may hold a value of this form: as configured or named first. */
function possiblePaths(
  answers: readonly Answer[],
  setting: 'registration' | 'registrationState',
  wire: WireSettings,
): string[] {
  const rule = evaluationRules.find((one) => one.setting === `appraisal.evaluation.${setting}`)!
  const tops = documentedEvaluationPaths.map((path) => path.split(/[.[]/)[0]!)
  const { fields } = collectFields(evaluationsIn(answers), tops)
  const fits = fields.filter(({ values }) =>
    values.values().some((value) => forms[rule.form as Form](value)),
  )
  const configured = [wire.appraisal.evaluation[setting]].flat()
  const rank = (path: string) => (configured.includes(path) ? 0 : rule.isNamed(path) ? 1 : 2)
  return fits.map(({ path }) => path).toSorted((a, b) => rank(a) - rank(b))
}

/** Two evaluations by their plates, with a right and a wrong state: the one of each is the control of the other. */
async function requestPlates(
  send: Send,
  rooftop: KeyedRooftop,
  answers: readonly Answer[],
  wire: WireSettings,
): Promise<void> {
  const evaluations = evaluationsIn(answers).filter(
    ({ answer }) => answer.rooftop?.uid === rooftop.uid,
  )
  const [plates] = possiblePaths(answers, 'registration', wire)
  const states = possiblePaths(answers, 'registrationState', wire).slice(0, 3)
  if (plates === undefined) return
  const statesOf = (body: unknown) =>
    [...new Set(states.map((path) => valueAt(body, path)).filter(forms.state))] as string[]
  // Where several paths have different states, the answer shows which is that of the plate.
  const usable = evaluations
    .filter(({ body }) => forms.plate(valueAt(body, plates)))
    .toSorted((a, b) => statesOf(b.body).length - statesOf(a.body).length)
  for (const { key, body } of usable.slice(0, 2)) {
    const reg = String(valueAt(body, plates))
    const found = await send(3, { reg }, rooftop)
    if (found === null || !evaluationsIn([found]).some((one) => one.key === key)) continue
    const [state, other = 'ZZ'] = statesOf(body)
    if (state === undefined) continue
    await send(3, { reg, state }, rooftop)
    await send(3, { reg, state: other }, rooftop)
  }
}

async function requestChecks(
  send: Send,
  rooftop: KeyedRooftop,
  answers: readonly Answer[],
): Promise<void> {
  const evaluations = evaluationsIn(answers).filter(
    ({ body, answer }) =>
      answer.rooftop?.uid === rooftop.uid && String(valueAt(body, 'VIN') ?? '').length === 17,
  )
  for (const { key } of evaluations) {
    const evalid = Number(key)
    const past = await send(4, { evalid }, rooftop)
    if (past === null) return
    if (!Array.isArray(past.body) || past.body.length === 0) continue
    await send(6, { evalid }, rooftop)
    await send(5, { evalid }, rooftop)
    await send(4, { evalid }, rooftop)
  }
}
