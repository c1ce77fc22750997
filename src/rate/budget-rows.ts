import type pg from 'pg'

/** What a process tells of a key that it uses. */
export interface OwnUse {
  readonly keyName: string
  readonly demand: number
  readonly inFlight: number
  readonly peak: number
}

/** What the warehouse knows of a key. */
export interface BudgetRow {
  readonly keyName: string
  /** Requests a second that were learnt; null: none. */
  readonly rate: number | null
  readonly generation: number
  readonly strikes: number
  /** Ms from now; 0: not blocked. */
  readonly blockedMs: number
  /** A clean minute has passed that has not been counted. */
  readonly isRaiseDue: boolean
  /** ms since 1970. */
  readonly databaseNow: number
}

/** Another process that uses the key. */
export interface OtherUse extends OwnUse {
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
    own: readonly OwnUse[],
  ): Promise<{ readonly budgets: readonly BudgetRow[]; readonly others: readonly OtherUse[] }> {
    const { memberId, host, processId } = this.#self
    const names = own.map(({ keyName }) => keyName)
    const of = (field: 'demand' | 'inFlight' | 'peak') => own.map((use) => use[field])
    const others = await this.#ask<OtherUse>(exchangeUse, [
      ...[memberId, host, processId, names],
      ...[of('demand'), of('inFlight'), of('peak'), silentSeconds],
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

  /** Blocks the key, and cuts its rate by half unless another process has since `generation` (null: it has been). `measured` is
   *  what was sent a second; `isThin`: too little to learn a rate from, unless the last throttle was within a minute. */
  async throttle(cut: {
    readonly keyName: string
    readonly generation: number | null
    readonly blockMs: number
    readonly ceiling: number | null
    readonly measured: number
    readonly isThin: boolean
  }): Promise<void> {
    const { keyName, generation, blockMs, ceiling, measured, isThin } = cut
    await this.#ask(throttle, [keyName, generation, blockMs, ceiling, measured, isThin])
  }

  /** Raises the rate by a step for each clean minute; once, whoever asks. */
  async raise(keyName: string, ceiling: number | null): Promise<void> {
    await this.#ask(raise, [keyName, ceiling])
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

// ops.rate_member is unlogged: its commits wait for no disk anyhow.
const exchangeUse = `
with told as (
  insert into ops.rate_member as m (key_name, member_id, host, process_id, demand, in_flight, peak, seen_at)
  select use.key_name, $1::uuid, left($2::text, 120), $3::int, use.demand, use.in_flight, use.peak, clock_timestamp()
  from unnest($4::text[], $5::int[], $6::int[], $7::int[]) as use (key_name, demand, in_flight, peak)
  on conflict (key_name, member_id) do update set
    demand = excluded.demand, in_flight = excluded.in_flight, peak = excluded.peak, seen_at = excluded.seen_at
)
select key_name as "keyName", member_id as "memberId", demand, in_flight as "inFlight", peak
from ops.rate_member
where key_name = any ($4::text[]) and member_id <> $1::uuid
  and seen_at > clock_timestamp() - $8::int * interval '1 second'`

const readBudgets = `
select key_name as "keyName", rate, generation, strikes, ${nowMs},
  greatest(0, extract(epoch from blocked_until - clock_timestamp()) * 1000)::float8 as "blockedMs",
  coalesce(raised_at + interval '1 minute' <= clock_timestamp(), false) as "isRaiseDue"
from ops.rate_budget
where key_name = any ($1::text[])`

const addBudgets = `
insert into ops.rate_budget (key_name)
select unnest($1::text[])
on conflict do nothing`

const leave = `
delete from ops.rate_member
where (member_id = $1::uuid and key_name = any ($2::text[])) or seen_at < clock_timestamp() - interval '1 minute'`

// A clock that was set back must not leave the key standing until it has caught up; so far ahead are no fifty processes in turn.
const reserve = `
update ops.rate_budget set
  next_at = greatest(clock_timestamp(), case
      when next_at < clock_timestamp() + interval '1 minute' + 50 * $2::int * interval '1 second' / least(rate, $3::float8) then next_at end)
    + $2::int * interval '1 second' / least(rate, $3::float8)
from ${quick}
where key_name = $1::text and least(rate, $3::float8) is not null
  and (blocked_until is null or blocked_until <= clock_timestamp())
returning rate, ${nowMs}, 1000 / least(rate, $3::float8) as "intervalMs",
  (extract(epoch from next_at) * 1000)::float8 - $2::int * 1000 / least(rate, $3::float8) as "firstAt"`

const throttle = `
with was as (
  select key_name, coalesce(generation = $2::int, false) as is_new, coalesce(throttled_at > clock_timestamp() - interval '1 minute', false) as is_again,
    least(rate, $4::float8) as paced, clock_timestamp() + $3::float8 * interval '1 millisecond' as until
  from ops.rate_budget
  where key_name = $1::text
  for update
)
update ops.rate_budget as b set
  blocked_until = greatest(b.blocked_until, was.until),
  rate = case when not was.is_new or (was.paced is null and $6::boolean and not was.is_again) then b.rate
    else greatest(0.5, coalesce(was.paced, greatest(4, $5::float8)) / 2) end,
  learnt_from = case when was.is_new then greatest(b.learnt_from, coalesce(was.paced, $5::float8)) else b.learnt_from end,
  generation = b.generation + was.is_new::int,
  strikes = b.strikes + was.is_new::int,
  throttled_at = case when was.is_new then clock_timestamp() else b.throttled_at end,
  raised_at = case when was.is_new then greatest(b.blocked_until, was.until) else greatest(b.raised_at, was.until) end
from was, ${quick}
where b.key_name = was.key_name`

// A step is a tenth of the ceiling, or of what was under way when the rate was learnt, then at least 1. A rate that was learnt
// without a ceiling holds until it has grown to twice of that.
const raise = `
with grown as (
  select key_name, b.raised_at + minutes * interval '1 minute' as raised_at,
    b.rate + minutes * coalesce($2::float8 / 10, greatest(1, b.learnt_from / 10)) as rate,
    coalesce($2::float8, greatest(4, 2 * b.learnt_from)) as most
  from ops.rate_budget as b
  cross join lateral (select floor(extract(epoch from clock_timestamp() - b.raised_at) / 60)::int as minutes) as clean
  where key_name = $1::text and minutes > 0
  for update of b
)
update ops.rate_budget as b set
  rate = case when grown.rate < grown.most then grown.rate end,
  learnt_from = case when grown.rate < grown.most then b.learnt_from end,
  raised_at = case when grown.rate < grown.most then grown.raised_at end,
  strikes = 0
from grown, ${quick}
where b.key_name = grown.key_name`
