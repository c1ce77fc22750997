import { sql } from 'kysely'
import { allStreams } from '../../streams/all.ts'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { normaliseEvaluation } from '../../streams/evaluations/normalise.ts'
import { evaluationPeople } from '../../streams/evaluations/person.ts'
import { bodyHash, contentHash } from '../../values/content-hash.ts'
import type { Person, PersonRedaction } from '../../values/person.ts'
import { RecordIssues } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { withheldBody } from '../screen/redact.ts'
import { type Erased, parseJson, scrubAnswer, scrubPayload } from '../screen/scrub-payload.ts'
import {
  erasedMark,
  isErasedMark,
  numberedMark,
  withoutWholeTerms,
} from '../screen/search-terms.ts'
import { addCounts, type Counts, type ErasureWork, type EvaluationKey } from './erasure-work.ts'
import { type Hit, matchesTerms, redactColumn, rewrite, rowsOfEvaluations } from './scan.ts'
import type { TextColumn, TextTable } from './text-tables.ts'

/** Whether the customer in a payload is the person to erase. */
type IsSubject = (person: Person) => boolean

/** What to remove from an evaluation. For a mention, payloads whose customer fits `isSubject` are
 *  scrubbed like the customer's own. */
export interface EvaluationErasure {
  readonly key: EvaluationKey
  readonly erased: Erased
  readonly isSubject?: IsSubject | undefined
}

/** Removes the customer, or a mention of them, from all rows of some evaluations of one dealer group. Returns the changes of
 *  each in order. Vehicle facts stay. All rows are read together, because a customer may have hundreds of evaluations. */
export async function eraseEvaluations(
  work: ErasureWork,
  erasures: readonly EvaluationErasure[],
): Promise<Counts[]> {
  const counts: Counts[] = []
  for (const { key, erased, isSubject } of erasures) {
    const bodies = await scrubBodies(work, { key, erased, isSubject })
    const blanked = erased.scope === 'customer' ? await blankCustomer(work.db, key) : {}
    counts.push(addCounts(bodies, blanked))
  }
  const [first] = erasures
  if (first === undefined) return counts
  const ids = erasures.map(({ key }) => key.evalId)
  for (const table of work.tables.filter(({ name, belongs }) => belongs && name !== noTexts)) {
    const hits = await rowsOfEvaluations(work.db, table, first.key.rooftopIds, ids, true)
    const others = table.name === 'raw.payload' ? hits.filter((hit) => !isBody(hit)) : hits
    const byId = Map.groupBy(others, ({ evaluation }) => evaluation?.evalId)
    for (const [index, { key, erased, isSubject }] of erasures.entries()) {
      const forms = byId.get(key.evalId) ?? []
      const changed = await scrubRows(work, key, { ...erased, isSubject }, table, forms)
      counts[index] = addCounts(counts[index]!, { [table.name]: changed })
    }
  }
  return counts
}

/** Its texts are names of fields. */
const noTexts = 'core.evaluation_version'

async function scrubRows(
  work: ErasureWork,
  { evalId }: EvaluationKey,
  erased: Erased & { readonly isSubject: IsSubject | undefined },
  table: TextTable,
  hits: readonly Hit[],
): Promise<number> {
  const { db, wire } = work
  if (table.name === 'raw.payload') return await scrubAnswers(work, hits, erased)
  // A row must be what a load would write for the scrubbed body.
  const isOfStream = (evaluationRecords.tables as readonly string[]).includes(table.name)
  const terms =
    isOfStream && table.name !== 'core.evaluation' ? erased.terms : withoutWholeTerms(erased.terms)
  return await rewrite(db, hits, (text, column, hit) => {
    if (column.name === 'payload' && isQuarantinedEvaluation(hit))
      return scrubPayload(
        evaluationPeople,
        evalId,
        text,
        wire,
        erasedIn(text, evalId, wire, erased),
      )
    const whole = erased.scope === 'customer' ? insteadOfWhole(column, hit) : null
    if (whole !== null) return whole
    return table.name === 'core.user_price' && column.name === 'body'
      ? scrubPrice(text, evalId, wire, erased)
      : redactColumn(column, text, terms)
  })
}

/** A user price, scrubbed as in the body that it was loaded from. */
function scrubPrice(text: string, evalId: number, wire: ErasureWork['wire'], erased: Erased) {
  const before = `{"UserPrices":[${text}]}`
  const after = scrubPayload(evaluationPeople, evalId, before, wire, erased)
  if (after === before) return text
  return JSON.stringify((JSON.parse(after) as { UserPrices: unknown[] }).UserPrices[0])
}

/** Whether a row still has data that an erasure removes. Data of the vehicle and of the dealer's
 *  staff stays in a body. */
export function isStillThere(
  { wire }: Pick<ErasureWork, 'wire'>,
  hit: Hit,
  { scope, terms }: Erased,
): boolean {
  const isLeft = (column: TextColumn, index: number) => {
    const text = hit.texts[index] ?? null
    const whole = insteadOfWhole(column, hit)
    return text !== null && whole !== null && text !== whole
  }
  if (hit.evaluation !== null && scope === 'customer' && hit.table.columns.some(isLeft)) return true
  const column = isBody(hit) ? 'body' : isQuarantinedEvaluation(hit) ? 'payload' : null
  const text = column === null ? null : valueIn(hit, column)
  if (hit.evaluation === null || text === null)
    return matchesTerms(hit, terms, { ignoreFacts: true })
  const { evalId } = hit.evaluation
  const scrubbed = scrubPayload(
    evaluationPeople,
    evalId,
    text,
    wire,
    { scope, terms },
    blankUnmarked,
  )
  return scrubbed !== JSON.stringify(parseJson(text) ?? null) && scrubbed !== text
}

/** Blanks values, but not the marks of an earlier erasure. */
function blankUnmarked(_: string, value: unknown): unknown {
  return isErasedMark(value) ? value : value === undefined ? undefined : null
}

/** What replaces a text that goes as a whole, because any of its fields may be about the customer whose it is; null: it does not. */
export function insteadOfWhole({ name, isWebhook }: TextColumn, hit: Hit): string | null {
  if (isWebhook) return withheldBody
  const isRecord = hit.evaluation !== null && isQuarantinedEvaluation(hit)
  return hit.table.name === 'ops.quarantine' && name === 'payload' && !isRecord ? erasedMark : null
}

function isQuarantinedEvaluation(hit: Hit): boolean {
  return hit.table.name === 'ops.quarantine' && valueIn(hit, 'stream') === evaluationRecords.name
}

function isBody(hit: Hit): boolean {
  return hit.table.name === 'raw.payload' && valueIn(hit, 'endpoint') === evaluationRecords.endpoint
}

function valueIn({ table, texts }: Hit, name: string): string | null {
  return texts[table.columns.findIndex((column) => column.name === name)] ?? null
}

/** Scrubs answers to other calls about the evaluation. Their hash becomes that of the scrubbed answer, as a load computes it. */
async function scrubAnswers(
  { db, wire }: ErasureWork,
  hits: readonly Hit[],
  erased: Erased,
): Promise<number> {
  let changed = 0
  for (const hit of hits) {
    const before = parseJson(valueIn(hit, 'body')!)
    const endpoint = valueIn(hit, 'endpoint')!
    const body = scrubAnswer(before, endpoint, wire, erased)
    if (body === before) continue
    const { enrichment } = allStreams.find((one) => one.enrichment?.asks.includes(endpoint)) ?? {}
    const text = JSON.stringify(body)
    const hash =
      enrichment === undefined
        ? bodyHash(text)
        : contentHash(enrichment.contentOf(body, endpoint, wire))
    await sql`
      update raw.payload set body = ${text}::json, content_hash = ${hash}
      where ctid = ${hit.ctid}::tid`.execute(db)
    changed++
  }
  return changed
}

const customerColumns = [
  ...['customer_name', 'phone', 'email', 'address', 'suburb', 'registration_plate', 'notes'],
]

/** Blanks the customer's columns, and every custom field, because it may contain anything. */
async function blankCustomer(db: Db, { rooftopIds, evalId }: EvaluationKey): Promise<Counts> {
  const isOfKey = sql`rooftop_id = any(${rooftopIds}::int[]) and eval_id = ${evalId}::bigint`
  const blanks = customerColumns.map((column) => `${column} = null`)
  const customers = await sql`
    update pii.evaluation_customer
    set ${sql.raw(blanks.join(', '))}, erased_at = date_trunc('milliseconds', now())
    where ${isOfKey} and (num_nonnulls(${sql.raw(customerColumns.join(', '))}) > 0
      or erased_at is null)`.execute(db)
  const fields = await sql`
    update core.custom_field_value set value_text = null
    where ${isOfKey} and value_text is not null`.execute(db)
  return addCounts({
    'pii.evaluation_customer': Number(customers.numAffectedRows),
    'core.custom_field_value': Number(fields.numAffectedRows),
  })
}

interface Body {
  readonly ctid: string
  readonly rooftopId: number
  readonly fetchedAt: Date
  readonly text: string
}

/**
 * Scrubs every stored body of an evaluation. The newest becomes what a load would store, so that an unchanged source stays
 * unchanged. Older ones get a numbered mark where a value differed from the next body's, so that a replay finds the same
 * versions with the same changed fields.
 */
async function scrubBodies(
  work: ErasureWork,
  { key, erased, isSubject }: EvaluationErasure,
): Promise<Counts> {
  const { db, wire } = work
  const bodies = await readBodies(db, key)
  let newer: Blanked | null = null
  const scrubbed: (Body & { readonly before: string })[] = []
  for (const [index, body] of bodies.entries()) {
    const blanked: Blanked = new Map()
    const blank = blankAgainst(newer, blanked, bodies.length - index)
    const inBody = erasedIn(body.text, key.evalId, wire, { ...erased, isSubject })
    const text = scrubPayload(evaluationPeople, key.evalId, body.text, wire, inBody, blank)
    if (isSubject && inBody.scope === 'mention') recordValues(blanked, text, key.evalId, wire)
    scrubbed.push({ ...body, before: body.text, text })
    newer = blanked
  }
  const changed = scrubbed.filter(({ text, before }) => text !== before)
  for (const { ctid, text } of changed)
    await sql`
      update raw.payload set body = ${text}::json, content_hash = ${bodyHash(text)}
      where ctid = ${ctid}::tid`.execute(db)
  const rehashed = await rehash(work, key, scrubbed, erased.scope === 'customer')
  return { 'raw.payload': changed.length, ...rehashed }
}

/** What to remove from one payload of an evaluation that was the customer's for some time. */
function erasedIn(
  text: string,
  evalId: number,
  wire: ErasureWork['wire'],
  { scope, terms, isSubject }: Erased & { readonly isSubject: IsSubject | undefined },
): Erased {
  const body = isSubject && scope === 'mention' ? parseJson(text) : undefined
  const isOwn = body !== undefined && isSubject!(evaluationPeople.readPerson(body, evalId, wire))
  return { scope: isOwn ? 'customer' : scope, terms }
}

/** Records the values of a customer who stays, for the comparison with the next older body. */
function recordValues(
  blanked: Blanked,
  text: string,
  evalId: number,
  wire: ErasureWork['wire'],
): void {
  const blank = (path: string, value: unknown) => {
    blanked.set(path, { was: JSON.stringify(value ?? null), now: value })
    return value
  }
  const body = parseJson(text)
  if (body === undefined) return
  const same = <T>(value: T): T => value
  evaluationPeople.withoutPerson(body, evalId, wire, { redact: same, redactFact: same, blank })
}

/** No content has this hash, so the next load writes the evaluation again. */
const unknownHash = Buffer.alloc(32)

/** Blanked values by JSON path: the value before, and the value now. */
type Blanked = Map<string, { readonly was: string; readonly now: unknown }>

function blankAgainst(
  newer: Blanked | null,
  blanked: Blanked,
  version: number,
): NonNullable<PersonRedaction['blank']> {
  return (path, value) => {
    const was = JSON.stringify(value ?? null)
    const next = newer?.get(path)
    const now = isErasedMark(value)
      ? value
      : next === undefined || next.was === was
        ? next?.now
        : numberedMark(version)
    blanked.set(path, { was, now })
    return now ?? (value === undefined ? undefined : null)
  }
}

async function readBodies(db: Db, { rooftopIds, evalId }: EvaluationKey): Promise<Body[]> {
  const { rows } = await sql<Body>`
    select ctid::text as ctid, rooftop_id as "rooftopId", fetched_at as "fetchedAt", body::text as text
    from raw.payload where rooftop_id = any(${rooftopIds}::int[]) and endpoint = ${evaluationRecords.endpoint}
      and natural_key = ${String(evalId)}
    order by fetched_at desc for no key update`.execute(db)
  return rows
}

/** Sets the hashes of rows and versions to those of the scrubbed bodies, so that they reveal nothing of the customer and an
 *  unchanged answer of the source counts as unchanged. The hash covers state and postcode, so these are erased too. */
async function rehash(
  { db, wire }: ErasureWork,
  { rooftopIds, evalId }: EvaluationKey,
  bodies: readonly Body[],
  isCustomer: boolean,
): Promise<Counts> {
  const rooftops = await readRooftops(db, rooftopIds)
  const hashed = bodies.flatMap(({ rooftopId, fetchedAt, text }) => {
    const rooftop = rooftops.get(rooftopId)
    const hash = rooftop && evaluationHash(text, evalId, rooftop, wire)
    return hash ? [{ fetchedAt, hash }] : []
  })
  const [newest] = hashed
  const hash = newest?.hash ?? unknownHash
  const evaluation = await sql`
    update core.evaluation set content_hash = ${hash},
      customer_state = case when not ${isCustomer} then customer_state end,
      customer_postcode = case when not ${isCustomer} then customer_postcode end
    where rooftop_id = any(${rooftopIds}::int[]) and eval_id = ${evalId}::bigint
      and (content_hash <> ${hash}
        or ${isCustomer} and num_nonnulls(customer_state, customer_postcode) > 0)`.execute(db)
  const versions = await sql`
    update core.evaluation_version as version set content_hash = known.hash
    from (
      select version_no, coalesce(body.hash, sha256(convert_to('erased ' || version_no, 'utf8'))) as hash
      from core.evaluation_version
      left join unnest(${hashed.map(({ fetchedAt }) => fetchedAt)}::timestamptz[],
        ${hashed.map(({ hash }) => hash)}::bytea[]) as body (fetched_at, hash) on body.fetched_at = observed_at
      where rooftop_id = any(${rooftopIds}::int[]) and eval_id = ${evalId}::bigint
    ) as known
    where version.rooftop_id = any(${rooftopIds}::int[]) and version.eval_id = ${evalId}::bigint
      and version.version_no = known.version_no and version.content_hash <> known.hash`.execute(db)
  return {
    'core.evaluation': Number(evaluation.numAffectedRows),
    'core.evaluation_version': Number(versions.numAffectedRows),
  }
}

/** null: the body does not fit the contract, so it would not have been loaded. */
function evaluationHash(
  text: string,
  evalId: number,
  rooftop: RooftopRow,
  wire: ErasureWork['wire'],
): Buffer | null {
  try {
    return normaliseEvaluation(parseJson(text), evalId, rooftop, wire).hash
  } catch (error) {
    if (error instanceof RecordIssues) return null
    throw error
  }
}

async function readRooftops(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RooftopRow>> {
  const { rows } = await sql<RooftopRow>`
    select rooftop_id as id, group_id as "groupId", rooftop_uid as uid, rooftop_name as name, dealer_id as "dealerId",
      '' as "keyName", region, time_zone as "timeZone", currency_code as currency, odometer_unit as "odometerUnit"
    from core.rooftop where rooftop_id = any(${ids}::int[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}
