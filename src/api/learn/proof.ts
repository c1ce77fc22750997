import type { Field } from './answers.ts'
import { comparable, comparableWith, countBits } from './forms.ts'

/** A value that is known without the setting: it was asked for, sent, or another answer about the same thing has it. */
export interface Witness {
  /** Of the record that has to have it. */
  readonly key: string
  readonly value: unknown
  /** What it is about: of several records about the same thing only one counts. */
  readonly unit: string
  /** What its equality is worth; left out: by its form. */
  readonly bits?: number
  /** The only paths that it is about; left out: all. */
  readonly isAbout?: (path: string) => boolean
}

/** How the values of a field agree with the witnesses. */
interface Agreement {
  readonly equal: number
  readonly compared: number
  readonly isProved: boolean
  readonly isRefuted: boolean
}

/** Odds of one to a billion: there are some thousand pairs of a setting and a path. */
const enoughBits = 30
const maxCompared = 200

/** Compares a field with the witnesses. A witness that fits the records of others as well is worth little: a constant proves nothing. */
export function measureAgreement(
  { path, values }: Field,
  witnesses: readonly Witness[],
): Agreement {
  const compared = witnesses
    .filter(({ key, isAbout }) => values.has(key) && (isAbout?.(path) ?? true))
    .slice(0, maxCompared)
  const pairs = compared.map((one) => {
    const known = comparable(one.value)
    return { ...one, known, found: comparableWith(known, values.get(one.key)) }
  })
  const equal = pairs.filter(({ known, found }) => known === found)
  const wrong = pairs.length - equal.length
  const cross = pairs.flatMap((a) =>
    pairs.filter((b) => a.unit !== b.unit).map((b) => a.known === b.found),
  )
  const chance = (cross.filter(Boolean).length + 1) / (cross.length + 1)
  const most = cross.includes(true) ? -Math.log2(chance) : Number.POSITIVE_INFINITY
  const units = new Map(
    equal.map(({ unit, value, bits }) => [unit, Math.min(bits ?? countBits(value), most)]),
  )
  const sum = units.values().reduce((total, bits) => total + bits, 0)
  const isRefuted = wrong >= 2 && wrong > pairs.length / 100
  // A single misfit may be an edit between two answers.
  const isProved = !isRefuted && wrong * 20 <= pairs.length && sum >= enoughBits
  return { equal: equal.length, compared: pairs.length, isProved, isRefuted }
}

/** Whether two fields differ in fewer than two records: as long as they do, nothing says which of them is meant. */
export function isCopy(a: Field, b: Field): boolean {
  let [equal, different] = [0, 0]
  for (const [key, value] of a.values) {
    if (!b.values.has(key)) continue
    if (comparable(value) === comparable(b.values.get(key))) equal += 1
    else different += 1
  }
  return equal > 0 && different < 2
}

/** Whether each value of `fine` has one value of `coarse`, and some value of `coarse` has several of `fine`; null: too few values repeat. */
export function refines(fine: Field, coarse: Field): boolean | null {
  const groups = Map.groupBy(
    [...fine.values].filter(([key]) => coarse.values.has(key)),
    ([, value]) => comparable(value),
  )
  const repeated = [...groups.values()].filter((group) => group.length > 1)
  const records = repeated.reduce((sum, group) => sum + group.length, 0)
  if (repeated.length < 3 || records < 10 || records * 2 < fine.values.size) return null
  const coarseOf = (key: string) => comparable(coarse.values.get(key))
  const misfits = repeated.map((group) => {
    const counts = Map.groupBy(group, ([key]) => coarseOf(key))
      .values()
      .map(({ length }) => length)
    return group.length - Math.max(...counts)
  })
  const several = Map.groupBy(repeated, (group) => coarseOf(group[0]![0]))
    .values()
    .some(({ length }) => length > 1)
  return several && misfits.reduce((sum, count) => sum + count, 0) * 20 <= records
}
