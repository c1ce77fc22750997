import { listPastCarHistory, listPastPpsr } from '../../contract/appraisal/checks.ts'
import { pastChecks } from '../../contract/appraisal/shapes.ts'
import { parseUtc } from '../../values/instant.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { storable } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { type Issue, RecordIssues } from '../stream.ts'

export type CheckKind = 'ppsr' | 'car_history'

/** The reads that list what was checked before, each item with a freshly signed link [A §4]. */
export const pastOperations = { ppsr: listPastPpsr, car_history: listPastCarHistory } as const

/** A PPSR search or a Car History report as the source lists it [A §2]. */
export interface PastCheck {
  /** What tells it from the other checks of its kind in the dealer group. */
  readonly ref: string
  readonly searchedAt: Date | null
  readonly watchStatus: string | null
  /** Signed, valid for a week: a secret. */
  readonly pdfUrl: string | null
  readonly searchNumber: string | null
  readonly certificateNumber: string | null
}

type Item = Readonly<Record<string, unknown>>

/** Pure. RecordIssues when the answer is of another shape, or an item has nothing that tells it from others. */
export function readPastChecks(body: unknown, { pastCheck }: AppraisalWire): PastCheck[] {
  const parsed = pastChecks.safeParse(body)
  if (!parsed.success)
    throw new RecordIssues(
      parsed.error.issues.map(({ path, message }) => ({ path: path.join('.') || '$', message })),
    )
  const issues: Issue[] = []
  const found = new Map<string, PastCheck>()
  for (const [index, item] of parsed.data.entries()) {
    const facts = readItem(item, pastCheck)
    const ref = textAt(item, pastCheck.id) ?? standIn(facts)
    if (ref === null)
      issues.push({
        path: `${index}`,
        message: 'has no id (wire.appraisal.pastCheck.id), and nothing that could stand in for it',
      })
    // Newest first: of two items that cannot be told apart the first one counts.
    else if (!found.has(ref)) found.set(ref, { ref, ...facts })
  }
  if (issues.length > 0) throw new RecordIssues(issues)
  return [...found.values()]
}

/** What a kept answer is told from the next by: without the links, which are signed anew each time. */
export function pastContent(body: unknown, { pastCheck: { pdfUrl } }: AppraisalWire): unknown {
  if (!Array.isArray(body)) return body
  return body.map((item) => without(item, pdfUrl))
}

function readItem(
  item: Item,
  names: { readonly createdAt: JsonPath; readonly pdfUrl: JsonPath },
): Omit<PastCheck, 'ref'> {
  const time = valueAt(item, names.createdAt)
  const url = valueAt(item, names.pdfUrl)
  return {
    searchedAt: typeof time === 'string' ? parseUtc(time) : null,
    watchStatus: textAt(item, 'WatchStatus', 40),
    pdfUrl: typeof url === 'string' && /^https?:\/\//i.test(url) ? storable(url) : null,
    searchNumber: textAt(item, 'SearchNumber'),
    certificateNumber: textAt(item, 'CertificateNumber'),
  }
}

/** The document shows no id: the provider's number, the time, or the link's own path tell a check apart too. */
function standIn({ searchNumber, certificateNumber, searchedAt, pdfUrl }: Omit<PastCheck, 'ref'>) {
  const number = searchNumber ?? certificateNumber ?? searchedAt?.toISOString() ?? null
  if (number !== null || pdfUrl === null) return number
  return pathOf(pdfUrl).slice(-80)
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url.replace(/[?#].*$/, '')
}

function textAt(item: Item, path: JsonPath, length = 80): string | null {
  const value = valueAt(item, path)
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const text = storable(String(value)).trim().slice(0, length)
  return text === '' ? null : text
}

/** A copy without what stands at the path, or at any of its candidates. */
function without(item: unknown, path: JsonPath): unknown {
  return [path].flat().reduce((left, each) => withoutKeys(left, each.split('.')), item)
}

function withoutKeys(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return value
  const { [key]: held, ...others } = value as Record<string, unknown>
  return rest.length === 0 ? others : { ...others, [key]: withoutKeys(held, rest) }
}
