import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { listEvaluations, listUsers } from '../../api/contract/appraisal/evaluations.ts'
import { type CheckKind, pastOperations } from '../../api/contract/appraisal/past-checks.ts'
import { documentedEvaluationPaths } from '../../api/contract/appraisal/shapes.ts'
import type { Answer } from '../../api/learn/answers.ts'
import { equalValues, type Finding, isProved } from '../../api/learn/decide.ts'
import { comparable } from '../../api/learn/forms.ts'
import { evaluationsIn, learn } from '../../api/learn/learn.ts'
import type { ListedCheck, OtherNames } from '../../sandbox/other-names.ts'
import { setAtPath } from '../../sandbox/render.ts'
import { seededRandom } from '../../sandbox/seeded-random.ts'
import { valueAt } from '../../values/json-path.ts'
import { type WireSettings, wireSettings } from '../../values/wire.ts'
import { completed, describeForm, type Json } from './recorded-shape.ts'

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
