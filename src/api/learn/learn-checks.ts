import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { plural } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { watchPpsr } from '../contract/appraisal/checks.ts'
import { pastOperations } from '../contract/appraisal/past-checks.ts'
import { watchStatuses } from '../contract/appraisal/shapes.ts'
import { type Answer, collectFields, type Field, type Fields, type SeenRecord } from './answers.ts'
import { decide, type Finding, finding, formShare, proven, provenAs } from './decide.ts'
import { comparable, countBits, forms, parseInstant } from './forms.ts'
import { listField, listsIn, wholeAnswers } from './learn-lists.ts'
import { pastId, pastLink, pastTime, watchId, watchTime } from './rules.ts'

const documented = ['WatchStatus', 'SearchNumber', 'CertificateNumber']
const pastNames: readonly string[] = Object.values(pastOperations).map(({ name }) => name)
const noWitness = { witnesses: new Map<string, never[]>() }

/** A link without what is signed. */
function withoutQuery(_: string, value: unknown): unknown {
  return typeof value === 'string' && /^https?:/i.test(value) ? value.split(/[?#]/, 1)[0] : value
}

/** The items of lists of checks; a check that was listed twice counts once, though its link was signed again. */
function listItems(answers: readonly Answer[], path: string): SeenRecord[] {
  const records = answers.flatMap((answer) => {
    const items = valueAt(answer.body, path)
    return (Array.isArray(items) ? items : []).map((body: unknown) => {
      const text = JSON.stringify(body, withoutQuery)
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
  const pastFields = collectFields(listItems(past, ''), documented)
  const lists = watchLists(watched)
  const [list] = lists
  const items = listItems(
    watched,
    lists.length === 1 ? list!.path : ([watch.checks].flat()[0] ?? ''),
  )
  const watchFields = collectFields(items, [])
  const pairs = idPairs(pastFields, watchFields)
  return [
    ofPair(
      pastId,
      pastCheck.id,
      pastFields,
      pairs.map(([one]) => one),
      'the ids of /ppsrwatch',
    ),
    learnTime(past, pastFields, pastCheck),
    learnLink(past, pastFields, pastCheck),
    ...learnStatuses(watched, lists, watchFields, watch),
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
  const byEvaluation = ({ records }: Fields) =>
    Map.groupBy(records, ({ answer }) => String(answer.request['evalid']))
  const [inPast, inWatch] = [byEvaluation(past), byEvaluation(watched)]
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
      // An id of the document in the other list is not an id of the check.
      if (
        !values.every(
          (value) => known.has(comparable(value)) && !numbers.includes(comparable(value)),
        )
      )
        return false
      // An id of the vehicle would be the same in both.
      several ||= (inPast.get(evalId) ?? []).length > 1
      bits += values.reduce((sum: number, value) => sum + countBits(value), 0)
    }
    return several && bits >= 30
  }
  return ours.flatMap((one) =>
    theirs.filter((other) => isShared(one, other)).map((other): [Field, Field] => [one, other]),
  )
}

function isId(field: Field): boolean {
  const values = [...field.values.values()].map(comparable)
  return formShare(field, 'id') === 1 && new Set(values).size === values.length
}

function ofPair(
  rule: typeof pastId,
  configured: JsonPath,
  all: Fields,
  paired: readonly Field[],
  source: string,
): Finding {
  const found = [...new Set(paired)]
  const evidence = `${plural(found[0]?.values.size ?? 0, 'value')}, among ${source}`
  return (
    provenAs({ setting: rule.setting, configured, all }, found, evidence) ??
    decide(rule, configured, all, noWitness)
  )
}

/** The time of a check: the list is in the order of it, newest first. */
function learnTime(
  past: readonly Answer[],
  all: Fields,
  { createdAt }: AppraisalWire['pastCheck'],
): Finding {
  const lists = past.map(({ body }) => (Array.isArray(body) ? (body as unknown[]) : []))
  const rises = ({ path }: Field) =>
    lists.some((items) => {
      const times = items.map((item) => parseInstant(valueAt(item, path))?.getTime() ?? Number.NaN)
      return times.some((at, index) => at > times[index - 1]!)
    })
  const isOrdered = lists.some(({ length }) => length > 1)
  const rule = isOrdered ? pastTime : { ...pastTime, isRare: undefined as never }
  return decide(rule, createdAt, all, { ...noWitness, isOther: rises })
}

/** The link of a check: its signature is another one at each read, while the check is the same. */
function learnLink(
  past: readonly Answer[],
  all: Fields,
  { pdfUrl }: AppraisalWire['pastCheck'],
): Finding {
  const links = all.fields.filter((field) => formShare(field, 'link') === 1)
  const signedIn = (field: Field) => {
    const seen = past
      .flatMap((answer) => listItems([answer], ''))
      .map(({ key, body }) => ({ key, link: valueAt(body, field.path) }))
    const byCheck = Map.groupBy(seen, ({ key }) => key).values()
    return byCheck.filter((reads) => new Set(reads.map(({ link }) => link)).size > 1).toArray()
      .length
  }
  const signed = links.filter((field) => signedIn(field) > 0)
  const [only, ...others] = signed
  if (only === undefined || others.length > 0) return decide(pastLink, pdfUrl, all, noWitness)
  const evidence = `${plural(signedIn(only), 'link')} signed again at another read`
  return proven({ setting: pastLink.setting, configured: pdfUrl, all }, only, evidence)
}

/** A list of `/ppsrwatch` whose items may have one of the documented statuses. */
interface WatchList {
  readonly path: string
  readonly statuses: readonly Field[]
}

function watchLists(watched: readonly Answer[]): WatchList[] {
  const paths = new Set(watched.flatMap(({ body }) => listsIn(body).map(({ path }) => path)))
  return [...paths].flatMap((path) => {
    const { fields } = collectFields(listItems(watched, path), [])
    const statuses = fields.filter((field) => formShare(field, 'watchStatus') === 1)
    return statuses.length > 0 ? [{ path, statuses }] : []
  })
}

/** The list, and the status of its items: of all, the documented one of the answer is the most noteworthy. */
function learnStatuses(
  watched: readonly Answer[],
  lists: readonly WatchList[],
  items: Fields,
  watch: AppraisalWire['watch'],
): Finding[] {
  const ofList = {
    setting: 'appraisal.watch.checks',
    configured: watch.checks,
    all: wholeAnswers(watched),
  }
  const ofStatus = {
    setting: 'appraisal.watch.checkStatus',
    configured: watch.checkStatus,
    all: items,
  }
  const listFields = lists.map(({ path }) => listField(path, watched))
  const [list, ...others] = lists
  if (list === undefined || others.length > 0) {
    const [state, evidence] =
      list === undefined
        ? (['unseen', 'no item with a documented status'] as const)
        : (['ambiguous', 'several lists with statuses'] as const)
    return [finding(ofList, state, evidence, listFields), finding(ofStatus, state, evidence)]
  }
  const { statuses } = list
  const [only] = statuses
  if (statuses.length > 1 || !isSummed(watched, list.path, only!.path))
    return [
      finding(ofList, 'suggested', 'the only list with documented statuses', listFields),
      finding(
        ofStatus,
        statuses.length > 1 ? 'ambiguous' : 'suggested',
        'documented statuses',
        statuses,
      ),
    ]
  const evidence = `the most noteworthy of ${plural(only!.values.size, 'item')} is the status of each answer`
  return [proven(ofList, listFields[0]!, evidence), proven(ofStatus, only!, evidence)]
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
