import type pg from 'pg'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { storable } from '../../values/text.ts'

/** Where a key was answered, as in ops.key_state. */
interface KeyUse {
  readonly key: string
  readonly rooftopUid: string
  readonly operation: string
}

/** What the calls of a use were answered since it was stored. Times in monotonic ms; null: never. */
interface Answered extends KeyUse {
  readonly acceptedAt: number | null
  readonly refusedSince: number | null
  readonly refusedAt: number | null
  /** Refused calls after `acceptedAt`. */
  readonly calls: number
  readonly status: number | null
  readonly answer: string | null
}

/** A change is stored after this many ms, so that a burst is one statement; what did not change, after the second. */
const changeMs = 200
const unchangedMs = 5_000
/** An accepted key is stored again after this many ms. */
const acceptedMs = 60_000
const retryMs = 2_000
const timeoutMs = 5_000

/** Stores in ops.key_state whether the source accepts the keys, by the answers of this process. While Postgres does not answer, it
 *  keeps them and logs this once. */
export class KeyAnswerLog implements AsyncDisposable {
  readonly #pool: pg.Pool
  readonly #log: Log
  #answered = new Map<string, Answered>()
  /** Of each use, what its last answer was, and when it was noted. */
  readonly #last = new Map<string, { readonly isAccepted: boolean; readonly at: number }>()
  #storing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #storesAt = Infinity
  #isDisconnected = false
  #isClosed = false

  constructor(pool: pg.Pool, log: Log) {
    this.#pool = pool
    this.#log = log
  }

  /** The source accepted the key. */
  accepted(use: KeyUse): void {
    const name = useName(use)
    const now = performance.now()
    const last = this.#last.get(name)
    const isChange = last?.isAccepted !== true
    if (!isChange && now - last.at < acceptedMs) return
    this.#last.set(name, { isAccepted: true, at: now })
    this.#answered.set(name, { ...use, ...neverRefused, acceptedAt: now })
    this.#storeWithin(isChange ? changeMs : unchangedMs)
  }

  /** The source refused the key, or the call was not sent because the key is refused. */
  refused(
    use: KeyUse,
    {
      status,
      answer,
    }: { readonly status?: number | undefined; readonly answer?: string | undefined },
  ): void {
    const name = useName(use)
    const now = performance.now()
    const isChange = this.#last.get(name)?.isAccepted !== false
    this.#last.set(name, { isAccepted: false, at: now })
    const before = this.#answered.get(name) ?? { ...neverRefused, acceptedAt: null }
    const isSent = status !== undefined
    this.#answered.set(name, {
      ...use,
      acceptedAt: before.acceptedAt,
      refusedSince: before.refusedSince ?? now,
      refusedAt: now,
      calls: before.calls + Number(isSent),
      status: isSent ? status : before.status,
      answer: isSent ? (answer ?? null) : before.answer,
    })
    this.#storeWithin(isChange ? changeMs : unchangedMs)
  }

  /** Stores everything that was answered up to now. Never rejects. */
  async store(): Promise<void> {
    clearTimeout(this.#timer)
    this.#storesAt = Infinity
    const stored = this.#storing.then(() => this.#write())
    this.#storing = stored
    await stored
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.store()
    clearTimeout(this.#timer)
  }

  #storeWithin(ms: number): void {
    const at = performance.now() + ms
    if (this.#isClosed || at >= this.#storesAt) return
    clearTimeout(this.#timer)
    this.#storesAt = at
    this.#timer = setTimeout(() => void this.store(), ms).unref()
  }

  async #write(): Promise<void> {
    const answered = this.#answered
    if (answered.size === 0) return
    this.#answered = new Map()
    // In one order, so that two processes do not wait for each other.
    const rows = [...answered.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
    try {
      await writeRows(this.#pool, rows)
      if (this.#isDisconnected) this.#log.info('states of the keys can be stored again')
      this.#isDisconnected = false
    } catch (error) {
      const reason = errorText(error)
      if (!this.#isDisconnected && !this.#isClosed)
        this.#log.warn({ reason }, 'states of the keys cannot be stored; trying again')
      this.#isDisconnected = true
      for (const [name, row] of answered)
        this.#answered.set(name, later(row, this.#answered.get(name)))
      this.#storeWithin(retryMs)
    }
  }
}

const neverRefused = { refusedSince: null, refusedAt: null, calls: 0, status: null, answer: null }

function useName({ key, rooftopUid, operation }: KeyUse): string {
  return `${key}\n${rooftopUid}\n${operation}`
}

/** Two spans of answers as one; `next` follows `before`. */
function later(before: Answered, next: Answered | undefined): Answered {
  if (next === undefined) return before
  if (next.acceptedAt !== null) return next
  return {
    ...next,
    acceptedAt: before.acceptedAt,
    refusedSince: before.refusedSince ?? next.refusedSince,
    calls: before.calls + next.calls,
    status: next.status ?? before.status,
    answer: next.answer ?? before.answer,
  }
}

async function writeRows(pool: pg.Pool, rows: readonly Answered[]): Promise<void> {
  const now = performance.now()
  const ages = (name: 'acceptedAt' | 'refusedSince' | 'refusedAt') =>
    rows.map(({ [name]: at }) => (at === null ? null : now - at))
  // pg knows query_timeout of a query; its types do not.
  const query = {
    text: upsert,
    values: [
      ...[rows.map(({ key }) => key), rows.map(({ rooftopUid }) => rooftopUid)],
      rows.map(({ operation }) => operation),
      ...[ages('acceptedAt'), ages('refusedSince'), ages('refusedAt')],
      ...[rows.map(({ calls }) => calls), rows.map(({ status }) => status)],
      rows.map(({ answer }) => answer && storable(answer)),
    ],
    query_timeout: timeoutMs,
  } as pg.QueryConfig
  await pool.query(query)
}

// Processes may hold different values of a key: the last answer counts, whoever stores it first. What was refused before the last
// good answer of any process is over.
const upsert = `
insert into ops.key_state as old
  (key_name, rooftop_uid, operation, good_at, refused_since, refused_at, refused_calls, status, answer)
select key_name, rooftop_uid, operation, clock_timestamp() - accepted_age * interval '1 millisecond',
  clock_timestamp() - since_age * interval '1 millisecond', clock_timestamp() - refused_age * interval '1 millisecond',
  calls, status, left(answer, 400)
from unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::float8[], $6::float8[], $7::int[], $8::int[], $9::text[])
  as new (key_name, rooftop_uid, operation, accepted_age, since_age, refused_age, calls, status, answer)
on conflict (key_name, rooftop_uid, operation) do update set
  (good_at, refused_since, refused_at, refused_calls, status, answer) = (
    select good_at,
      least(case when is_old then old.refused_since end, case when is_new then excluded.refused_since end),
      greatest(case when is_old then old.refused_at end, case when is_new then excluded.refused_at end),
      case when is_old then old.refused_calls else 0 end + case when is_new then excluded.refused_calls else 0 end,
      coalesce(case when is_new then excluded.status end, case when is_old then old.status end),
      coalesce(case when is_new then excluded.answer end, case when is_old then old.answer end)
    from (
      select good_at, coalesce(old.refused_at > coalesce(good_at, '-infinity'), false) as is_old,
        coalesce(excluded.refused_at > coalesce(good_at, '-infinity'), false) as is_new
      from (select greatest(old.good_at, excluded.good_at) as good_at) as good
    ) as merged)`
