import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { plural } from '../../values/text.ts'
import type { Field, Fields } from './answers.ts'
import { comparable, type Form, forms, formText } from './forms.ts'
import { isCopy, measureAgreement, type Witness } from './proof.ts'

/** What the answers say about a setting. confirmed: its path is proved. elsewhere: another path is. refuted: its path has another time
 *  of the evaluation, and no other path is known. unproved: its path may be it. suggested: one other path may be it. doubtful: its path
 *  has values of another form, or of something else. ambiguous: several paths may be it. decided: nothing proves it, and the config file
 *  names a path that may be it, or none. absent: asked, never there. unseen: no answer shows it. */
type FindingState =
  | 'confirmed'
  | 'elsewhere'
  | 'refuted'
  | 'unproved'
  | 'suggested'
  | 'doubtful'
  | 'ambiguous'
  | 'decided'
  | 'absent'
  | 'unseen'

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
  /** Other paths whose values have the form of the setting, where its own has nothing, or something else. */
  readonly byFormAlone: readonly Candidate[]
  /** Nothing is at the configured path, or something else, and there is another one, or there may be. */
  readonly mustChange: boolean
  /** The value of the setting that reads the path: also the former one, where earlier answers have it there. */
  readonly proposal: JsonPath | null
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

/** The source of witnesses of a field that was at the configured path, and is at another one now. */
export const beforeItMoved = 'what the same evaluation had there before'

/** The evidence of a setting that is proved at several paths. */
export const equalValues = 'equal values at several paths'

/** Whether the path of a finding is proved. */
export function isProved({ state }: Pick<Finding, 'state'>): boolean {
  return state === 'confirmed' || state === 'elsewhere'
}

const fewest = 5
/** A field that is null in most records would have a value in one of this number. */
const enoughForAbsent = 20

/** A setting, the path that it has, and the fields that it may mean. */
export interface Question {
  readonly setting: string
  readonly configured: JsonPath
  readonly all: Fields
}

/** Decides about one setting. Pure; cautious: without a witness, or a rare form under the right name, there is no more than a suggestion. */
export function decide(
  rule: Rule,
  configured: JsonPath,
  all: Fields,
  knowledge: Knowledge,
): Finding {
  const question = { setting: rule.setting, configured, all }
  if (all.records.length === 0) return finding(question, 'unseen', 'no answer yet')
  // Of a rare form even a field that has it at times may be the one.
  const least = rule.isRare ? 0.1 : 0.5
  const proofs = all.fields
    .filter((field) => formShare(field, rule.form) >= least)
    .map((field) => findProof(field, knowledge))
  const isOther = ({ field, isRefuted }: Proof) =>
    isRefuted ||
    ((rule.isRare || rule.isDistinct) && isConstant(field)) ||
    knowledge.isOther?.(field)
  const possible = proofs.filter((one) => !isOther(one)).map(({ field }) => field)
  return (
    byWitness(question, proofs) ??
    byRareForm(rule, question, possible) ??
    withOthers(
      byName(rule, question, possible) ?? withoutCandidate(question, proofs.length === 0),
      possible,
    )
  )
}

/** A field, and how it agrees with the witnesses of all sources. */
interface Proof {
  readonly field: Field
  readonly isRefuted: boolean
  /** In words; null: not proved. */
  readonly evidence: string | null
  readonly isMoved: boolean
}

function findProof(field: Field, { witnesses }: Knowledge): Proof {
  const agreements = [...witnesses].map(([source, known]) => ({
    source,
    ...measureAgreement(field, known),
  }))
  const isRefuted = agreements.some((one) => one.isRefuted)
  const proof = isRefuted ? undefined : agreements.find(({ isProved }) => isProved)
  const evidence = proof && `${proof.equal} of ${proof.compared} equal to ${proof.source}`
  return { field, isRefuted, evidence: evidence ?? null, isMoved: proof?.source === beforeItMoved }
}

function byWitness(question: Question, proofs: readonly Proof[]): Finding | null {
  const proved = proofs.filter(({ evidence }) => evidence !== null)
  const [only] = proved
  if (only === undefined) return null
  const copies = question.all.fields.filter(
    (field) => field !== only.field && isCopy(only.field, field),
  )
  const same = new Set([...proved.map(({ field }) => field), ...copies])
  return provenAs(question, [...same], only.evidence!, only.isMoved)
}

function byRareForm(rule: Rule, question: Question, possible: readonly Field[]): Finding | null {
  const [only, ...others] = possible
  const isProof =
    rule.isRare &&
    only !== undefined &&
    others.length === 0 &&
    rule.isNamed(only.path) &&
    isRareProof(rule, only)
  if (!isProof) return null
  const share = `${Math.round(formShare(only, rule.form) * only.values.size)} of ${only.values.size}`
  return proven(question, only, `by name, and the only path whose values fit (${share})`)
}

function byName(rule: Rule, question: Question, possible: readonly Field[]): Finding | null {
  const configured = [question.configured].flat()
  const rivals = possible.filter(
    ({ path }) => rule.isRare || rule.isNamed(path) || configured.includes(path),
  )
  const [only, ...others] = rivals
  if (only === undefined) return null
  if (others.length > 0) return finding(question, 'ambiguous', 'several paths may be it', rivals)
  const found = finding(question, 'suggested', suggestion(rule, only), rivals)
  const copies = question.all.fields.filter((field) => field !== only && isCopy(only, field))
  if (copies.length === 0) return found
  const evidence = `${found.evidence}; the same values at ${plural(copies.length, 'other path')}`
  return { ...found, evidence, candidates: [only, ...copies].map(toCandidate) }
}

function withoutCandidate(question: Question, isClear: boolean): Finding {
  const { configured, all } = question
  const records = plural(all.records.length, 'record')
  if (isFilled(configured, all))
    return finding(question, 'doubtful', 'has values of another form, or of something else')
  if (isClear && all.empty === 0 && all.hidden === 0 && all.records.length >= enoughForAbsent)
    return finding(question, 'absent', `nothing in ${records} can be it`)
  const why =
    all.hidden > 0
      ? `${plural(all.hidden, 'path')} cannot be shown`
      : 'no path of a known name has values'
  return finding(question, 'unseen', `${why} in ${records}`)
}

/** With the paths that may be it by their form alone, where a person has to find one. */
function withOthers(found: Finding, possible: readonly Field[]): Finding {
  const { candidates, mustChange } = found
  if (!mustChange && candidates.length > 0) return found
  const others = possible.filter((field) => candidates.every(({ path }) => path !== field.path))
  return { ...found, byFormAlone: others.map(toCandidate) }
}

/** A finding, and what a person does about it; '' for nothing. */
export interface ShownFinding extends Finding {
  readonly nextStep: string
  /** Its column stays empty. */
  readonly isHeld: boolean
}

/** What the config file says of the settings. */
interface Configured {
  /** Settings below `wire` that a person has written. */
  readonly inFile: ReadonlySet<string>
  /** Those that --write has written, when their path was proved. */
  readonly written: ReadonlySet<string>
  /** Names of `appraisal.evaluation` whose columns stay empty. */
  readonly held: readonly string[]
}

/** The findings for a person. Where nothing proves what the config file names, a path that may be it or "none", somebody has decided it. */
export function withNextSteps(
  findings: readonly Finding[],
  { inFile, written, held }: Configured,
): ShownFinding[] {
  const heldSettings = new Set(held.map((name) => `appraisal.evaluation.${name}`))
  const isDecided = ({ setting, configured, candidates }: Finding) =>
    inFile.has(setting) &&
    (configured === 'none' || candidates.some(({ path }) => [configured].flat().includes(path)))
  return findings.map((found) => {
    const isHeld = heldSettings.has(found.setting)
    if (!isProved(found) && isDecided(found)) {
      const nextStep = isHeld ? '--write' : ''
      return { ...found, state: 'decided', mustChange: isHeld, nextStep, isHeld }
    }
    if (!isHeld && written.has(found.setting) && ['unproved', 'unseen'].includes(found.state)) {
      const evidence = `${found.evidence}; it was proved when --write set it`
      return { ...found, evidence, nextStep: '', isHeld }
    }
    const nextStep = isHeld ? heldStep(found) : usualStep(found)
    return { ...found, mustChange: isHeld ? nextStep !== '' : found.mustChange, nextStep, isHeld }
  })
}

function usualStep({ state, mustChange, candidates, byFormAlone }: Finding): string {
  if (state === 'elsewhere') return '--write'
  if (state === 'refuted') return 'set it'
  if (state === 'unproved') return 'keep'
  if (state === 'doubtful') return 'compare'
  if (state === 'suggested') return mustChange ? 'try it' : 'compare'
  if (state === 'ambiguous' && candidates.length > 0) return mustChange ? 'choose' : 'compare'
  return state === 'unseen' && byFormAlone.length > 0 ? 'choose' : ''
}

/** Of a column that stays empty until something is done. */
function heldStep(found: Finding): string {
  if (found.state === 'confirmed') return '--write'
  // Another path with the same values may be what they are, as a title.
  if (found.state === 'unproved') return found.candidates.length === 1 ? '--keep' : 'choose'
  return usualStep({ ...found, mustChange: true })
}

function suggestion({ isNamed }: Rule, { path, values }: Field): string {
  const by = isNamed(path) ? 'by name' : 'by its form'
  return `${by} alone: ${plural(values.size, 'value')}, no witness`
}

/** Whether a name and a rare form are enough: on some records, whose values are not all the same. */
function isRareProof({ form, isDistinct }: Rule, field: Field): boolean {
  const { size } = field.values
  const distinct = new Set(field.values.values().map(comparable)).size
  const share = formShare(field, form)
  // A maker has more colours than we know words for, and an interior has a few of them.
  if (form === 'colour') return size >= 10 && distinct >= 4 && share >= 0.6
  return (
    size >= (isDistinct && form !== 'link' ? 8 : fewest) &&
    share >= (form === 'make' ? 0.8 : 0.95) &&
    distinct >= (isDistinct ? size * 0.8 : 2)
  )
}

/** The share of a field's values that have a form. */
export function formShare({ values }: Field, form: Form): number {
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

/** The finding about paths that are proved alike: several are ambiguous. null: none is proved. */
export function provenAs(
  question: Question,
  proved: readonly Field[],
  evidence: string,
  isMoved = false,
): Finding | null {
  const [only, ...others] = proved
  if (only === undefined) return null
  return others.length === 0
    ? proven(question, only, evidence, isMoved)
    : finding(question, 'ambiguous', equalValues, proved)
}

/** The finding about a path that is proved. `isMoved`: earlier answers have it at the configured one. */
export function proven(
  question: Question,
  field: Field,
  evidence: string,
  isMoved = false,
): Finding {
  if (isRead(question, field))
    return { ...finding(question, 'confirmed', evidence, [field]), mustChange: false }
  const proposal = isMoved ? [field.path, ...[question.configured].flat()] : field.path
  return { ...finding(question, 'elsewhere', evidence, [field]), mustChange: true, proposal }
}

/** Whether the configured path reads the field: a list whose earlier paths hold something else reads that. */
function isRead({ configured, all }: Question, { values }: Field): boolean {
  return all.records.every(
    ({ key, body }) => !values.has(key) || Object.is(valueAt(body, configured), values.get(key)),
  )
}

function toCandidate({ path, values }: Field): Candidate {
  return { path, form: formText([...values.values()][0]) }
}

/** A finding about paths that may be the one, or about none. A suggestion of the configured path is unproved. */
export function finding(
  question: Question,
  state: Exclude<FindingState, 'unproved' | 'decided'>,
  evidence: string,
  fields: readonly Field[] = [],
): Finding {
  const { setting, configured, all } = question
  const [only] = fields.length === 1 ? fields : []
  const isConfigured = state === 'suggested' && only !== undefined && isRead(question, only)
  return {
    ...{ setting, configured, path: only?.path ?? null, evidence },
    state: isConfigured ? 'unproved' : state,
    ...{ candidates: fields.map(toCandidate), byFormAlone: [] },
    mustChange: fields.length > 0 && !isFilled(configured, all),
    proposal: null,
  }
}
