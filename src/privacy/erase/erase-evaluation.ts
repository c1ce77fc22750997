import { sql } from 'kysely'
import { allStreams } from '../../streams/all.ts'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { evaluationPeople } from '../../streams/evaluations/person.ts'
import { bodyHash, contentHash } from '../../values/content-hash.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type Erased, parseJson, scrubAnswer, scrubPayload } from '../screen/scrub-payload.ts'
import { isErasedMark, withoutWholeTerms } from '../screen/search-terms.ts'
import { addCounts, type Counts, type ErasureWork, type EvaluationKey } from './erasure-work.ts'
import { type Hit, matchesTerms, redactColumn, rewrite, rowsOfEvaluations } from './scan.ts'
import { erasedIn, type IsSubject, scrubBodies } from './scrub-bodies.ts'
import type { TextTable } from './text-tables.ts'

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
    const bodies = await scrubBodies(work, key, erased, isSubject)
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
