import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type pg from 'pg'

/** What a process reports about its use of a key. */
export interface KeyUsage {
  readonly keyName: string
  readonly demand: number
  readonly inFlight: number
  /** Answers without throttling in the last second. */
  readonly cleanPerSecond: number
}

/** The use of another process. */
export interface OtherUsage extends Omit<KeyUsage, 'inFlight'> {
  readonly memberId: string
}

/** What the warehouse stores about a key. */
export interface BudgetRow {
  readonly keyName: string
  /** Requests per second allowed now by the learned rate; null: no learned rate applies. */
  readonly rate: number | null
  readonly generation: number
  readonly strikes: number
  /** Ms from now; 0: not blocked. */
  readonly blockedMs: number
}

/** Reserved send times, `intervalMs` apart; `delayMs` from now. `rate`: the learned one. */
interface Reservation {
  readonly delayMs: number
  readonly intervalMs: number
  readonly rate: number | null
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
    const others = await this.#query<OtherUsage>(exchangeUse, [
      ...[this.memberId, hostname(), process.pid, names, usages.map(({ demand }) => demand)],
      ...[usages.map(({ inFlight }) => inFlight), usages.map((use) => use.cleanPerSecond)],
      silentSeconds,
    ])
    const budgets = await this.#query<BudgetRow>(readBudgets, [names])
    if (budgets.length === names.length) return { budgets, others }
    await this.#query(addBudgets, [names])
    return { budgets: await this.#query<BudgetRow>(readBudgets, [names]), others }
  }

  /** Removes this process from the members, and all that were silent for a minute. */
  async leave(): Promise<void> {
    await this.#query(leave, [this.memberId])
  }

  /** Reserves `count` send times. undefined: the key is blocked, or no longer has a rate. */
  async reserve(
    keyName: string,
    count: number,
    ceiling: number | null,
  ): Promise<Reservation | undefined> {
    return (await this.#query<Reservation>(reserve, [keyName, count, ceiling]))[0]
  }

  /** Blocks the key, and lowers its rate unless another process has done so since `generation` (null: it was done).
   *  `cleanPerSecond`: answers without throttling, of all processes. */
  async throttle(cut: {
    readonly keyName: string
    readonly generation: number | null
    readonly blockMs: number
    readonly ceiling: number | null
    readonly cleanPerSecond: number
  }): Promise<void> {
    const { keyName, generation, blockMs, ceiling, cleanPerSecond } = cut
    await this.#query(throttle, [keyName, generation, blockMs, ceiling, cleanPerSecond])
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

const quick = `(select set_config('synchronous_commit', 'off', true)) as quick (setting)`

// A cubic curve as in TCP CUBIC and the rate limit of AWS SDKs: it rises from `rate` to `learnt_from`, is flat there, then rises faster.
// Far above the rate that the source is known to accept, the learned rate no longer applies.
const grown = `
select case when grown.rate < 10 * greatest(learnt_from, 100) then grown.rate end as rate
from (
  select learnt_from + 0.4 * power(least(3600, greatest(0, extract(epoch from
      clock_timestamp() - greatest(throttled_at, blocked_until))))::float8 - cbrt((learnt_from - rate) / 0.4), 3) as rate
) as grown`

// ops.rate_member is unlogged, so its commits do not wait for the disk.
const exchangeUse = `
with reported as (
  insert into ops.rate_member as m (key_name, member_id, host, process_id, demand, in_flight, clean_per_second, seen_at)
  select use.key_name, $1::uuid, left($2::text, 120), $3::int, use.demand, use.in_flight, use.clean_per_second, clock_timestamp()
  from unnest($4::text[], $5::int[], $6::int[], $7::int[]) as use (key_name, demand, in_flight, clean_per_second)
  on conflict (key_name, member_id) do update set
    demand = excluded.demand, in_flight = excluded.in_flight, clean_per_second = excluded.clean_per_second, seen_at = excluded.seen_at
)
select key_name as "keyName", member_id as "memberId", demand, clean_per_second as "cleanPerSecond"
from ops.rate_member
where key_name = any ($4::text[]) and member_id <> $1::uuid
  and seen_at > clock_timestamp() - $8::int * interval '1 second'`

const readBudgets = `
select key_name as "keyName", grown.rate, generation, strikes,
  greatest(0, extract(epoch from blocked_until - clock_timestamp()) * 1000)::float8 as "blockedMs"
from ops.rate_budget, lateral (${grown}) as grown
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
with allowed as (
  select key_name, least(grown.rate, $3::float8) as rate, grown.rate as learnt
  from ops.rate_budget, lateral (${grown}) as grown
  where key_name = $1::text
)
update ops.rate_budget as b set
  next_at = greatest(clock_timestamp(), case
      when next_at < clock_timestamp() + interval '1 minute' + 50 * $2::int * interval '1 second' / allowed.rate then next_at end)
    + $2::int * interval '1 second' / allowed.rate
from allowed, ${quick}
where b.key_name = allowed.key_name and allowed.rate is not null
  and (blocked_until is null or blocked_until <= clock_timestamp())
returning allowed.learnt as rate, 1000 / allowed.rate as "intervalMs",
  (extract(epoch from next_at - clock_timestamp()) * 1000)::float8 - $2::int * 1000 / allowed.rate as "delayMs"`

// The rate of clean answers shows the source's limit. The new rate is a little below it, and at most three tenths lower than before.
const throttle = `
with was as (
  select b.key_name, coalesce(generation = $2::int, false) as is_new, coalesce(throttled_at > clock_timestamp() - interval '1 minute', false) as is_again,
    least(grown.rate, $4::float8) as allowed, clock_timestamp() + $3::float8 * interval '1 millisecond' as until
  from ops.rate_budget as b, lateral (${grown}) as grown
  where key_name = $1::text
  for update of b
), cut as (
  select *, greatest(0.5, least(0.95 * allowed, greatest(0.95 * $5::float8, 0.7 * coalesce(allowed, 0)))) as rate
  from was
)
update ops.rate_budget as b set
  blocked_until = greatest(b.blocked_until, cut.until),
  rate = case when cut.is_new then cut.rate else b.rate end,
  learnt_from = case when cut.is_new then greatest(cut.rate, least($5::float8, cut.allowed)) else b.learnt_from end,
  generation = b.generation + cut.is_new::int,
  strikes = case when not cut.is_new then b.strikes when cut.is_again then b.strikes + 1 else 1 end,
  throttled_at = case when cut.is_new then clock_timestamp() else b.throttled_at end
from cut, ${quick}
where b.key_name = cut.key_name`
