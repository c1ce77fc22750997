import { maxJsonDepth } from '../../values/json-depth.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { plural } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import {
  type Answer,
  collectFields,
  collectLeaves,
  type Field,
  type Fields,
  type SeenRecord,
} from './answers.ts'
import { decide, type Finding, finding, isProved, provenAs, type Question } from './decide.ts'
import { forms, parseInstant } from './forms.ts'
import type { Witness } from './proof.ts'
import { listId, listUpdate } from './rules.ts'

/** An array of an answer, and its path; the arrays inside of arrays are not settings. */
interface FoundList {
  readonly path: string
  readonly items: readonly unknown[]
}

/** Every array of a body that holds objects or numbers. */
export function listsIn(body: unknown): FoundList[] {
  const found: FoundList[] = []
  const walk = (value: unknown, path: string, left: number) => {
    if (value === null || typeof value !== 'object' || left === 0) return
    if (Array.isArray(value)) {
      const isList =
        value.length > 0 &&
        value.every(
          (item) => typeof item === 'number' || (item !== null && typeof item === 'object'),
        )
      if (isList) found.push({ path, items: value })
    } else
      for (const [key, each] of Object.entries(value))
        if (/^[A-Za-z_][\w-]{0,39}$/.test(key))
          walk(each, path === '' ? key : `${path}.${key}`, left - 1)
  }
  walk(body, '', maxJsonDepth)
  return found
}

/** An id that an item of a list may have, and where it is. */
interface ListedId {
  readonly list: string
  readonly path: string
  readonly id: number
  readonly item: unknown
  readonly answer: Answer
}

function idsIn(answer: Answer): ListedId[] {
  return listsIn(answer.body).flatMap(({ path: list, items }) =>
    items.flatMap((item) =>
      [...collectLeaves(item)]
        .filter(([, value]) => forms.number(value))
        .map(([path, value]) => ({ list, path, id: Number(value), item, answer })),
    ),
  )
}

/** The ids that a list may name, where its settings are not known: by their place, as it is configured or named first. */
export function possibleIds(
  answer: Answer,
  { evalList }: AppraisalWire,
): { readonly place: string; readonly ids: readonly number[] }[] {
  const places = Map.groupBy(idsIn(answer), ({ list, path }) => JSON.stringify([list, path]))
  const rank = ({ list, path }: ListedId) =>
    [evalList.items].flat().includes(list) && [evalList.id].flat().includes(path)
      ? 0
      : listId.isNamed(path)
        ? 1
        : 2
  return [...places]
    .filter(([, ids]) => new Set(ids.map(({ id }) => id)).size === ids.length)
    .toSorted(([, a], [, b]) => rank(a[0]!) - rank(b[0]!))
    .map(([place, ids]) => ({ place, ids: ids.map(({ id }) => id) }))
}

/** Whether an evaluation was created between the bounds of a request, which are exclusive. */
export function isInWindow(
  evaluation: unknown,
  { startdate, enddate }: Answer['request'],
): boolean {
  const at =
    parseInstant(valueAt(evaluation, 'EntryDate')) ?? parseInstant(valueAt(evaluation, 'CreatedAt'))
  if (at === null) return false
  const second = Math.floor(at.getTime() / 1000)
  return second > Number(startdate ?? 0) && second < Number(enddate ?? Number.POSITIVE_INFINITY)
}

/**
 * The settings of `/getevallist`. An id is proved by the evaluations that `/geteval` gave for it, if they were created in the
 * window that was asked for: the id of an earlier evaluation answers too, but is outside of it.
 */
export function learnList(
  answers: readonly Answer[],
  evaluations: readonly SeenRecord[],
  { evalList }: AppraisalWire,
): Finding[] {
  const lists = answers.filter(({ operation }) => operation === 'getevallist')
  const known = new Map(evaluations.map(({ key, body }) => [Number(key), body]))
  const places = Map.groupBy(lists.flatMap(idsIn), ({ list, path }) => JSON.stringify([list, path]))
  const proved = [...places.values()].filter((ids) => isId(ids, known))
  const arrays = [...new Set(proved.map(([first]) => first!.list))].map((path) =>
    listField(path, lists),
  )
  const itemsOf: JsonPath = arrays.length === 1 ? arrays[0]!.path : evalList.items
  const all = collectFields(itemRecords(lists, itemsOf, proved[0]), [])
  const ids = proved
    .filter(([first]) => [itemsOf].flat().includes(first!.list))
    .map(([first]) => all.fields.find(({ path }) => path === first!.path))
    .filter((field) => field !== undefined)
  const confirmed = new Set(
    proved
      .flat()
      .filter(({ id }) => known.has(id))
      .map(({ id }) => id),
  ).size
  const evidence = `${plural(confirmed, 'id')} answered by /geteval, created in the window asked for`
  const ofItems = {
    setting: 'appraisal.evalList.items',
    configured: evalList.items,
    all: wholeAnswers(lists),
  }
  const ofId = { setting: listId.setting, configured: evalList.id, all }
  const items = provenAs(ofItems, arrays, evidence) ?? unproven(ofItems, lists)
  const isEmptyList = ({ body }: Answer) => {
    const found = valueAt(body, evalList.items)
    return Array.isArray(found) && found.length === 0
  }
  const isList =
    lists.some(isEmptyList) ||
    items.candidates.some(({ path }) => [evalList.items].flat().includes(path))
  return [
    // The body itself is there, though it may be no list.
    { ...items, mustChange: items.mustChange || (items.candidates.length > 0 && !isList) },
    (arrays.length === 1 ? provenAs(ofId, ids, evidence) : null) ??
      finding(ofId, arrays.length > 1 ? 'ambiguous' : 'unseen', 'its list is not known', ids),
    learnUpdate(evalList.updatedAt, all, areSame(proved) ? known : new Map()),
  ]
}

/** Times of an evaluation that a list may show as that of the update. */
const otherTimes = ['CreatedAt', 'CompletedAt', 'EntryDate']

/** The update time of an item. It is refuted where all values are another time of the evaluation. */
function learnUpdate(
  configured: JsonPath,
  all: Fields,
  known: ReadonlyMap<number, unknown>,
): Finding {
  const updates = updateWitnesses(known)
  const found = decide(listUpdate, configured, all, {
    witnesses: new Map([['UpdatedAt of /geteval', updates]]),
  })
  const bodies = new Map(all.records.map(({ key, body }) => [key, body]))
  const second = (value: unknown) => Math.floor((parseInstant(value)?.getTime() ?? 0) / 1000)
  const listed = updates
    .map(({ key }) => ({ key, at: second(valueAt(bodies.get(key), configured)) }))
    .filter(({ at }) => at > 0)
  const other = otherTimes.find((path) =>
    listed.every(({ key, at }) => at === second(valueAt(known.get(Number(key)), path))),
  )
  if (isProved(found) || listed.length < 2 || other === undefined) return found
  const evidence = `${listed.length} of ${listed.length} equal to ${other} of /geteval`
  return found.candidates.length === 0
    ? { ...found, state: 'refuted', evidence, mustChange: true }
    : { ...found, mustChange: true }
}

function isId(ids: readonly ListedId[], known: ReadonlyMap<number, unknown>): boolean {
  const answered = ids.filter(({ id }) => known.has(id))
  const inAnswer = Map.groupBy(ids, ({ answer }) => answer).values()
  return (
    new Set(answered.map(({ id }) => id)).size >= 2 &&
    answered.every(({ id, answer }) => isInWindow(known.get(id), answer.request)) &&
    inAnswer.every((each) => new Set(each.map(({ id }) => id)).size === each.length)
  )
}

/** Whether all the ids that an item may have are equal: without that, nothing says which evaluation it is about. */
function areSame(proved: readonly (readonly ListedId[])[]): boolean {
  const idOf = new Map(proved.flat().map(({ item, id }) => [item, id]))
  return proved.flat().every(({ item, id }) => idOf.get(item) === id)
}

function unproven(question: Question, lists: readonly Answer[]): Finding {
  const paths = new Set(lists.flatMap(({ body }) => listsIn(body).map(({ path }) => path)))
  const possible = [...paths].map((path) => listField(path, lists))
  const state = possible.length === 0 ? 'unseen' : possible.length === 1 ? 'suggested' : 'ambiguous'
  return finding(question, state, 'no evaluation of the list was read', possible)
}

/** Whole answers as records, by their position. */
export function wholeAnswers(answers: readonly Answer[]): Fields {
  const records = answers.map((answer, at) => ({ key: String(at), body: answer.body, answer }))
  return { records, fields: [], empty: 0, hidden: 0 }
}

/** The list at a path of whole answers. */
export function listField(path: string, lists: readonly Answer[]): Field {
  const values = lists.map(({ body }, at) => [String(at), valueAt(body, path)] as const)
  return {
    path,
    values: new Map(values.filter(([, list]) => Array.isArray(list) && list.length > 0)),
  }
}

/** The items of the lists, by the id that was proved. */
function itemRecords(
  lists: readonly Answer[],
  items: JsonPath,
  ids: readonly ListedId[] = [],
): SeenRecord[] {
  const idOf = new Map(ids.map(({ item, id }) => [item, String(id)]))
  const records = lists.flatMap((answer) => {
    const list = valueAt(answer.body, items)
    return (Array.isArray(list) ? list : []).map((body: unknown, at) => ({
      key: (typeof body === 'number' ? String(body) : idOf.get(body)) ?? `item ${at}`,
      ...{ body, answer },
    }))
  })
  return [...new Map(records.map((record) => [record.key, record])).values()]
}

/** Update times that are neither the time of creation nor that of completion. */
function updateWitnesses(known: ReadonlyMap<number, unknown>): Witness[] {
  return [...known].flatMap(([id, body]) => {
    const [updated, ...others] = ['UpdatedAt', ...otherTimes].map((path) =>
      parseInstant(valueAt(body, path))?.getTime(),
    )
    const isOwn =
      updated !== undefined &&
      others.every((at) => at === undefined || Math.abs(at - updated) >= 1000)
    return isOwn ? [{ key: String(id), value: valueAt(body, 'UpdatedAt'), unit: String(id) }] : []
  })
}
