import type pg from 'pg'

/** What a process tells of a key that it uses. */
export interface KeyUsage {
  readonly keyName: string
  readonly demand: number
  readonly inFlight: number
  /** Clean answers of the last second. */
  readonly cleanPerSecond: number
}

/** What the warehouse knows of a key. */
export interface BudgetRow {
  readonly keyName: string
  /** Requests a second that are allowed now by what was learnt; null: nothing was learnt that still matters. */
  readonly rate: number | null
  readonly generation: number
  readonly strikes: number
  /** Ms from now; 0: not blocked. */
  readonly blockedMs: number
  /** ms since 1970. */
  readonly databaseNow: number
}

/** Another process that uses the key. */
export interface OtherUsage extends KeyUsage {
  readonly memberId: string
}

export interface Identity {
  readonly memberId: string
  readonly host: string
  readonly processId: number
}

/** A statement that hangs holds nothing up for longer, in ms. */
const patienceMs = 5000
/** Who is silent for longer has left, in seconds. */
const silentSeconds = 5

/** The statements on ops.rate_budget and ops.rate_member. Each commits without waiting for the disk: a crash forgets a few
 *  reservations. Rejects when Postgres does not answer within 5 s. */
export class BudgetRows {
  readonly #pool: pg.Pool
  readonly #self: Identity

  constructor(pool: pg.Pool, self: Identity) {
    this.#pool = pool
    this.#self = self
  }

  /** Who we are among the members. */
  get memberId(): string {
    return this.#self.memberId
  }

  /** Tells of ourselves, and hears of the keys and of all others. */
  async exchange(
    own: readonly KeyUsage[],
  ): Promise<{ readonly budgets: readonly BudgetRow[]; readonly others: readonly OtherUsage[] }> {
    const { memberId, host, processId } = this.#self
    const names = own.map(({ keyName }) => keyName)
    const of = (field: 'demand' | 'inFlight' | 'cleanPerSecond') => own.map((use) => use[field])
    const others = await this.#ask<OtherUsage>(exchangeUse, [
      ...[memberId, host, processId, names],
      ...[of('demand'), of('inFlight'), of('cleanPerSecond'), silentSeconds],
    ])
    const budgets = await this.#ask<BudgetRow>(readBudgets, [names])
    const missing = names.filter((name) => !budgets.some(({ keyName }) => keyName === name))
    if (missing.length === 0) return { budgets, others }
    await this.#ask(addBudgets, [missing])
    return { budgets: await this.#ask<BudgetRow>(readBudgets, [names]), others }
  }

  /** Takes ourselves out of the keys' members, and who has been silent for a minute. */
  async leave(keyNames: readonly string[]): Promise<void> {
    await this.#ask(leave, [this.#self.memberId, keyNames])
  }

  /** Takes `count` send times. Undefined when there are none to take: the key is blocked, or has no rate any more. */
  async reserve(
    keyName: string,
    count: number,
    ceiling: number | null,
  ): Promise<Reservation | undefined> {
    const [row] = await this.#ask<Reservation>(reserve, [keyName, count, ceiling])
    return row
  }

  /** Blocks the key, and cuts its rate unless another process has since `generation` (null: it has been). `cleanPerSecond`: what
   *  the source answers to all processes. */
  async throttle(cut: {
    readonly keyName: string
    readonly generation: number | null
    readonly blockMs: number
    readonly ceiling: number | null
    readonly cleanPerSecond: number
  }): Promise<void> {
    const { keyName, generation, blockMs, ceiling, cleanPerSecond } = cut
    await this.#ask(throttle, [keyName, generation, blockMs, ceiling, cleanPerSecond])
  }

  async #ask<Row>(text: string, values: unknown[]): Promise<Row[]> {
    // pg knows query_timeout of a query; its types do not.
    const query: pg.QueryConfig & { query_timeout: number } = {
      text,
      values,
      query_timeout: patienceMs,
    }
    const asked = this.#pool.query<Row & pg.QueryResultRow>(query)
    const late = Promise.withResolvers<never>()
    // A pool without a free connection lets us wait for longer than that.
    const timer = setTimeout(
      () => late.reject(new Error('Postgres did not answer in time')),
      patienceMs + 100,
    )
    try {
      return (await Promise.race([asked, late.promise])).rows
    } finally {
      clearTimeout(timer)
      // Late or not, its rejection has been heard.
      asked.catch(() => undefined)
    }
  }
}

/** Send times that were taken: ms since 1970 by the database's clock, `intervalMs` apart. */
export interface Reservation {
  readonly firstAt: number
  readonly intervalMs: number
  readonly rate: number | null
  readonly databaseNow: number
}

const quick = `(select set_config('synchronous_commit', 'off', true)) as quick (setting)`
const nowMs = `(extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseNow"`

// A cubic curve (TCP CUBIC, and the client rate limit of AWS SDKs): from `rate` back to `learnt_from`, flat there, then ever faster.
// Far beyond what the source is known to take, the learnt rate holds nothing up any more.
const grown = `
select case when grown.rate < 10 * greatest(learnt_from, 100) then grown.rate end as rate
from (
  select learnt_from + 0.4 * power(least(3600, greatest(0, extract(epoch from
      clock_timestamp() - greatest(throttled_at, blocked_until))))::float8 - cbrt((learnt_from - rate) / 0.4), 3) as rate
) as grown`

// ops.rate_member is unlogged: its commits wait for no disk anyhow.
const exchangeUse = `
with told as (
  insert into ops.rate_member as m (key_name, member_id, host, process_id, demand, in_flight, clean_per_second, seen_at)
  select use.key_name, $1::uuid, left($2::text, 120), $3::int, use.demand, use.in_flight, use.clean_per_second, clock_timestamp()
  from unnest($4::text[], $5::int[], $6::int[], $7::int[]) as use (key_name, demand, in_flight, clean_per_second)
  on conflict (key_name, member_id) do update set
    demand = excluded.demand, in_flight = excluded.in_flight, clean_per_second = excluded.clean_per_second, seen_at = excluded.seen_at
)
select key_name as "keyName", member_id as "memberId", demand, in_flight as "inFlight", clean_per_second as "cleanPerSecond"
from ops.rate_member
where key_name = any ($4::text[]) and member_id <> $1::uuid
  and seen_at > clock_timestamp() - $8::int * interval '1 second'`

const readBudgets = `
select key_name as "keyName", grown.rate, generation, strikes, ${nowMs},
  greatest(0, extract(epoch from blocked_until - clock_timestamp()) * 1000)::float8 as "blockedMs"
from ops.rate_budget, lateral (${grown}) as grown
where key_name = any ($1::text[])`

const addBudgets = `
insert into ops.rate_budget (key_name)
select unnest($1::text[])
on conflict do nothing`

const leave = `
delete from ops.rate_member
where (member_id = $1::uuid and key_name = any ($2::text[])) or seen_at < clock_timestamp() - interval '1 minute'`

// A clock that was set back must not hold the key up until it has caught up; so far ahead are no fifty processes in turn.
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
returning allowed.learnt as rate, ${nowMs}, 1000 / allowed.rate as "intervalMs",
  (extract(epoch from next_at) * 1000)::float8 - $2::int * 1000 / allowed.rate as "firstAt"`

// The source shows its limit by what it answers: the rate goes a little below that, and by three tenths at most.
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
