import { z } from 'zod'
import { isObject } from '../../values/json-path.ts'
import { nameHint, nearestName } from '../../values/nearest-name.ts'
import { type ConfigFile, fileSchema } from './schema.ts'
import type { Problem } from './text.ts'
import { unwrap } from './values.ts'

/** The config with its defaults, or all its problems. */
export type Checked =
  | { readonly config: ConfigFile; readonly problems: readonly [] }
  | { readonly config: undefined; readonly problems: readonly Problem[] }

/** Validates the content of a config file. A null or empty setting with a default counts as left out. */
export function checkFile(written: unknown): Checked {
  const value = leaveOutEmpty(fileSchema, written)
  const parsed = fileSchema.safeParse(value)
  const issues = parsed.success
    ? []
    : parsed.error.issues.flatMap((issue) => describeIssue(issue, value))
  const problems = [...issues, ...crossCheck(value)]
  if (parsed.success && problems.length === 0) return { config: parsed.data, problems: [] }
  return { config: undefined, problems }
}

/** A path as messages show it: `rooftops[0].timezone`. */
export function dotted(path: readonly PropertyKey[]): string {
  const text = path.reduce<string>((all, part) => {
    if (typeof part === 'number') return `${all}[${part}]`
    return all ? `${all}.${String(part)}` : String(part)
  }, '')
  return text || 'the file'
}

function leaveOutEmpty(schema: z.ZodType, value: unknown): unknown {
  const kind = unwrap(schema)
  if (Array.isArray(value) && kind instanceof z.ZodArray)
    return value.map((item) => leaveOutEmpty(kind.element as z.ZodType, item))
  if (!isObject(value)) return value
  const entries = Object.entries(value).flatMap(([name, item]) => {
    const inner = memberType(kind, name)
    if (!inner) return [[name, item] as const]
    const isEmpty = item === null || item === ''
    const takesNone =
      isEmpty && !inner.safeParse(item).success && inner.safeParse(undefined).success
    return takesNone ? [] : [[name, leaveOutEmpty(inner, item)] as const]
  })
  return Object.fromEntries(entries)
}

function memberType(kind: z.ZodType, name: PropertyKey): z.ZodType | undefined {
  if (kind instanceof z.ZodRecord) return kind.valueType as z.ZodType
  if (kind instanceof z.ZodArray) return kind.element as z.ZodType
  if (!(kind instanceof z.ZodObject)) return undefined
  const shape = kind.shape as Record<string, z.ZodType>
  return Object.hasOwn(shape, name) ? shape[String(name)] : undefined
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): Problem[] {
  const { path } = issue
  if (issue.code !== 'unrecognized_keys') return [{ path, problem: `${explain(issue, value)}.` }]
  const known = namesAt(path)
  return issue.keys.map((name) => {
    const meant = nearestName(name, known)
    const advice = meant
      ? `(did you mean ${meant}?): correct its name or remove it`
      : `: remove it; known here are ${known.join(', ')}`
    return { path: [...path, name], problem: `is not a setting ${advice}.`.replace(' : ', ': ') }
  })
}

function namesAt(path: readonly PropertyKey[]): string[] {
  let kind: z.ZodType | undefined = fileSchema
  for (const part of path) kind = kind && memberType(unwrap(kind), part)
  const found = kind && unwrap(kind)
  return found instanceof z.ZodObject ? Object.keys(found.shape) : []
}

/** A zod issue as words that follow the path; never with the value, which may be a secret. */
function explain(issue: z.core.$ZodIssue, value: unknown): string {
  const found = issue.path.reduce<unknown>(
    (node, part) => (node as Record<PropertyKey, unknown> | undefined)?.[part],
    value,
  )
  if (found === undefined) return 'is missing: add it'
  if (issue.code === 'invalid_type') return `must be ${kinds[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'invalid_union') return 'must be a dotted path or a list of such paths'
  const message = issue.message
  if (issue.code === 'too_small' && issue.origin === 'array') return 'must not be an empty list'
  if (issue.code === 'too_small' && message.startsWith('Too small'))
    return `must be ${String(issue.minimum)} or more`
  if (issue.code === 'too_big') return `must be ${String(issue.maximum)} or less (${issue.origin})`
  return /: /.test(message) ? message : `${message}: correct it`
}

const kinds: Readonly<Record<string, string>> = {
  object: 'a group of settings, name: value',
  record: 'a group of settings, name: value',
  array: 'a list, one "- " an item',
  string: 'text: put it in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** Checks that concern several settings; made even if there are other problems. */
function crossCheck(value: unknown): Problem[] {
  if (!isObject(value)) return []
  const keys = isObject(value['keys']) ? value['keys'] : {}
  const rooftops: readonly unknown[] = Array.isArray(value['rooftops']) ? value['rooftops'] : []
  const ofRooftops = rooftops.flatMap((entry, index) => {
    if (!isObject(entry)) return []
    const earlier = rooftops.slice(0, index).filter(isObject)
    const found = { ...keyProblems(entry, keys, earlier), ...dealerProblems(entry, rooftops) }
    if (typeof entry['uid'] === 'string' && earlier.some(({ uid }) => uid === entry['uid']))
      found['uid'] = 'is listed twice: list every rooftop once.'
    return Object.entries(found).map(([field, problem]) => ({
      path: ['rooftops', index, field],
      problem,
    }))
  })
  const known = rooftops.filter(isObject)
  return [
    ...ofRooftops,
    ...peopleProblems(value['console'], known, keys),
    ...inboxProblems(value['stock'], known),
  ]
}

/** Rooftops of drop folders that the config does not have. */
function inboxProblems(
  stock: unknown,
  rooftops: readonly Readonly<Record<string, unknown>>[],
): Problem[] {
  const inboxes = isObject(stock) && Array.isArray(stock['inbox']) ? stock['inbox'] : []
  const uids = rooftops.map(({ uid }) => String(uid))
  return inboxes.flatMap((inbox, index) => {
    if (!isObject(inbox)) return []
    const codes = isObject(inbox['rooftopCodes']) ? Object.entries(inbox['rooftopCodes']) : []
    const named = [
      { at: ['rooftop'], uid: inbox['rooftop'] },
      ...codes.map(([code, uid]) => ({ at: ['rooftopCodes', code], uid })),
    ]
    return named.flatMap(({ at, uid }) => {
      if (typeof uid !== 'string' || uids.includes(uid)) return []
      const problem = `is not the uid of one of rooftops[] (${nameHint(uid, uids)}): correct it.`
      return [{ path: ['stock', 'inbox', index, ...at], problem }]
    })
  })
}

/** The dealer group of a rooftop that may name none. */
export function rooftopGroup(
  { group, key, uid }: { readonly group?: unknown; readonly key?: unknown; readonly uid?: unknown },
  keys: Readonly<Record<string, unknown>>,
): string {
  if (typeof group === 'string') return group
  const access = keys[String(key)]
  return isObject(access) && access['kind'] === 'partner' ? `key:${key}` : `rooftop:${uid}`
}

/** Names of a list that rooftops do not have. */
function unknownNames(
  path: readonly PropertyKey[],
  written: unknown,
  names: readonly string[],
): Problem[] {
  if (!Array.isArray(written)) return []
  return written.flatMap((name, at) => {
    if (typeof name !== 'string' || names.includes(name)) return []
    const hint = nameHint(name, [...new Set(names)])
    return [{ path: [...path, at], problem: `is not one of rooftops[] (${hint}): correct it.` }]
  })
}

/** Rooftops and groups of the console's people that the config does not have. */
function peopleProblems(
  settings: unknown,
  rooftops: readonly Readonly<Record<string, unknown>>[],
  keys: Readonly<Record<string, unknown>>,
): Problem[] {
  const people = isObject(settings) ? settings['people'] : []
  if (!Array.isArray(people)) return []
  const known: Readonly<Record<string, readonly string[]>> = {
    rooftops: rooftops.map(({ uid }) => String(uid)),
    groups: rooftops.map((rooftop) => rooftopGroup(rooftop, keys)),
  }
  return people.flatMap((person, index) =>
    Object.entries(known).flatMap(([field, names]) =>
      unknownNames(
        ['console', 'people', index, field],
        isObject(person) ? person[field] : [],
        names,
      ),
    ),
  )
}

/** The same key and dealerId twice: each evaluation would be listed for both. Reported at both, so that both lines are shown. */
function dealerProblems(
  entry: Readonly<Record<string, unknown>>,
  rooftops: readonly unknown[],
): Record<string, string> {
  const dealer = dealerIdentity(entry)
  const same = rooftops.findIndex(
    (other) => isObject(other) && other['uid'] !== entry['uid'] && dealerIdentity(other) === dealer,
  )
  if (dealer === null || same < 0) return {}
  return {
    dealerId: `is also that of rooftops[${same}], with the same key: each has its own [A §4 /getevallist], so correct one.`,
  }
}

/** Key and dealerId, which the environment gives as text; null for none. */
function dealerIdentity({ key, dealerId }: Readonly<Record<string, unknown>>): string | null {
  const isNumeric = /^-?\d+$/.test(String(dealerId))
  return typeof key === 'string' && isNumeric ? `${Number(dealerId)} ${key}` : null
}

function keyProblems(
  { key, region }: Readonly<Record<string, unknown>>,
  keys: Readonly<Record<string, unknown>>,
  earlier: readonly Readonly<Record<string, unknown>>[],
): Record<string, string> {
  if (typeof key !== 'string') return {}
  const access = Object.hasOwn(keys, key) ? keys[key] : undefined
  if (access === undefined) {
    const hint = nameHint(key, Object.keys(keys))
    return {
      key: `names a key that is not under keys (${hint}): correct it, or add the key there.`,
    }
  }
  if (!isObject(access)) return {}
  const isShared = access['kind'] === 'dedicated' && earlier.some((other) => other['key'] === key)
  if (isShared)
    return {
      key: 'names a dedicated key that another rooftop uses: such a key is for one rooftop [A §5].',
    }
  const regions = [region, access['region']]
  const differ = regions.every((place) => typeof place === 'string') && regions[0] !== regions[1]
  return differ
    ? { region: `is ${regions[0]}, but its key ${key} is for ${regions[1]}: correct one [A §5].` }
    : {}
}
