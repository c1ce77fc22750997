import { prunedJson } from '../../../values/json-depth.ts'
import { valueAt } from '../../../values/json-path.ts'
import type { AppraisalWire } from '../../../values/wire.ts'
import type { RooftopAccess } from '../calls.ts'
import { type EvaluationList, toEvalId } from './answers.ts'

/** What the answers so far show about `wire.appraisal.evalList.items`. An empty list certifies its window, so it has to be certain that
 *  the evaluations are not in another array of the answer. It is certain when the answer has no other records. Else all of this has to hold:
 *  the path has had an evaluation that `/geteval` knows, the other records have the same form as beside that list, and they have no id where
 *  the items have theirs. */
export class ListPath {
  readonly #wire: AppraisalWire['evalList']
  /** The forms of the records beside lists that had items. */
  readonly #formsBeside = new Set<string>()
  /** An item of the newest list that had some. */
  #sample: { readonly rooftop: RooftopAccess; readonly evalId: number } | null = null
  /** Whether an evaluation has the id of an item; null while that is not asked, or was not so. */
  #proof: Promise<boolean> | null = null

  constructor(wire: AppraisalWire['evalList']) {
    this.#wire = wire
  }

  /** Learns from a list with items. */
  add(body: unknown, { items }: Pick<EvaluationList, 'items'>, rooftop: RooftopAccess): void {
    const [first] = items
    if (first === undefined) return
    this.#sample = { rooftop, evalId: first.evalId }
    for (const form of this.#readBeside(body).forms)
      if (this.#formsBeside.size < 10_000) this.#formsBeside.add(form)
  }

  /** Whether an answer with an empty list says that there is no evaluation. `listMore` lists others and adds them; `isKnown` says whether
   *  an evaluation has this id. */
  async isEmpty(
    body: unknown,
    listMore: () => Promise<void>,
    isKnown: (rooftop: RooftopAccess, evalId: number) => Promise<boolean>,
  ): Promise<boolean> {
    const { forms, hasIds } = this.#readBeside(body)
    if (forms.size === 0) return true
    if (hasIds) return false
    if (!forms.isSubsetOf(this.#formsBeside)) await listMore()
    if (this.#sample === null || !forms.isSubsetOf(this.#formsBeside)) return false
    this.#proof ??= isKnown(this.#sample.rooftop, this.#sample.evalId)
    const proof = this.#proof
    const isProved = await proof.finally(() => {
      this.#proof = null
    })
    if (isProved) this.#proof = proof
    return isProved
  }

  /** The records of all arrays but the list: the paths of their values, and whether one has an id like an evaluation. */
  #readBeside(body: unknown): { forms: Set<string>; hasIds: boolean } {
    const answer = prunedJson(body)
    const list = valueAt(answer, this.#wire.items)
    const forms = new Set<string>()
    let hasIds = false
    const read = (value: unknown, path: string, isInRecord: boolean): void => {
      if (value === list) return
      const isObject = typeof value === 'object' && value !== null
      if (isInRecord) forms.add(path)
      if (!isObject) return
      if (!Array.isArray(value)) {
        for (const [key, item] of Object.entries(value))
          read(item, `${path}.${JSON.stringify(key)}`, isInRecord)
        return
      }
      for (const item of value as unknown[]) {
        const isId = toEvalId(item) !== null
        hasIds ||= isId || toEvalId(valueAt(item, this.#wire.id)) !== null
        read(item, `${path}[]`, isId || isInRecord || (typeof item === 'object' && item !== null))
      }
    }
    read(answer, '', false)
    return { forms, hasIds }
  }
}
