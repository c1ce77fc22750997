import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { listEvaluations, listUsers } from '../../api/contract/appraisal/evaluations.ts'
import { type CheckKind, pastOperations } from '../../api/contract/appraisal/past-checks.ts'
import { documentedEvaluationPaths } from '../../api/contract/appraisal/shapes.ts'
import { type Answer, collectLeaves, isEmpty } from '../../api/learn/answers.ts'
import { equalValues, type Finding, isProved } from '../../api/learn/decide.ts'
import { comparable, forms } from '../../api/learn/forms.ts'
import { evaluationsIn, learn } from '../../api/learn/learn.ts'
import type { ListedCheck, OtherNames } from '../../sandbox/other-names.ts'
import { setAtPath } from '../../sandbox/render.ts'
import { seededRandom } from '../../sandbox/seeded-random.ts'
import { valueAt, valueAtKey } from '../../values/json-path.ts'
import { type WireSettings, wireSettings } from '../../values/wire.ts'

/** A service that answers as the recorded one, with data of its own. */
interface RecordedNames extends OtherNames {
  /** Of the examined settings, those that hold data of the sandbox. */
  readonly settings: readonly string[]
  readonly examined: number
}

/**
 * The names of a recorded service. A recorded record is the base of each answer: documented fields, and settings whose path the recording
 * proves, get values of the sandbox. All other fields stay, and with them what is easily confused with a setting, so that the learner finds in
 * such answers what it finds in the recording.
 */
export function recordedNames(answers: readonly Answer[], wire: WireSettings): RecordedNames {
  const findings = learn(answers, wire)
  const paths = new Map(findings.map((one) => [one.setting, servedPaths(one)]))
  const findPaths = (group: string, name: string) => paths.get(`appraisal.${group}.${name}`) ?? []
  const findBodies = (operation: string) =>
    answers.filter((one) => one.operation === operation).map(({ body }) => body)
  const evaluations = objectsIn(evaluationsIn(answers).map(({ body }) => body))
  const staff = staffIn([...findBodies(listUsers.name).flat(), ...evaluations])
  const documented = [...tops, 'WatchStatus', 'SearchNumber', 'CertificateNumber']
  /** Writes the values of the sandbox into a recorded record. */
  const shape = (group: Group, records: readonly Json[], names: readonly string[]) => {
    const served = names.map((name) => findPaths(group, name)).filter(({ length }) => length > 0)
    const form = describeForm(records, served.flat(), { documented, staff })
    return (base: Json | undefined, body: Json): Json => {
      if (base === undefined) return body
      const whole = { ...body }
      for (const [first, ...copies] of served)
        for (const path of [first!, ...copies])
          setAtPath(whole, path, valueAt(body, first!) ?? null)
      return completed(base, whole, form)
    }
  }
  const lists = findBodies(listEvaluations.name)
  const [longest] = lists.toSorted((a, b) => textLength(b) - textLength(a))
  const itemsAt = findPaths('evalList', 'items')[0]
  const isListKnown = itemsAt !== undefined && findPaths('evalList', 'id').length > 0
  const items = objectsIn(lists.flatMap((body) => listAt(body, itemsAt)))
  const past = mapValues(pastOperations, ({ name }) => findBodies(name))
  const pastLists = mapValues(past, (bodies) => recordedLists(bodies, ''))
  const watches = objectsIn(findBodies(watchPpsr.name))
  const watchLists = recordedLists(watches, findPaths('watch', 'checks')[0])
  const [asEvaluation, asItem, asList, asPast, asWatched, asWatch] = [
    shape('evaluation', evaluations, Object.keys(wire.appraisal.evaluation)),
    shape('evalList', items, ['id', 'updatedAt']),
    shape('evalList', objectsIn(lists), ['items']),
    shape('pastCheck', Object.values(pastLists).flat(2), Object.keys(wire.appraisal.pastCheck)),
    shape('watch', watchLists.flat(), ['checkId', 'checkStatus', 'checkedAt']),
    shape('watch', watches, ['checks']),
  ]
  /** An operation that was not recorded has the fields of the other one: their settings are the same. */
  const listsFor = (kind: CheckKind) =>
    past[kind].length > 0 ? pastLists[kind] : Object.values(pastLists).flat()
  const recorded: Readonly<Record<Group, boolean>> = {
    evaluation: evaluations.length > 0,
    evalList: lists.length > 0,
    pastCheck: Object.values(past).flat().length > 0,
    watch: watches.length > 0,
  }
  return {
    wire: withPaths(wire, paths),
    settings: [...paths].filter(([, found]) => found.length > 0).map(([setting]) => setting),
    examined: findings.length,
    decoys: {
      encode: (group, name, value) =>
        recorded[group as Group] && findPaths(group, name).length === 0 ? undefined : value,
      evaluation: (body, _, { evalId }) => asEvaluation(pick(evaluations, evalId), body),
      listItem: (body, { evalId }) => asItem(pick(items, evalId), body),
      list: (body) => {
        if (longest === undefined || (isListKnown && Array.isArray(body))) return body
        return isListKnown ? asList(longest as Json, body as Json) : longest
      },
      pastChecks: (kind, all) => (recorded.pastCheck ? inLists(listsFor(kind), all, asPast) : null),
      watchedChecks: (all) => (recorded.watch ? inLists(watchLists, all, asWatched) : null),
      watch: (body, checks) => asWatch(pick(watches, checks[0]?.evalId ?? 0), body),
    },
  }
}

type Group = 'evaluation' | 'evalList' | 'pastCheck' | 'watch'
const tops = [...new Set(documentedEvaluationPaths.map((path) => path.split(/[.[]/)[0]!))]

/** The paths at which a setting is served: the one that is proved, or those that hold the same; of a list the only one. */
function servedPaths({ setting, state, evidence, path, candidates }: Finding): readonly string[] {
  const isList = /\.(items|checks)$/.test(setting)
  if ((isProved({ state }) || isList) && path !== null) return [path]
  return evidence === equalValues ? candidates.map((one) => one.path) : []
}

/** The settings with these paths. One without a path is not sent. */
function withPaths(
  wire: WireSettings,
  paths: ReadonlyMap<string, readonly string[]>,
): WireSettings {
  const copy = structuredClone(wire) as unknown as Record<string, unknown>
  for (const [setting, [path = setting.split('.').at(-1)]] of paths) setAtPath(copy, setting, path)
  return wireSettings.parse(copy)
}

function objectsIn(values: readonly unknown[]): Json[] {
  return values.filter(
    (value): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value),
  )
}

function listAt(body: unknown, path: string | undefined): readonly unknown[] {
  const list = path === undefined ? undefined : valueAt(body, path)
  return Array.isArray(list) ? (list as unknown[]) : []
}

function recordedLists(bodies: readonly unknown[], path: string | undefined): Json[][] {
  return bodies.map((body) => objectsIn(listAt(body, path))).filter(({ length }) => length > 0)
}

/** Names and e-mails of the staff. */
function staffIn(records: readonly unknown[]): ReadonlySet<string> {
  const texts = records.flatMap((record) =>
    ['Name', 'Email', 'UserName', 'UserEmail'].map((path) => valueAt(record, path)),
  )
  return new Set(texts.filter((text) => typeof text === 'string' && text !== '').map(comparable))
}

function textLength(body: unknown): number {
  return JSON.stringify(body).length
}

/** The same one for the same number. */
function pick<T>(records: readonly T[], number: number): T | undefined {
  return records.length === 0 ? undefined : seededRandom(number, 'recorded').pick(records)
}

/** The checks of a vehicle in the place of recorded ones, in the order of a recorded list; none where all recorded lists are empty. */
function inLists(
  lists: readonly Json[][],
  all: readonly ListedCheck[],
  shape: (base: Json, body: Json) => Json,
): Json[] {
  const most = Math.max(...lists.map(({ length }) => length))
  const fit = lists.filter(({ length }) => length >= Math.min(all.length, most))
  const list = pick(fit, all[0]?.check.evalId ?? 0) ?? []
  if (list.length === 0) return []
  return all.map(({ body }, at) => shape(list[Math.min(at, list.length - 1)]!, body))
}

function mapValues<K extends string, A, B>(
  of: Readonly<Record<K, A>>,
  change: (value: A) => B,
): Record<K, B> {
  const entries = Object.entries<A>(of).map(([key, value]) => [key, change(value)])
  return Object.fromEntries(entries) as Record<K, B>
}

/** A JSON object of an answer. */
type Json = Readonly<Record<string, unknown>>

/** What recorded records have in common. */
interface RecordedForm {
  /** By the path of a setting: a recorded value, and one that says nothing. */
  readonly samples: ReadonlyMap<string, { readonly filled: unknown; readonly empty: unknown }>
  /** Documented names: what is below them is the sandbox's. */
  readonly documented: readonly string[]
  /** Names and e-mails of the staff, as they are compared. */
  readonly staff: ReadonlySet<string>
  /** Paths that mostly have the value of another one, which the sandbox fills. */
  readonly sources: ReadonlyMap<string, string>
}

const maxCompared = 300
/** From this number on, values that are all equal are no accident: the field is the same in every record. */
const constantFrom = 5

/** The form of records whose values at these paths, and at the documented ones, are the sandbox's. */
function describeForm(
  records: readonly Json[],
  paths: readonly string[],
  { documented, staff }: Pick<RecordedForm, 'documented' | 'staff'>,
): RecordedForm {
  const samples = paths.map((path) => {
    const values = records.map((record) => valueAt(record, path))
    const filled = values.find((value) => !isEmpty(value))
    return [path, { filled, empty: values.some(isEmpty) ? values.find(isEmpty) : null }] as const
  })
  const columns = collectColumns(records.slice(0, maxCompared))
  const filled = [...paths, ...documented].filter((path) => columns.has(path))
  const sources = [...columns].flatMap(([path, values]) => {
    const isConstant = values.size >= constantFrom && new Set(values.values()).size === 1
    if (isConstant || filled.includes(path)) return []
    const [best] = filled
      .map((source) => ({ source, share: equalShare(values, columns.get(source)!) }))
      .toSorted((a, b) => b.share - a.share)
    return best !== undefined && best.share >= 0.5 ? [[path, best.source] as const] : []
  })
  return { samples: new Map(samples), documented, staff, sources: new Map(sources) }
}

/** The texts and numbers at each path, by the position of their record. */
function collectColumns(records: readonly Json[]): Map<string, Map<number, string>> {
  const columns = new Map<string, Map<number, string>>()
  for (const [at, record] of records.entries())
    for (const [path, value] of collectLeaves(record)) {
      if (!isScalar(value)) continue
      if (!columns.has(path)) columns.set(path, new Map())
      columns.get(path)!.set(at, comparable(value))
    }
  return columns
}

function equalShare(a: ReadonlyMap<number, string>, b: ReadonlyMap<number, string>): number {
  const shared = [...a].filter(([at]) => b.has(at))
  const equal = shared.filter(([at, value]) => b.get(at) === value)
  return shared.length === 0 ? 0 : equal.length / shared.length
}

/**
 * A recorded record with the values of `body`, in the form of the recorded ones. A field that was equal to one of them in that record is
 * equal to it now, and who belonged to the staff still does; the rest stays as recorded.
 */
function completed(base: Json, body: Json, form: RecordedForm): Json {
  const write = (old: unknown, value: unknown, path: string): unknown => {
    const isInner =
      isObject(value) &&
      !(value instanceof Date || Array.isArray(value)) &&
      !form.documented.includes(path)
    if (!isInner) return valueLike(value, form.samples.get(path))
    const keys = new Set([...(isObject(old) ? Object.keys(old) : []), ...Object.keys(value)])
    const entries = [...keys].map((key): [string, unknown] => {
      const [before, below] = [valueAtKey(old, key), joinPath(path, key)]
      return [
        key,
        Object.hasOwn(value, key) ? write(before, value[key], below) : follow(before, below),
      ]
    })
    // The only object of a list has the position 0.
    const isList = isObject(old) ? Array.isArray(old) : path !== '' && keys.has('0')
    return isList ? entries.map(([, each]) => each) : Object.fromEntries(entries)
  }
  const follow = (old: unknown, path: string): unknown => {
    if (Array.isArray(old))
      return old.map((each) => follow(each, joinPath(path, old.length === 1 ? '0' : '*')))
    if (isObject(old))
      return Object.fromEntries(
        Object.entries(old).map(([key, each]) => [key, follow(each, joinPath(path, key))]),
      )
    if (!isScalar(old)) return old
    const source = form.sources.get(path)
    const isEqual = source !== undefined && comparable(valueAt(base, source)) === comparable(old)
    const isStaff = !isEqual && form.staff.has(comparable(old))
    const from = isEqual ? source : isStaff ? (forms.email(old) ? 'UserEmail' : 'UserName') : null
    const value = from === null ? null : valueAt(body, from)
    return (value ?? null) === null ? old : valueLike(value, { filled: old, empty: null })
  }
  return write(base, body, '') as Json
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object'
}

/** Whether a value can be equal to another one: a text or a number that says something. */
function isScalar(value: unknown): boolean {
  return ['string', 'number'].includes(typeof value) && !isEmpty(value)
}

/** As the learner writes paths: a key with a dot is not in a path. */
function joinPath(path: string, key: string): string {
  const part = key.includes('.') ? '*' : key
  return path === '' ? part : `${path}.${part}`
}

/** A value as the service writes it: times, numbers in texts, and what it does not know. */
function valueLike(
  value: unknown,
  sample: { readonly filled: unknown; readonly empty: unknown } | undefined,
): unknown {
  if (sample === undefined) return value
  const { filled, empty } = sample
  if (value === null) return empty
  const isText = typeof filled === 'string'
  if (value instanceof Date) {
    const zoneless = isText ? /^\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d$/.exec(filled) : null
    if (zoneless !== null) return value.toISOString().slice(0, 19).replace('T', zoneless[1]!)
    if (typeof filled !== 'number' && !(isText && /^\d+$/.test(filled))) return value
    const isSeconds = Number(filled) < 100_000_000_000
    const epoch = isSeconds ? Math.floor(value.getTime() / 1000) : value.getTime()
    return isText ? String(epoch) : epoch
  }
  if (typeof value === 'number' && isText) {
    const digits = filled.includes(',') ? value.toLocaleString('en') : String(value)
    return filled.replace(/\d[\d,.]*/, digits)
  }
  const isNumber = typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value)
  return isNumber && typeof filled === 'number' ? Number(value) : value
}
