import { valueAt } from '../../values/json-path.ts'
import { plural } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { watchPpsr } from '../contract/appraisal/checks.ts'
import { pastOperations } from '../contract/appraisal/past-checks.ts'
import { watchStatuses } from '../contract/appraisal/shapes.ts'
import { type Answer, type Field, type Fields, fieldsOf, type SeenRecord } from './answers.ts'
import { decide, type Finding, finding, proven, shareOf } from './decide.ts'
import { bitsOf, comparable, forms, instantOf } from './forms.ts'
import { listField, listsIn, wholeAnswers } from './learn-lists.ts'
import { pastId, pastLink, pastTime, watchId, watchTime } from './rules.ts'

const documented = ['WatchStatus', 'SearchNumber', 'CertificateNumber']
const pastNames: readonly string[] = Object.values(pastOperations).map(({ name }) => name)
const noWitness = { witnesses: new Map<string, never[]>() }

/** The items of lists of checks; a check that was listed twice counts once, though its link was signed again. */
function itemsOf(answers: readonly Answer[], path: string): SeenRecord[] {
  const records = answers.flatMap((answer) => {
    const items = valueAt(answer.body, path)
    return (Array.isArray(items) ? items : []).map((body: unknown) => {
      const text = JSON.stringify(body).replaceAll(/(https?:[^"?#]*)[?#][^"]*/g, '$1')
      return { key: `${answer.operation} ${text}`, body, answer }
    })
  })
  return [...new Map(records.map((record) => [record.key, record])).values()]
}

/** The settings of the past checks and of `/ppsrwatch`. */
export function learnChecks(
  answers: readonly Answer[],
  { pastCheck, watch }: AppraisalWire,
): Finding[] {
  const past = answers.filter(({ operation }) => pastNames.includes(operation))
  const watched = answers.filter(({ operation }) => operation === watchPpsr.name)
  const pastFields = fieldsOf(itemsOf(past, ''), documented)
  const lists = watchLists(watched)
  const [list] = lists
  const items = itemsOf(watched, lists.length === 1 ? list!.path : ([watch.checks].flat()[0] ?? ''))
  const watchFields = fieldsOf(items, [])
  const pairs = idPairs(pastFields, watchFields)
  return [
    ofPair(
      pastId,
      pastCheck.id,
      pastFields,
      pairs.map(([one]) => one),
      'the ids of /ppsrwatch',
    ),
    timeOf(past, pastFields, pastCheck),
    linkOf(past, pastFields, pastCheck),
    ...statusesOf(watched, lists, watchFields, watch),
    ofPair(
      watchId,
      watch.checkId,
      watchFields,
      pairs.map(([, other]) => other),
      'the ids of the past checks',
    ),
    decide(watchTime, watch.checkedAt, watchFields, noWitness),
  ]
}

/** Fields of both lists that hold the same ids: those of a watch are among the past searches of its vehicle. */
function idPairs(past: Fields, watched: Fields): [Field, Field][] {
  const [ours, theirs] = [past, watched].map(({ fields }) => fields.filter(isId)) as [
    Field[],
    Field[],
  ]
  const askedFor = ({ records }: Fields) =>
    Map.groupBy(records, ({ answer }) => String(answer.request['evalid']))
  const [inPast, inWatch] = [askedFor(past), askedFor(watched)]
  const isShared = (one: Field, other: Field) => {
    let bits = 0
    let several = false
    for (const [evalId, items] of inWatch) {
      const values = items
        .filter(({ key }) => other.values.has(key))
        .map(({ key }) => other.values.get(key))
      const records = (inPast.get(evalId) ?? []).filter(
        ({ answer }) => answer.operation === pastOperations.ppsr.name,
      )
      const known = new Set(records.map(({ key }) => comparable(one.values.get(key))))
      if (records.length === 0) continue
      const numbers = records.flatMap(({ body }) =>
        documented.map((path) => comparable(valueAt(body, path))),
      )
      // An id of the document in the other list is no id of the check.
      if (
        !values.every(
          (value) => known.has(comparable(value)) && !numbers.includes(comparable(value)),
        )
      )
        return false
      // An id of the vehicle would be the same in both.
      several ||= (inPast.get(evalId) ?? []).length > 1
      bits += values.reduce((sum: number, value) => sum + bitsOf(value), 0)
    }
    return several && bits >= 30
  }
  return ours.flatMap((one) =>
    theirs.filter((other) => isShared(one, other)).map((other): [Field, Field] => [one, other]),
  )
}

function isId(field: Field): boolean {
  const values = [...field.values.values()].map(comparable)
  return shareOf(field, 'id') === 1 && new Set(values).size === values.length
}

function ofPair(
  rule: typeof pastId,
  configured: AppraisalWire['pastCheck']['id'],
  all: Fields,
  paired: readonly Field[],
  source: string,
): Finding {
  const [only, ...others] = new Set(paired)
  if (only === undefined) return decide(rule, configured, all, noWitness)
  if (others.length > 0)
    return finding(rule, configured, all, 'ambiguous', 'the same ids at several paths', [
      only,
      ...others,
    ])
  return proven(
    rule,
    configured,
    all,
    only,
    `${plural(only.values.size, 'value')}, among ${source}`,
  )
}

/** The time of a check: the list is in the order of it, newest first. */
function timeOf(
  past: readonly Answer[],
  all: Fields,
  { createdAt }: AppraisalWire['pastCheck'],
): Finding {
  const lists = past.map(({ body }) => (Array.isArray(body) ? (body as unknown[]) : []))
  const rises = ({ path }: Field) =>
    lists.some((items) => {
      const times = items.map((item) => instantOf(valueAt(item, path))?.getTime() ?? Number.NaN)
      return times.some((at, index) => at > times[index - 1]!)
    })
  const isOrdered = lists.some(({ length }) => length > 1)
  const rule = isOrdered ? pastTime : { ...pastTime, isRare: undefined as never }
  return decide(rule, createdAt, all, { ...noWitness, isOther: rises })
}

/** The link of a check: its signature is another one at each read, while the check is the same. */
function linkOf(
  past: readonly Answer[],
  all: Fields,
  { pdfUrl }: AppraisalWire['pastCheck'],
): Finding {
  const links = all.fields.filter((field) => shareOf(field, 'link') === 1)
  const counted = links.map((field) => {
    const seen = new Map<string, Set<unknown>>()
    for (const answer of past)
      for (const { key, body } of itemsOf([answer], '')) {
        if (!seen.has(key)) seen.set(key, new Set())
        seen.get(key)!.add(valueAt(body, field.path))
      }
    return {
      field,
      count: seen
        .values()
        .filter(({ size }) => size > 1)
        .toArray().length,
    }
  })
  const signed = counted.filter(({ count }) => count > 0)
  const [only] = signed
  if (only !== undefined && signed.length === 1)
    return proven(
      pastLink,
      pdfUrl,
      all,
      only.field,
      `${plural(only.count, 'link')} signed again at another read`,
    )
  return decide(pastLink, pdfUrl, all, noWitness)
}

/** A list of `/ppsrwatch` whose items may have one of the documented statuses. */
interface WatchList {
  readonly path: string
  readonly statuses: readonly Field[]
}

function watchLists(watched: readonly Answer[]): WatchList[] {
  const paths = new Set(watched.flatMap(({ body }) => listsIn(body).map(({ path }) => path)))
  return [...paths].flatMap((path) => {
    const { fields } = fieldsOf(itemsOf(watched, path), [])
    const statuses = fields.filter((field) => shareOf(field, 'watchStatus') === 1)
    return statuses.length > 0 ? [{ path, statuses }] : []
  })
}

/** The list, and the status of its items: of all, the documented one of the answer is the most noteworthy. */
function statusesOf(
  watched: readonly Answer[],
  lists: readonly WatchList[],
  items: Fields,
  watch: AppraisalWire['watch'],
): Finding[] {
  const bodies = wholeAnswers(watched)
  const [ofList, ofStatus] = [
    { setting: 'appraisal.watch.checks' },
    { setting: 'appraisal.watch.checkStatus' },
  ]
  const listFields = lists.map(({ path }) => listField(path, watched))
  const [list] = lists
  if (list === undefined || lists.length > 1) {
    const state = list === undefined ? 'unseen' : 'ambiguous'
    const evidence =
      list === undefined ? 'no item with a documented status' : 'several lists with statuses'
    return [
      finding(ofList, watch.checks, bodies, state, evidence, listFields),
      finding(ofStatus, watch.checkStatus, items, state, evidence),
    ]
  }
  const proved = list.statuses.filter(({ path }) => isSummed(watched, list.path, path))
  const [only] = proved
  if (only === undefined || list.statuses.length > 1)
    return [
      finding(
        ofList,
        watch.checks,
        bodies,
        'suggested',
        'the only list with documented statuses',
        listFields,
      ),
      finding(
        ofStatus,
        watch.checkStatus,
        items,
        list.statuses.length > 1 ? 'ambiguous' : 'suggested',
        'documented statuses',
        list.statuses,
      ),
    ]
  const evidence = `the most noteworthy of ${plural(only.values.size, 'item')} is the status of each answer`
  return [
    proven(ofList, watch.checks, bodies, listFields[0]!, evidence),
    proven(ofStatus, watch.checkStatus, items, only, evidence),
  ]
}

function isSummed(watched: readonly Answer[], list: string, path: string): boolean {
  const order: readonly unknown[] = watchStatuses
  const statuses = new Set<unknown>()
  let [equal, all] = [0, 0]
  for (const { body } of watched) {
    const items = valueAt(body, list)
    if (!Array.isArray(items) || items.length === 0) continue
    const found = items
      .map((item: unknown) => valueAt(item, path))
      .filter((word) => forms.watchStatus(word))
    const most = found.toSorted((a, b) => order.indexOf(a) - order.indexOf(b))[0]
    all += 1
    if (most === valueAt(body, 'WatchStatus')) equal += 1
    for (const each of found) statuses.add(each)
  }
  return all >= 3 && equal === all && statuses.size >= 2
}
