import { collectLeaves, isEmpty } from '../../api/learn/answers.ts'
import { comparable, forms } from '../../api/learn/forms.ts'
import { valueAt } from '../../values/json-path.ts'

/** A JSON object of an answer. */
export type Json = Readonly<Record<string, unknown>>

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
export function describeForm(
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
export function completed(base: Json, body: Json, form: RecordedForm): Json {
  const write = (old: unknown, value: unknown, path: string): unknown => {
    const isInner =
      isObject(value) &&
      !(value instanceof Date || Array.isArray(value)) &&
      !form.documented.includes(path)
    if (!isInner) return valueLike(value, form.samples.get(path))
    const keys = new Set([...(isObject(old) ? Object.keys(old) : []), ...Object.keys(value)])
    const entries = [...keys].map((key): [string, unknown] => {
      const [before, below] = [itemAt(old, key), joinPath(path, key)]
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

function itemAt(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
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
