import { contentHash } from '../../../values/content-hash.ts'
import { isRecordTime, parseEpoch, parseUtc } from '../../../values/instant.ts'
import { type JsonPath, valueAt } from '../../../values/json-path.ts'
import { RecordIssues } from '../../../values/record.ts'
import { storable } from '../../../values/text.ts'
import type { AppraisalWire } from '../../../values/wire.ts'
import { listPastCarHistory, listPastPpsr } from './checks.ts'
import { pastChecks } from './shapes.ts'

export type CheckKind = 'ppsr' | 'car_history'

/** The reads that list what was checked before, each item with a freshly signed link [A §4]. */
export const pastOperations = { ppsr: listPastPpsr, car_history: listPastCarHistory } as const

/** A PPSR search or a Car History report as the source lists it [A §2]. */
export interface PastCheck {
  /** Identifies it among the checks of its kind: in the dealer group, or only on its vehicle (`isOfVehicle`). */
  readonly ref: string
  readonly isOfVehicle: boolean
  readonly searchedAt: Date | null
  /** There is a value at the path of the time, and it is none. */
  readonly hasUnreadableTime?: true
  readonly watchStatus: string | null
  /** Signed, valid for a week: a secret. */
  readonly pdfUrl: string | null
  readonly searchNumber: string | null
  readonly certificateNumber: string | null
}

type Item = Readonly<Record<string, unknown>>
type Facts = Omit<PastCheck, 'ref' | 'isOfVehicle'>

/** Pure. The checks of a vehicle, without items that cannot be identified. RecordIssues when the answer has another shape, or
 *  nothing but such items. */
export function readPastChecks(
  body: unknown,
  { pastCheck }: Pick<AppraisalWire, 'pastCheck'>,
): PastCheck[] {
  const parsed = pastChecks.safeParse(body)
  if (!parsed.success) throw RecordIssues.fromShape(parsed.error)
  const found = new Map<string, PastCheck>()
  for (const item of parsed.data) {
    const facts = readItem(item, pastCheck)
    const id = textAt(item, pastCheck.id) ?? facts.searchNumber ?? facts.certificateNumber
    const ref = id ?? substituteRef(facts)
    // Of two items with the same ref the first one counts: it is the newer.
    if (ref !== null && !found.has(ref)) found.set(ref, { ref, isOfVehicle: id === null, ...facts })
  }
  if (found.size === 0 && parsed.data.length > 0) {
    const message = 'has no id (wire.appraisal.pastCheck.id), and nothing to use instead'
    throw new RecordIssues([{ path: '0', message }])
  }
  return [...found.values()]
}

/** The key of a check in its dealer group. */
export function buildCheckRef({ ref, isOfVehicle }: PastCheck, vin: string): string {
  return isOfVehicle ? `${vin}-${ref}` : ref
}

/** The part of an answer that decides whether it is stored again: without the links, which are signed at every read. */
export function pastContent(
  body: unknown,
  { pastCheck: { pdfUrl } }: Pick<AppraisalWire, 'pastCheck'>,
): unknown {
  if (!Array.isArray(body)) return body
  return body.map((item) => without(item, pdfUrl))
}

/** An answer about checks without any signed link: a list, or the check that was paid for. */
export function withoutLinks(
  body: unknown,
  { pastCheck, ppsrCertificate, carHistory }: AppraisalWire,
): unknown {
  if (Array.isArray(body)) return pastContent(body, { pastCheck })
  return [ppsrCertificate.pdfUrl, carHistory.pdfUrl].reduce(without, body)
}

function readItem(
  item: Item,
  names: { readonly createdAt: JsonPath; readonly pdfUrl: JsonPath },
): Facts {
  const time = valueAt(item, names.createdAt)
  const url = valueAt(item, names.pdfUrl)
  const searchedAt = readTime(time)
  const isEmpty = time === undefined || time === null || time === ''
  return {
    searchedAt,
    ...(searchedAt === null && !isEmpty ? { hasUnreadableTime: true } : {}),
    watchStatus: textAt(item, 'WatchStatus', 40),
    pdfUrl: typeof url === 'string' && /^https?:\/\//i.test(url) ? storable(url) : null,
    searchNumber: textAt(item, 'SearchNumber'),
    certificateNumber: textAt(item, 'CertificateNumber'),
  }
}

/** null: it is not a time, or none that a check may have. */
function readTime(value: unknown): Date | null {
  const at = parseEpoch(value) ?? (typeof value === 'string' ? parseUtc(value) : null)
  return at !== null && isRecordTime(at) ? at : null
}

/** A ref for an item without an id, which the document does not show: from the time, or the link without its signature. */
function substituteRef({ searchedAt, pdfUrl }: Facts): string | null {
  const signature = searchedAt?.toISOString() ?? (pdfUrl === null ? null : unsigned(pdfUrl))
  return signature === null ? null : contentHash(signature).toString('hex').slice(0, 16)
}

const signing =
  /sig|expire|token|credential|algorithm|policy|key-?pair|^x-(amz|goog)|^s[a-z]{1,4}$/i

/** Path and query of a link, without the parts that change with each signature. */
function unsigned(url: string): string {
  if (!URL.canParse(url)) return url.replace(/[?#].*/s, '')
  const { pathname, searchParams } = new URL(url)
  return JSON.stringify([pathname, ...[...searchParams].filter(([name]) => !signing.test(name))])
}

function textAt(item: Item, path: JsonPath, length = 80): string | null {
  const value = valueAt(item, path)
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const text = storable(String(value)).trim().slice(0, length)
  return text === '' ? null : text
}

/** A copy without the value at the path, or at any of its candidates. */
function without(item: unknown, path: JsonPath): unknown {
  return [path].flat().reduce((left, each) => withoutKeys(left, each.split('.')), item)
}

function withoutKeys(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return value
  const { [key]: held, ...others } = value as Record<string, unknown>
  return rest.length === 0 ? others : { ...others, [key]: withoutKeys(held, rest) }
}
