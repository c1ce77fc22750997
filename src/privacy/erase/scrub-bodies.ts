import { sql } from 'kysely'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { normaliseEvaluation } from '../../streams/evaluations/normalise.ts'
import { evaluationPeople } from '../../streams/evaluations/person.ts'
import { bodyHash } from '../../values/content-hash.ts'
import type { Person, PersonRedaction } from '../../values/person.ts'
import { RecordIssues } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type Erased, parseJson, scrubPayload } from '../screen/scrub-payload.ts'
import { isErasedMark, numberedMark } from '../screen/search-terms.ts'
import type { Counts, ErasureWork, EvaluationKey } from './erasure-work.ts'

interface Body {
  readonly ctid: string
  readonly rooftopId: number
  readonly fetchedAt: Date
  readonly text: string
}

interface ScrubbedBody extends Body {
  readonly before: string
}

/**
 * Scrubs every stored body of an evaluation. The newest becomes what a load would store, so that an unchanged source stays
 * unchanged. Older ones get a numbered mark where a value differed from the next body's, so that a replay finds the same
 * versions with the same changed fields.
 */
export async function scrubBodies(
  work: ErasureWork,
  key: EvaluationKey,
  erased: Erased,
  isSubject?: IsSubject,
): Promise<Counts> {
  const { db, wire } = work
  const bodies = await readBodies(db, key)
  let newer: Blanked | null = null
  const scrubbed: ScrubbedBody[] = []
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

/** Whether the customer in a payload is the person to erase. */
export type IsSubject = (person: Person) => boolean

/** What to remove from one payload of an evaluation that was the customer's for some time. */
export function erasedIn(
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
  bodies: readonly ScrubbedBody[],
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
