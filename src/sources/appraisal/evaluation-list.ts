import { prunedJson } from '../../values/json-depth.ts'
import { valueAt } from '../../values/json-path.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { type AnswerContext, bodyError } from '../http-fault.ts'

/** An item of `/getevallist`. `updatedAt` is the text as sent, null when the item has none. */
export interface ListedEvaluation {
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
    else if (!items.has(evalId)) items.set(evalId, { evalId, updatedAt: updateOf(item, wire) })
  })
  if (malformed.length > 0 && malformed.length * 2 >= found.length)
    throw bodyError('abort', body, noIds(malformed.length, found.length), context)
  return { items: [...items.values()], malformed }
}

const noArray =
  'holds no array of evaluations. Set wire.appraisal.evalList.items to the path of the array in the answer.'
const noIds = (without: number, all: number) =>
  `has ${without} of ${all} items without a positive integer as id. Set wire.appraisal.evalList.id to the path of the id in an item.`
const noId = 'no positive integer at the path that wire.appraisal.evalList.id gives for the id'

function toEvalId(value: unknown): number | null {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : null
}

function updateOf(item: unknown, wire: AppraisalWire['evalList']): string | null {
  const value = valueAt(item, wire.updatedAt)
  return typeof value === 'string' && value !== '' ? value : null
}
