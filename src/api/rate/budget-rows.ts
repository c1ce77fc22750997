import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import pg from 'pg'
import { type RateState, rateAt, unlimited } from '../sources/rate-law.ts'

/** What a process reports about its use of a key. */
export interface KeyUsage {
  readonly keyName: string
  readonly demand: number
  readonly inFlight: number
}

/** The use of another process. */
export interface OtherUsage extends Omit<KeyUsage, 'inFlight'> {
  readonly memberId: string
}

/** What the warehouse stores about a key. Times are ms since 1970 by the clock of the database. */
export interface BudgetRow {
  readonly keyName: string
  /** The state of the law without `restUntil`, as it was stored; `{}` at first. */
  readonly stored: Partial<RateState>
  readonly state: RateState
  readonly now: number
}

/** A rest of a key, as one process announces it to the others. */
interface AnnouncedRest {
  readonly keyName: string
  readonly memberId: string
  readonly restMs: number
}

/** Timeout of a statement, in ms. */
const timeoutMs = 5000
/** A process that is silent for longer no longer counts, in seconds. */
const silentSeconds = 5

/** The statements on ops.rate_budget and ops.rate_member. They commit asynchronously, so a crash may lose a few reservations.
 *  They reject when Postgres does not answer within 5 s. */
export class BudgetRows {
  /** The id of this process among the members. */
  readonly memberId = randomUUID()
  readonly #pool: pg.Pool

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Reports this process's use, and reads the budgets and the use of all other processes. */
  async exchange(
    usages: readonly KeyUsage[],
  ): Promise<{ readonly budgets: readonly BudgetRow[]; readonly others: readonly OtherUsage[] }> {
    const names = usages.map(({ keyName }) => keyName)
    const [others, known] = await Promise.all([
      this.#query<OtherUsage>(exchangeUse, [
        ...[this.memberId, hostname(), process.pid, names, usages.map(({ demand }) => demand)],
        ...[usages.map(({ inFlight }) => inFlight), silentSeconds],
      ]),
      this.#read(names),
    ])
    if (known.length === names.length) return { budgets: known, others }
    await this.#query(addBudgets, [names])
    return { budgets: await this.#read(names), others }
  }

  /** Removes this process from the members, and all that were silent for a minute. */
  async leave(): Promise<void> {
    await this.#query(leave, [this.memberId])
  }

  /** Reserves `count` send times, `intervalMs` apart. Returns the ms until the first; undefined: the key rests, or its rate was cut
   *  after `generation`. */
  async reserve(
    keyName: string,
    count: number,
    intervalMs: number,
    generation: number,
  ): Promise<number | undefined> {
    const values = [keyName, count, intervalMs, generation]
    return (await this.#query<{ delayMs: number }>(reserve, values))[0]?.delayMs
  }

  /** Replaces the state of a key. False: another process has replaced it since it was read. A rest and a new rate are announced. */
  async store(row: BudgetRow, next: RateState): Promise<boolean> {
    const { restUntil, ...state } = next
    const { keyName } = row
    const restMs = Math.max(0, Math.round(restUntil - row.now))
    const isNews =
      restUntil > row.state.restUntil ||
      next.generation !== row.state.generation ||
      next.cutAt !== row.state.cutAt
    const rest: AnnouncedRest = { keyName, memberId: this.memberId, restMs }
    const rate = next.cutAt === null ? null : rateAt(next, next.cutAt)
    const stored = await this.#query(store, [
      ...[keyName, JSON.stringify(row.stored), JSON.stringify(state), rate, next.cutAt],
      ...[restMs > 0 ? restUntil : null, isNews ? JSON.stringify(rest) : null],
    ])
    return stored.length > 0
  }

  /** Receives the rests that other processes announce, until the session ends: then `onEnd` is called. The session is none of the
   *  pool, whose size others count on. */
  async listen(onRest: (rest: AnnouncedRest) => void, onEnd: () => void): Promise<() => void> {
    const client = new pg.Client(this.#pool.options)
    const close = () => void client.end().catch(() => undefined)
    client.on('error', () => undefined).once('end', onEnd)
    client.on('notification', ({ payload = '{}' }) => {
      const rest = JSON.parse(payload) as AnnouncedRest
      if (rest.memberId !== this.memberId) onRest(rest)
    })
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
    } catch (error) {
      close()
      throw error
    }
    return close
  }

  async #read(names: readonly string[]): Promise<BudgetRow[]> {
    const rows = await this.#query<Omit<BudgetRow, 'state'> & { restUntil: number | null }>(
      readBudgets,
      [names],
    )
    return rows.map(({ restUntil, ...row }) => {
      const state = { ...unlimited, ...row.stored, restUntil: restUntil ?? 0 }
      return { ...row, state }
    })
  }

  async #query<Row>(text: string, values: unknown[]): Promise<Row[]> {
    // pg knows query_timeout of a query; its types do not.
    const query = { text, values, query_timeout: timeoutMs } as pg.QueryConfig
    const result = this.#pool.query<Row & pg.QueryResultRow>(query)
    const late = Promise.withResolvers<never>()
    const onLate = () => late.reject(new Error('Postgres did not answer in time'))
    // Waiting for a free connection of the pool is not part of query_timeout.
    const timer = setTimeout(onLate, timeoutMs + 100)
    try {
      return (await Promise.race([result, late.promise])).rows
    } finally {
      clearTimeout(timer)
      // A late rejection must not become an unhandled one.
      result.catch(() => undefined)
    }
  }
}

/** Where processes announce rests to each other. */
const channel = 'forecourt_rest'

const quick = `(select set_config('synchronous_commit', 'off', true)) as quick (setting)`

// ops.rate_member is unlogged, so its commits do not wait for the disk.
const exchangeUse = `
with reported as (
  insert into ops.rate_member as m (key_name, member_id, host, process_id, demand, in_flight, seen_at)
  select use.key_name, $1::uuid, left($2::text, 120), $3::int, use.demand, use.in_flight, clock_timestamp()
  from unnest($4::text[], $5::int[], $6::int[]) as use (key_name, demand, in_flight)
  on conflict (key_name, member_id) do update set
    demand = excluded.demand, in_flight = excluded.in_flight, seen_at = excluded.seen_at
)
select key_name as "keyName", member_id as "memberId", demand
from ops.rate_member
where key_name = any ($4::text[]) and member_id <> $1::uuid
  and seen_at > clock_timestamp() - $7::int * interval '1 second'`

const readBudgets = `
select key_name as "keyName", state as stored,
  (extract(epoch from blocked_until) * 1000)::float8 as "restUntil",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as now
from ops.rate_budget
where key_name = any ($1::text[])`

const addBudgets = `
insert into ops.rate_budget (key_name)
select unnest($1::text[])
on conflict do nothing`

const leave = `
delete from ops.rate_member
where member_id = $1::uuid or seen_at < clock_timestamp() - interval '1 minute'`

// If the clock was set back, next_at may be far ahead; not even fifty processes reserve that far, so it is then ignored.
const reserve = `
update ops.rate_budget as b set
  next_at = greatest(clock_timestamp(), case
      when next_at < clock_timestamp() + interval '1 minute' + 50 * $2::int * $3::float8 * interval '1 millisecond' then next_at end)
    + $2::int * $3::float8 * interval '1 millisecond'
from ${quick}
where key_name = $1::text and coalesce((state ->> 'generation')::int, 0) = $4::int
  and (blocked_until is null or blocked_until <= clock_timestamp())
returning (extract(epoch from next_at - clock_timestamp()) * 1000)::float8 - $2::int * $3::float8 as "delayMs"`

const store = `
update ops.rate_budget as b set
  state = $3::jsonb, rate = $4::float8, throttled_at = to_timestamp($5::float8 / 1000),
  blocked_until = greatest(blocked_until, to_timestamp($6::float8 / 1000))
from ${quick}
where key_name = $1::text and state = $2::jsonb
returning case when $7::text is not null then pg_notify('${channel}', $7::text) end as announced`
