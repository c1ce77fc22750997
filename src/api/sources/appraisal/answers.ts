import { parseEpoch } from '../../../values/instant.ts'
import { prunedJson } from '../../../values/json-depth.ts'
import { valueAt } from '../../../values/json-path.ts'
import { jsonValue } from '../../../values/json-value.ts'
import type { AppraisalWire } from '../../../values/wire.ts'
import { type User, user } from '../../contract/appraisal/shapes.ts'
import type { RooftopAccess } from '../calls.ts'
import { type AnswerContext, type AnswerHeaders, bodyError, requireJson } from '../http-body.ts'
import { RequestFault } from '../status-rules.ts'

/** An item of `/getevallist`. `updatedAt` is the text as sent, or ISO for Unix time; null when the item has none. */
interface ListedEvaluation {
  readonly evalId: number
  readonly updatedAt: string | null
}

/** The answer of `/getevallist`: each id once, in the order received. */
export interface EvaluationList {
  readonly items: readonly ListedEvaluation[]
  /** The source's time of the answer: its Date header, else the source clock. */
  readonly listedAt: Date
  /** Items without an id, a few among many that have one. */
  readonly malformed: readonly MalformedItem[]
}

/** A list item that names no record: for quarantine. */
export interface MalformedItem {
  /** Why; never a value. */
  readonly issue: string
  /** The item as JSON. */
  readonly text: string
}

/** The request bounds of the half-open window `[from, until)`, whole Unix seconds; `until: null` leaves `enddate` out. */
export function listBounds(range: { readonly from: number; readonly until: number | null }): {
  startdate: number
  enddate?: number
} {
  const { from, until } = range
  if (!Number.isSafeInteger(from) || (until !== null && !Number.isSafeInteger(until)))
    throw new RangeError(`A window has whole Unix seconds, not [${from}, ${until}).`)
  // Both bounds are exclusive and EntryDate has whole seconds: step back one to include `from` [A §4 /getevallist].
  return { startdate: from - 1, ...(until === null ? {} : { enddate: until }) }
}

/** Reads the items of a parsed answer by the wire settings. SyncError `abort` when there is no array at the path. The same when
 *  half of the items or more have no id: the setting must be wrong, and a short list would pass for the whole one. */
export function readList(
  body: unknown,
  wire: AppraisalWire['evalList'],
  context: AnswerContext,
): Omit<EvaluationList, 'listedAt'> {
  const found = valueAt(body, wire.items)
  if (!Array.isArray(found)) throw bodyError('abort', body, noArray, context)
  const items = new Map<number, ListedEvaluation>()
  const malformed: MalformedItem[] = []
  found.forEach((item: unknown) => {
    const evalId = toEvalId(valueAt(item, wire.id))
    if (evalId === null)
      malformed.push({ issue: noId, text: JSON.stringify(prunedJson(item)) ?? 'null' })
    else if (!items.has(evalId)) items.set(evalId, { evalId, updatedAt: readUpdate(item, wire) })
  })
  if (malformed.length > 0 && malformed.length * 2 >= found.length)
    throw bodyError('abort', body, noIds(malformed.length, found.length), context)
  return { items: [...items.values()], malformed }
}

const noArray =
  'holds no array of evaluations. Set wire.appraisal.evalList.items to the path of the array in the answer: "forecourt wire check" finds it.'
/** What is wrong with an empty list while nothing shows that its path is right. */
export const otherArray =
  'holds an empty array of evaluations, and another array that is not empty. Set wire.appraisal.evalList.items to the path of the evaluations: "forecourt wire check" finds it.'
const noIds = (without: number, all: number) =>
  `has ${without} of ${all} items without a positive integer as id. Set wire.appraisal.evalList.id to the path of the id in an item: "forecourt wire check" finds it.`
const noId = 'no positive integer at the path that wire.appraisal.evalList.id gives for the id'

/** The id of an evaluation; null for any other value. */
export function toEvalId(value: unknown): number | null {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : null
}

function readUpdate(item: unknown, wire: AppraisalWire['evalList']): string | null {
  const value = valueAt(item, wire.updatedAt)
  const text = typeof value === 'string' && value !== '' ? value : null
  return parseEpoch(value)?.toISOString() ?? text
}

/** A `/geteval` answer that stayed cut off or broken: the cause of the SyncError `skip`, so that its text can be quarantined. */
export class UnreadableBody extends RequestFault {
  override readonly name = 'UnreadableBody'
  // Private, not a property: loggers copy an error's properties, and the text holds a customer.
  readonly #text: string

  constructor(text: string) {
    super('brokenRecord', 'the body is broken JSON, or was cut off')
    this.#text = text
  }

  /** The body as received. */
  get text(): string {
    return this.#text
  }
}

/** Accepts a body that begins with `[` and ends with `]`. Does not parse it: the pipeline hashes the text, and parses it only when it changed.
 *  RequestFault: a proxy's page or nothing. UnreadableBody: cut off. SyncError `skip`: whole, but no array [A §4 /geteval]. */
export function checkEvaluationBody(
  text: string,
  headers: AnswerHeaders,
  context: () => AnswerContext,
): void {
  requireJson(text, headers)
  const body = text.trim()
  if (body.startsWith('[') && body.endsWith(']')) return
  const value = jsonValue(body)
  if (value === undefined) throw new UnreadableBody(text)
  // A 2xx body with `error` is an error; a repeat would bring the same.
  throw bodyError('skip', value, 'is not an array of evaluations.', context())
}

/** Whether a body that passed the check is an empty array. */
export function isEmptyArray(text: string): boolean {
  return /^\s*\[\s*\]\s*$/.test(text)
}

/** The users of a parsed `/getuserlist` answer [A §4]. An item that is not a user is reported by position and path, never by value.
 *  SyncError `abort` when the answer is not an array. */
export function readUsers(
  body: unknown,
  context: AnswerContext,
): { users: User[]; malformed: { index: number; issue: string }[] } {
  if (!Array.isArray(body)) throw bodyError('abort', body, 'is not an array of users.', context)
  const users: User[] = []
  const malformed: { index: number; issue: string }[] = []
  body.forEach((item: unknown, index) => {
    const parsed = user.safeParse(item)
    if (parsed.success) users.push(parsed.data)
    else malformed.push({ index, issue: issuePaths(parsed.error.issues) })
  })
  return { users, malformed }
}

function issuePaths(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly code: string }[],
): string {
  return issues
    .map(({ path, code }) => `${path.map(String).join('.') || 'item'}: ${code}`)
    .join('; ')
}

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
