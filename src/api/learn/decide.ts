import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { plural } from '../../values/text.ts'
import type { Field, Fields } from './answers.ts'
import { comparable, type Form, forms, formText } from './forms.ts'
import { agreementOf, isCopy, type Witness } from './proof.ts'

/** What the answers say about a setting. confirmed: its path is proved. elsewhere: another path is. suggested: one path may be it.
 *  ambiguous: several may. absent: asked, never there. unseen: no answer shows it. */
type FindingState = 'confirmed' | 'elsewhere' | 'suggested' | 'ambiguous' | 'absent' | 'unseen'

/** A path that a setting may mean, and the form of its values: never a value. */
interface Candidate {
  readonly path: string
  readonly form: string
}

/** The result for one setting. */
export interface Finding {
  /** Below `wire`. */
  readonly setting: string
  readonly state: FindingState
  readonly configured: JsonPath
  /** The path that is proved or suggested. */
  readonly path: string | null
  /** Counts and rules, never a value. */
  readonly evidence: string
  readonly candidates: readonly Candidate[]
  /** Nothing is at the configured path, and there is another one, or there may be. */
  readonly mustChange: boolean
}

/** How a setting is recognised. */
export interface Rule {
  readonly setting: string
  readonly form: Form
  /** Whether a path has one of the names that the trade uses for it. */
  readonly isNamed: (path: string) => boolean
  /** The form is so rare that the only field of the name that has it is meant. */
  readonly isRare?: true
  /** Values of different records differ. */
  readonly isDistinct?: true
}

/** What is known from the other answers. */
interface Knowledge {
  /** By what they come from, in words. */
  readonly witnesses: ReadonlyMap<string, readonly Witness[]>
  /** Whether the values of a field belong to something else, e.g. to the staff. */
  readonly isOther?: (field: Field) => boolean
}

const fewest = 5
/** A field that is null in most records would have a value in one of this number. */
const enoughForAbsent = 20

/** Decides about one setting. Pure; cautious: without a witness, or a rare form under the right name, there is no more than a suggestion. */
export function decide(
  rule: Rule,
  configured: JsonPath,
  all: Fields,
  { witnesses, isOther = () => false }: Knowledge,
): Finding {
  const { records, fields } = all
  if (records.length === 0) return finding(rule, configured, all, 'unseen', 'no answer yet')
  // Of a rare form even a field that has it at times may be the one.
  const fits = fields.filter((field) => shareOf(field, rule.form) >= (rule.isRare ? 0.1 : 0.5))
  const proofs = fits.flatMap((field) =>
    [...witnesses].map(([source, known]) => ({ field, source, ...agreementOf(field, known) })),
  )
  const isWrong = (field: Field) =>
    proofs.some((one) => one.field === field && one.isRefuted) ||
    ((rule.isRare || rule.isDistinct) && isConstant(field)) ||
    isOther(field)
  const proved = [
    ...new Set(
      proofs
        .filter(
          ({ isProved, field }) =>
            isProved && !proofs.some((one) => one.field === field && one.isRefuted),
        )
        .map(({ field }) => field),
    ),
  ]
  const [only] = proved
  if (only !== undefined) {
    const same = fields.filter(
      (field) => field === only || proved.includes(field) || isCopy(only, field),
    )
    if (same.length > 1)
      return finding(rule, configured, all, 'ambiguous', 'equal values at several paths', same)
    const { equal, compared, source } = proofs.find(
      ({ field, isProved }) => field === only && isProved,
    )!
    return proven(rule, configured, all, only, `${equal} of ${compared} equal to ${source}`)
  }
  const possible = fits.filter((field) => !isWrong(field))
  const named = possible.filter(({ path }) => rule.isNamed(path))
  const [first] = named
  if (rule.isRare && possible.length === 1 && first !== undefined && isRareProof(rule, first)) {
    const share = `${Math.round(shareOf(first, rule.form) * first.values.size)} of ${first.values.size}`
    return proven(
      rule,
      configured,
      all,
      first,
      `by name, and the only path whose values fit (${share})`,
    )
  }
  const atSet = possible.filter(({ path }) => [configured].flat().includes(path))
  const rivals = rule.isRare ? possible : [...new Set([...named, ...atSet])]
  if (rivals.length > 1)
    return finding(rule, configured, all, 'ambiguous', 'several paths may be it', rivals)
  if (rivals.length === 1)
    return finding(rule, configured, all, 'suggested', suggestion(rule, rivals[0]!), rivals)
  if (isFilled(configured, all))
    return finding(
      rule,
      configured,
      all,
      'suggested',
      'has values of another form, or of something else',
    )
  const isClear = possible.length === 0 && all.empty === 0 && all.hidden === 0 && fits.length === 0
  if (isClear && records.length >= enoughForAbsent)
    return finding(
      rule,
      configured,
      all,
      'absent',
      `nothing in ${plural(records.length, 'record')} can be it`,
    )
  const why =
    all.hidden > 0
      ? `${plural(all.hidden, 'path')} cannot be shown`
      : 'no path of a known name has values'
  return finding(rule, configured, all, 'unseen', `${why} in ${plural(records.length, 'record')}`)
}

function suggestion({ isNamed }: Rule, { path, values }: Field): string {
  const by = isNamed(path) ? 'by name' : 'by its form'
  return `${by} alone: ${plural(values.size, 'value')}, no witness`
}

/** Whether a name and a rare form are enough: on some records, whose values are not all the same. */
function isRareProof({ form, isDistinct }: Rule, field: Field): boolean {
  const { size } = field.values
  const distinct = new Set(field.values.values().map(comparable)).size
  const share = shareOf(field, form)
  // A maker has more colours than we know words for, and an interior has a few of them.
  if (form === 'colour') return size >= 10 && distinct >= 4 && share >= 0.6
  return (
    size >= (isDistinct && form !== 'link' ? 8 : fewest) &&
    share >= (form === 'make' ? 0.8 : 0.95) &&
    distinct >= (isDistinct ? size * 0.8 : 2)
  )
}

/** The share of a field's values that have a form. */
export function shareOf({ values }: Field, form: Form): number {
  return (
    values
      .values()
      .filter((value) => forms[form](value))
      .toArray().length / values.size
  )
}

function isConstant({ values }: Field): boolean {
  return (
    values.size >= fewest &&
    new Set(values.values().map((value) => JSON.stringify(value))).size === 1
  )
}

function isFilled(configured: JsonPath, { records }: Fields): boolean {
  return records.some(({ body }) => (valueAt(body, configured) ?? null) !== null)
}

/** The finding about a path that is proved. */
export function proven(
  rule: Pick<Rule, 'setting'>,
  configured: JsonPath,
  all: Fields,
  field: Field,
  evidence: string,
): Finding {
  // A list whose earlier paths hold something else reads that.
  const isRead = all.records.every(
    ({ key, body }) =>
      !field.values.has(key) || Object.is(valueAt(body, configured), field.values.get(key)),
  )
  const state = isRead ? 'confirmed' : 'elsewhere'
  return {
    ...finding(rule, configured, all, state, evidence, [field]),
    path: field.path,
    mustChange: !isRead,
  }
}

/** A finding about paths that may be the one, or about none. */
export function finding(
  { setting }: Pick<Rule, 'setting'>,
  configured: JsonPath,
  all: Fields,
  state: FindingState,
  evidence: string,
  candidates: readonly Field[] = [],
): Finding {
  const isOpen = candidates.length > 0 && !isFilled(configured, all)
  return {
    ...{ setting, state, configured, evidence },
    path: candidates.length === 1 ? candidates[0]!.path : null,
    candidates: candidates.map(({ path, values }) => ({
      path,
      form: formText([...values.values()][0]),
    })),
    mustChange: isOpen,
  }
}
