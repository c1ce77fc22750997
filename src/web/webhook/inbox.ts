import { sql } from 'kysely'
import type { Context } from '../../context.ts'
import { redactJson, withheldBody } from '../../privacy/screen/redact.ts'
import { contactsIn, erasedContacts, suppressedAmong } from '../../privacy/screen/suppression.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { keyedHash } from '../../values/secret.ts'
import { holdErasureLock } from '../../warehouse/db/locks.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import { inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import { type Hint, readHints, type WebhookEvent } from './hint.ts'

/** A delivery as it arrived. */
interface Arrival {
  readonly event: WebhookEvent
  /** The rooftop that the address names; undefined: none. */
  readonly rooftopUid: string | undefined
  readonly bytes: Buffer
  readonly body: unknown
}

/** What the inbox needs to know. */
interface InboxOptions {
  readonly context: Pick<Context, 'pool' | 'db' | 'config' | 'appraisal' | 'queue'>
  readonly rooftops: readonly RooftopRow[]
  /** The key of the hashes of bodies. */
  readonly secret: string
  /** Milliseconds from the arrival until it is processed, so that a burst becomes one run. */
  readonly debounceMs: number
}

/** A body is what `/geteval` answers [A §6]: an evaluation, or those of one vehicle. Each takes a statement in one transaction. */
export const evaluationLimit = 100

/** Stores deliveries until they are loaded. A body is not trusted: it only says which evaluation to read again. */
export class Inbox {
  readonly #options: InboxOptions

  constructor(options: InboxOptions) {
    this.#options = options
  }

  /** Stores a delivery; resolves once it is committed. `duplicate`: all of it had arrived before, and is counted; `too many`:
   *  it names more evaluations than `evaluationLimit`, and nothing of it is stored. */
  async store(arrival: Arrival): Promise<'new' | 'duplicate' | 'too many'> {
    const { context } = this.#options
    const hints = readHints(arrival.body, arrival.event, context.config.wire.appraisal)
    if (hints.length > evaluationLimit) return 'too many'
    const hash = keyedHash(this.#options.secret, arrival.bytes)
    const { clock } = context.appraisal
    const sourceNow = clock.measured ? clock.now() : await readSourceNow(context.db)
    const added = await inTransaction(context.pool, async (tx) => {
      let count = 0
      for (const hint of hints)
        if (await this.#insert(tx, { arrival, hint, hash, sourceNow })) count++
      return count
    })
    return added > 0 ? 'new' : 'duplicate'
  }

  /** Inserts a hint; returns whether it is new. One that could not be used, or failed, is tried again when it is delivered again. */
  async #insert(
    tx: Tx,
    one: { arrival: Arrival; hint: Hint; hash: Buffer; sourceNow: Date },
  ): Promise<boolean> {
    const { arrival, hint, hash, sourceNow } = one
    const rooftop = this.#rooftopOf(arrival, hint)
    const { state, issue } = arrivalState(arrival, hint, rooftop)
    const body = state === 'waiting' ? null : await screenBody(tx, rooftop, hint)
    const { rows } = await sql<{ duplicates: number }>`
      insert into ops.webhook_delivery as old
        (event, rooftop_id, eval_id, body_hash, body, state, issue, source_event_at, source_updated_at,
          source_received_at, due_at, source_id)
      values (${arrival.event}, ${rooftop?.id ?? null}, ${hint.evalId}, ${hash}, ${body}::json, ${state}, ${issue},
        ${hint.eventAt}, ${hint.updatedAt}, ${sourceNow},
        now() + ${this.#options.debounceMs}::float8 * interval '1 ms', ${this.#options.context.queue.sourceId})
      on conflict (event, eval_id, body_hash, source_id) do update set duplicates = old.duplicates + 1,
        (state, issue, rooftop_id, body, attempts, not_shown, due_at) = (select
          case when again then excluded.state else old.state end,
          case when again then excluded.issue else old.issue end,
          case when again then excluded.rooftop_id else old.rooftop_id end,
          case when again then excluded.body else old.body end,
          case when again then 0 else old.attempts end,
          case when again then 0 else old.not_shown end,
          case when again then excluded.due_at else old.due_at end
          from (select old.state in ('unusable', 'failed') as again) as known)
      returning duplicates`.execute(tx.db)
    return rows[0]!.duplicates === 0
  }

  /** The rooftop of a delivery. The dealership in the body wins over the address: evaluations move from one rooftop to another. */
  #rooftopOf({ rooftopUid }: Arrival, { dealerId }: Hint): RooftopRow | null {
    const { rooftops } = this.#options
    const addressed = rooftops.find(({ uid }) => uid === rooftopUid) ?? null
    if (dealerId === null) return addressed
    const named = rooftops.filter((rooftop) => rooftop.dealerId === dealerId)
    // Two keys may use the same number for different dealerships.
    const addressedRooftop = named.find(({ groupId }) => groupId === addressed?.groupId)
    if (addressedRooftop !== undefined) return addressedRooftop
    if (addressed !== null) return addressed.dealerId === null ? addressed : null
    return named.length === 1 ? named[0]! : null
  }
}

function arrivalState(
  { rooftopUid }: Arrival,
  { kind, evalId, dealerId }: Hint,
  rooftop: RooftopRow | null,
): { readonly state: 'waiting' | 'kept' | 'unusable'; readonly issue: string | null } {
  if (rooftop === null) {
    const addressee = dealerId === null ? 'no DealerID' : `DealerID ${dealerId}`
    const address = rooftopUid === undefined ? 'no rooftop' : 'another rooftop, or none of ours'
    const issue = `no rooftop of the config: the body has ${addressee}, the address ${address}`
    return { state: 'unusable', issue }
  }
  if (kind === 'drive') return { state: 'kept', issue: null }
  if (evalId === null) return { state: 'unusable', issue: 'the body names no evaluation (EvalID)' }
  return { state: 'waiting', issue: null }
}

/** The text of a body to store, without the customers that were erased. */
async function screenBody(
  tx: Tx,
  rooftop: RooftopRow | null,
  { evalId, body }: Hint,
): Promise<string> {
  await holdErasureLock(tx)
  const contacts = await erasedContacts(tx.db)
  if (contacts === null) return bodyText(body)
  const ids = evalId === null ? [] : [evalId]
  const suppressed = await suppressedAmong(tx.db, rooftop?.groupId ?? null, ids)
  const erased = suppressed.get(evalId ?? 0)
  // What is about the customer may be in any field.
  if (erased?.scope === 'customer') return withheldBody
  if (erased !== undefined && redactJson(body, erased.terms) !== body) return withheldBody
  const text = bodyText(body)
  const found = await contactsIn(text, contacts)
  return found?.length === 0 ? text : withheldBody
}

function bodyText(body: unknown): string {
  return JSON.stringify(body ?? null)
}
