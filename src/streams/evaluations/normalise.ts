import { z } from 'zod'
import {
  type Evaluation,
  evaluation as evaluationShape,
} from '../../api/contract/appraisal/shapes.ts'
import { contentHash } from '../../values/content-hash.ts'
import {
  isAhead,
  isRecordTime,
  localDay,
  parseInstant,
  parseUtc,
  yearsMessage,
} from '../../values/instant.ts'
import { valueAt } from '../../values/json-path.ts'
import { RecordIssues } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable, storableJson } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { TableRow } from '../../warehouse/db/copy.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { Reader } from './reader.ts'

/** One evaluation as it is stored. `content` is what its hash covers; links and UpdatedAt are not part of it. */
export interface EvaluationRecord {
  readonly evalId: number
  /** UpdatedAt; where that is ahead of the source's clock, a time that no later edit can be older than. */
  readonly updatedAt: Date
  /** UpdatedAt was ahead of the source's clock, so it does not make the record newer. */
  readonly isUpdateAhead: boolean
  readonly entryAt: Date
  readonly user: { readonly email: string; readonly name: string | null } | null
  readonly content: EvaluationContent
  readonly hash: Buffer
  readonly warnings: readonly { readonly check: string; readonly detail: string }[]
}

/** The rows that a record makes, by kind. */
interface EvaluationContent {
  /** Columns of core.evaluation that come from the record. */
  readonly evaluation: EvaluationColumns
  /** The salesperson by e-mail: the hash must not depend on our surrogate key. */
  readonly userEmail: string | null
  readonly recon: readonly ReconColumns[]
  readonly photos: readonly PhotoColumns[]
  readonly customFields: readonly CustomFieldColumns[]
  readonly userPrices: readonly UserPriceColumns[]
  readonly customer: CustomerColumns
}

type Own<T extends keyof Tables, Added extends string = never> = Omit<
  TableRow<T>,
  'rooftop_id' | 'eval_id' | Added
>
type EvaluationColumns = Own<
  'core.evaluation',
  | 'group_id'
  | 'user_id'
  | 'entry_at'
  | 'source_updated_at'
  | 'version_no'
  | 'content_hash'
  | 'first_loaded_at'
  | 'last_changed_at'
  | 'gone_at'
  | 'run_id'
>
type ReconColumns = Own<'core.reconditioning_item', 'first_version' | 'last_version'>
type PhotoColumns = Own<'core.photo', 'first_seen_at' | 'removed_at'>
type CustomFieldColumns = Own<'core.custom_field_value'>
type UserPriceColumns = Own<'core.user_price'>
type CustomerColumns = Own<'pii.evaluation_customer', 'erased_at'>

/** Without the other fields, which the reader takes from the answer itself: copying them took a third of the check. */
const documentedFields = z.object(evaluationShape.shape)

/** The evaluation with this id in an answer of `/geteval`, which is an array [A §4]; a webhook body is the item itself [A §6]. */
export function findEvaluation(body: unknown, evalId: number): unknown {
  if (!Array.isArray(body)) return body
  return body.find((item) => valueAt(item, 'EvalID') === evalId) ?? body[0]
}

/** Pure. RecordIssues lists everything that does not fit. `readAt` is the source's clock at the reading; left out, no
 *  UpdatedAt is ahead of it. Source: [A §2 Evaluation]. */
export function normaliseEvaluation(
  body: unknown,
  evalId: number,
  rooftop: RooftopRow,
  wire: AppraisalWire,
  readAt: Date | null = null,
): EvaluationRecord {
  const raw = findEvaluation(body, evalId)
  const parsed = documentedFields.safeParse(raw)
  if (!parsed.success) throw new RecordIssues(parsed.error.issues.map(asIssue))
  const item = parsed.data
  const reader = new Reader(raw)
  if (item.EvalID !== evalId)
    reader.fail('EvalID', `is ${item.EvalID}, but ${evalId} was asked for`)
  const times = readTimes(item, reader, readAt)
  const userEmail = reader.text('UserEmail', 320)?.trim() || null
  const names = loadedNames(wire)
  const content: EvaluationContent = {
    evaluation: readEvaluation(item, times, reader, rooftop, names),
    userEmail: userEmail?.toLowerCase() ?? null,
    recon: readRecon(item, reader),
    photos: readPhotos(item, reader),
    customFields: readCustomFields(item, reader, wire),
    userPrices: readUserPrices(item, reader, wire),
    customer: readCustomer(reader, names),
  }
  if (reader.issues.length > 0) throw new RecordIssues(reader.issues)
  return {
    evalId,
    updatedAt: times.updatedAt,
    isUpdateAhead: times.isUpdateAhead,
    entryAt: times.entryAt,
    user: userEmail === null ? null : { email: userEmail, name: reader.text('UserName', 200) },
    content,
    hash: contentHash(plainTimes(content)),
    warnings: contradictions(item, times),
  }
}

/** The names of the fields that fill columns: those of held columns are nowhere. */
function loadedNames({ evaluation, held }: AppraisalWire): AppraisalWire['evaluation'] {
  if (held.length === 0) return evaluation
  return { ...evaluation, ...Object.fromEntries(held.map((name) => [name, []])) }
}

/** Turns Dates into text: JSON.stringify is several times faster without values that have a `toJSON`. */
function plainTimes({ evaluation, ...content }: EvaluationContent) {
  const { created_at, completed_at } = evaluation as { created_at: Date; completed_at: Date | null }
  const times = {
    created_at: created_at.toISOString(),
    completed_at: completed_at?.toISOString() ?? null,
  }
  return { evaluation: { ...evaluation, ...times }, ...content }
}

/** Where this evaluation contradicts what the document promises [A §2]. */
function contradictions(item: Evaluation, times: Times): { check: string; detail: string }[] {
  const { createdAt, entryAt, completedAt } = times
  const apart = Math.abs(createdAt.getTime() - entryAt.getTime()) / 1000
  const found = [
    apart > 1 && {
      check: 'entry-date-disagrees',
      detail: `EntryDate and CreatedAt are ${Math.round(apart)} s apart`,
    },
    completedAt !== null &&
      completedAt < createdAt && {
        check: 'completed-before-created',
        detail: `CompletedAt ${completedAt.toISOString()} is before ${createdAt.toISOString()}`,
      },
    (item.Photos ?? []).length > 0 &&
      !item.Photos!.some((photo) => photo.hero) && {
        check: 'photos-without-hero',
        detail: `${item.Photos!.length} photos, none of them the hero`,
      },
    times.isUpdateAhead && {
      check: 'updated-at-ahead',
      detail: `UpdatedAt ${item.UpdatedAt} is ahead of the source's clock: it does not count as newer`,
    },
  ]
  return found.filter((warning) => warning !== false)
}

interface Times {
  readonly createdAt: Date
  readonly createdAtSource: 'CreatedAt' | 'EntryDate'
  readonly entryAt: Date
  readonly completedAt: Date | null
  readonly updatedAt: Date
  readonly isUpdateAhead: boolean
}

/** CreatedAt, CompletedAt and UpdatedAt are preferred; EntryDate, which the list filters on, is UTC without a designator [A §2]. */
function readTimes(item: Evaluation, reader: Reader, readAt: Date | null): Times {
  const created = recordTime(item, 'CreatedAt', reader, parseInstant)
  const entry = recordTime(item, 'EntryDate', reader, parseUtc)
  if (item.EntryDate && !entry) reader.fail('EntryDate', 'is not YYYY-MM-DD hh:mm:ss')
  if (!created && !entry) reader.fail('CreatedAt', 'is missing, and so is EntryDate')
  const createdAt = created ?? entry ?? new Date(0)
  const completedAt = recordTime(item, 'CompletedAt', reader, parseInstant)
  const isFuture = (at: Date) => readAt !== null && isAhead(at, readAt)
  const given = item.UpdatedAt ? parseInstant(item.UpdatedAt) : null
  const isUpdateAhead = given !== null && isFuture(given)
  const updated = isUpdateAhead ? null : recordTime(item, 'UpdatedAt', reader, parseInstant)
  const settledAt = completedAt ?? createdAt
  return {
    createdAt,
    createdAtSource: created ? 'CreatedAt' : 'EntryDate',
    entryAt: entry ?? createdAt,
    completedAt,
    updatedAt: isUpdateAhead
      ? beforeAnyEdit(isFuture(settledAt) ? null : settledAt, readAt!)
      : (updated ?? settledAt),
    isUpdateAhead,
  }
}

/** A time before any true UpdatedAt, so that the next one in the list counts as newer. When the other times are ahead too, they
 *  may be local times read as UTC: none of these is a day ahead. */
function beforeAnyEdit(settledAt: Date | null, readAt: Date): Date {
  return new Date((settledAt?.getTime() ?? readAt.getTime() - 86_400_000) - 1000)
}

function recordTime(
  item: Evaluation,
  field: 'CreatedAt' | 'CompletedAt' | 'UpdatedAt' | 'EntryDate',
  reader: Reader,
  parse: (text: string) => Date | null,
): Date | null {
  const text = item[field]
  const at = text ? parse(text) : null
  if (at !== null && !isRecordTime(at)) reader.fail(field, yearsMessage)
  return at
}

function readEvaluation(
  item: Evaluation,
  times: Times,
  reader: Reader,
  rooftop: RooftopRow,
  names: AppraisalWire['evaluation'],
): EvaluationColumns {
  const costs = (item.reconditioning_list ?? []).flatMap((line) => line.cost ?? [])
  const photos = item.Photos ?? []
  return {
    vin: reader.text('VIN', 32),
    make: reader.text(names.make, 120),
    model: reader.text(names.model, 200),
    variant: reader.text(names.variant, 255),
    model_year: reader.integer(names.year, 1886, 9999),
    registration_state: reader.text(names.registrationState, 10),
    colour: reader.text(names.colour, 120),
    created_at: times.createdAt,
    created_at_source: times.createdAtSource,
    completed_at: times.completedAt,
    created_date_local: localDay(times.createdAt, rooftop.timeZone),
    completed_date_local: times.completedAt && localDay(times.completedAt, rooftop.timeZone),
    odometer: reader.odometer(names.odometer, rooftop.odometerUnit),
    odometer_unit: rooftop.odometerUnit,
    condition_score: reader.integer(names.condition, 0, 10),
    final_price: reader.money('FinalPrice'),
    recon_total: reader.money('Reconditioning'),
    recon_line_total: costs.length === 0 ? null : reader.moneyOf(sum(costs), 'reconditioning_list'),
    currency_code: rooftop.currency,
    photo_count: new Set(photos.map((photo) => photo.id)).size,
    hero_source: reader.textOf(photos.find((photo) => photo.hero)?.heroSource, 'Photos', 20),
    user_price_count: item.UserPrices?.length ?? 0,
    customer_state: reader.text(names.customerState, 20),
    customer_postcode: reader.text(names.customerPostcode, 20),
  }
}

function readRecon(item: Evaluation, reader: Reader): ReconColumns[] {
  return (item.reconditioning_list ?? []).map((line, index) => {
    const at = `reconditioning_list[${index}]`
    const value = line.value === null || line.value === undefined ? null : String(line.value)
    return {
      line_no: index + 1,
      recon_type: reader.textOf(line.type, `${at}.type`, 120),
      source: reader.textOf(line.source, `${at}.source`, 120),
      cost: reader.moneyOf(line.cost, `${at}.cost`),
      value_text: reader.textOf(value, `${at}.value`, 1000),
      battery_soh_pct: line.type?.toLowerCase() === 'info' ? percentage(value) : null,
    }
  })
}

/** `87%` as `87.00`; null when it is not a percentage from 0 to 100 [A §2 reconditioning_list]. */
function percentage(value: string | null): string | null {
  const found = /^\s*(\d{1,3}(?:\.\d+)?)\s*%\s*$/.exec(value ?? '')
  return found && Number(found[1]) <= 100 ? Number(found[1]).toFixed(2) : null
}

function readPhotos(item: Evaluation, reader: Reader): PhotoColumns[] {
  const byId = new Map<number, PhotoColumns>()
  for (const [index, photo] of (item.Photos ?? []).entries()) {
    if (byId.has(photo.id)) continue
    const at = `Photos[${index}]`
    byId.set(photo.id, {
      photo_id: photo.id,
      display_position: index + 1,
      supplied_order: reader.orderOf(photo.order, `${at}.order`),
      is_hero: photo.hero,
      hero_source: photo.hero ? reader.textOf(photo.heroSource, `${at}.heroSource`, 20) : null,
      angle: reader.textOf(photo.angle, `${at}.angle`, 120),
    })
  }
  return [...byId.values()]
}

/** An object of name → value or of name → { type, value }, or an array of { name, type, value }: the shape is not shown [A §2]. */
function readCustomFields(
  item: Evaluation,
  reader: Reader,
  { customField: names }: AppraisalWire,
): CustomFieldColumns[] {
  const fields = item.customFields ?? {}
  const entries: [string, unknown][] = Array.isArray(fields)
    ? fields.map((field, index) => [String(valueAt(field, names.name) ?? `[${index}]`), field])
    : Object.entries(fields)
  const byName = new Map<string, CustomFieldColumns>()
  for (const [key, field] of entries) {
    const at = `customFields.${key}`
    const nested = field !== null && typeof field === 'object' && !Array.isArray(field)
    const name = reader.textOf(key, at, 200)
    if (name === null) continue
    byName.set(name, {
      field_name: name,
      field_type: nested
        ? reader.textOf(plain(valueAt(field, names.type)), `${at}.type`, 120)
        : null,
      value_text: asText(nested ? valueAt(field, names.value) : field),
    })
  }
  return [...byName.values()]
}

function readUserPrices(
  item: Evaluation,
  reader: Reader,
  { userPrice: names }: AppraisalWire,
): UserPriceColumns[] {
  return (item.UserPrices ?? []).map((price, index) => {
    const amount = typeof price === 'number' ? price : valueAt(price, names.amount)
    const currency = valueAt(price, names.currency)
    return {
      position: index + 1,
      amount: typeof amount === 'number' ? reader.moneyOf(amount, `UserPrices[${index}]`) : null,
      currency_code: typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? currency : null,
      body: JSON.stringify(storableJson(price ?? null)),
    }
  })
}

function readCustomer(reader: Reader, names: AppraisalWire['evaluation']): CustomerColumns {
  return {
    customer_name: reader.text(names.customerName, 300),
    phone: reader.text(names.customerPhone, 60),
    email: reader.text(names.customerEmail, 320),
    address: reader.text(names.customerAddress, 500),
    suburb: reader.text(names.customerSuburb, 200),
    registration_plate: reader.text(names.registration, 30),
    notes: reader.text(names.notes, 1_000_000),
  }
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(storableJson(value)) : storable(String(value))
}

function plain(value: unknown): unknown {
  return typeof value === 'object' ? null : value
}

/** Costs have at most three decimals: summed in thousandths, so that 0.1 + 0.2 is 0.3. */
function sum(costs: readonly number[]): number {
  return costs.reduce((total, cost) => total + Math.round(cost * 1000), 0) / 1000
}

function asIssue(issue: { path: PropertyKey[]; message: string; code?: string }) {
  const path = issue.path.reduce<string>(
    (at, part) =>
      typeof part === 'number' ? `${at}[${part}]` : at ? `${at}.${String(part)}` : String(part),
    '',
  )
  return { path: path || '$', message: issue.message }
}
