import { hostname } from 'node:os'
import type pg from 'pg'
import { type LockKey, lockGraceSeconds } from '../db/held-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import { BusyError } from '../errors.ts'
import { lockClass } from '../values/lock-classes.ts'

/** A fire that this process carries out. `attempt` is the fence: once another process has taken it over, it records nothing. */
export interface Claim {
  readonly fireId: number
  readonly attempt: number
  readonly cause: 'schedule' | 'manual'
  readonly slot: Date | null
  readonly madeUp: boolean
  /** Its session holds the lock that says that the fire is alive. */
  readonly holder: pg.PoolClient
}

/** What a look at a slot came to. */
export type ClaimResult =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** Somebody else has it, or had it. */
  | { readonly kind: 'none' }

/** A process that has been silent for so long has lost its fire, even where its session is not known to have ended. */
const silentSeconds = 60
/** A fire whose process ends so often is not tried again. */
const mostAttempts = 5

interface OpenFire {
  readonly fireId: number
  readonly attempt: number
  readonly cause: Claim['cause']
  readonly slot: Date | null
  readonly status: 'running' | 'stopped'
  readonly isSilent: boolean
  readonly place: string
}

/**
 * Claims a slot for this process: over all hosts and schedulers one row for each (job, slot), and one fire of a job at a time.
 * While its last fire still runs the slot is recorded as skipped, one by hand it waits for; a fire whose process died or was stopped is taken over, or left
 * for the newer slot that makes up for it.
 */
export async function claimSlot(pool: pg.Pool, jobName: string, slot: Date): Promise<ClaimResult> {
  return await withHolder(pool, async (client, holder) => {
    await lockJob(client, jobName)
    const open = await openFires(client, jobName)
    const live = await firstLive(client, open)
    const isNew = await isNewSlot(client, jobName, slot)
    if (live !== undefined) {
      // One by hand may be stopped at any moment: the slot waits for its end.
      if (!isNew || live.cause === 'manual') return { kind: 'none' }
      const reason = `the job still ran (${named(live)})`
      await insertFire(client, { jobName, slot, status: 'skipped', error: reason })
      return { kind: 'skipped', reason }
    }
    const resumable = isNew ? undefined : open.find(({ cause }) => cause === 'schedule')
    await endDead(
      client,
      open.filter((fire) => fire !== resumable),
      isNew ? `its process ended; the slot of ${slot.toISOString()} makes up for it` : undefined,
    )
    if (isNew) return await claimNew(client, holder, jobName, slot)
    return resumable === undefined ? { kind: 'none' } : await resume(client, holder, resumable)
  })
}

/** Claims a fire by hand. BusyError while the job runs anywhere. */
export async function claimManually(pool: pg.Pool, jobName: string): Promise<Claim> {
  const claimed = await withHolder(pool, async (client, holder) => {
    await lockJob(client, jobName)
    const open = await openFires(client, jobName)
    const live = await firstLive(client, open)
    if (live !== undefined)
      throw new BusyError(
        `${jobName} is at work (${named(live)}); nothing was started. Wait for it to end ("forecourt status" shows it), or stop it.`,
      )
    // A slot's dead fire is left to the scheduler.
    const byHand = open.filter(({ cause }) => cause === 'manual')
    await endDead(client, byHand)
    return await claimNew(client, holder, jobName, null)
  })
  if (claimed.kind !== 'claimed') throw new Error(`${jobName} was not claimed`)
  return claimed.claim
}

async function withHolder(
  pool: pg.Pool,
  claim: (client: pg.PoolClient, holder: pg.PoolClient) => Promise<ClaimResult>,
): Promise<ClaimResult> {
  const holder = await pool.connect()
  let claimed: ClaimResult | undefined
  try {
    claimed = await inTransaction(pool, async ({ client }) => await claim(client, holder))
    return claimed
  } finally {
    // With its session ends the lock that a failed claim may have taken.
    if (claimed?.kind !== 'claimed') holder.release(claimed === undefined)
  }
}

/** Who looks at a job does so alone, on whichever host. */
async function lockJob(client: pg.PoolClient, jobName: string): Promise<void> {
  await client.query('select pg_advisory_xact_lock($2, hashtext($1))', [jobName, lockClass.job])
}

async function openFires(client: pg.PoolClient, jobName: string): Promise<OpenFire[]> {
  const { rows } = await client.query<OpenFire>(
    `select fire_id as "fireId", attempt, cause, slot_at as slot, status,
       heartbeat_at < clock_timestamp() - make_interval(secs => $2) as "isSilent",
       'process ' || process_id || ' on ' || host as place
     from ops.job_fire as fire
     where job_name = $1 and (status = 'running' or status = 'stopped' and cause = 'schedule' and not exists (
       select from ops.job_fire as newer where newer.job_name = fire.job_name and newer.slot_at > fire.slot_at
         and newer.status <> 'skipped'))
     order by slot_at desc nulls last`,
    [jobName, silentSeconds],
  )
  return rows
}

/** The lock of one attempt at a fire: held by the session of the process that carries it out. */
export function jobRunLock({ fireId, attempt }: Pick<Claim, 'fireId' | 'attempt'>): LockKey {
  return [lockClass.jobRun, (fireId * 8 + attempt) % 2_147_483_647]
}

async function firstLive(
  client: pg.PoolClient,
  fires: readonly OpenFire[],
): Promise<OpenFire | undefined> {
  for (const fire of fires) {
    if (fire.status === 'stopped' || fire.isSilent) continue
    // A server that has just started has ended the sessions of the living too; those take their locks again.
    const { rows } = await client.query<{ free: boolean }>(
      `select pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => $3)
         and pg_try_advisory_xact_lock_shared($1::int, $2::int) as free`,
      [...jobRunLock(fire), lockGraceSeconds],
    )
    if (rows[0]?.free === false) return fire
  }
  return undefined
}

async function isNewSlot(client: pg.PoolClient, jobName: string, slot: Date): Promise<boolean> {
  const { rows } = await client.query<{ isNew: boolean }>(
    `select $2::timestamptz > known_since and not exists (
       select from ops.job_fire where job_name = $1 and slot_at >= $2::timestamptz) as "isNew"
     from ops.job where job_name = $1`,
    [jobName, slot],
  )
  return rows[0]?.isNew === true
}

async function endDead(
  client: pg.PoolClient,
  fires: readonly OpenFire[],
  error = 'its process ended',
): Promise<void> {
  await client.query(
    `update ops.job_fire set status = 'died', finished_at = clock_timestamp(), error = $2
     where fire_id = any($1::bigint[]) and status = 'running'`,
    [fires.map(({ fireId }) => fireId), error],
  )
}

async function claimNew(
  client: pg.PoolClient,
  holder: pg.PoolClient,
  jobName: string,
  slot: Date | null,
): Promise<ClaimResult> {
  const row = await insertFire(client, { jobName, slot, status: 'running', error: null })
  if (row === undefined) return { kind: 'none' }
  const claim: Claim = { ...row, attempt: 1, cause: slot ? 'schedule' : 'manual', slot, holder }
  await hold(claim)
  return { kind: 'claimed', claim }
}

async function resume(
  client: pg.PoolClient,
  holder: pg.PoolClient,
  { fireId, slot, attempt }: OpenFire,
): Promise<ClaimResult> {
  if (attempt >= mostAttempts) {
    await client.query(
      `update ops.job_fire set status = 'failed', finished_at = clock_timestamp(), error = $2 where fire_id = $1`,
      [fireId, `its process ended ${attempt} times before the job did`],
    )
    return { kind: 'none' }
  }
  await client.query(
    `update ops.job_fire set status = 'running', attempt = attempt + 1, heartbeat_at = clock_timestamp(),
       finished_at = null, error = null, host = $2, process_id = $3 where fire_id = $1`,
    [fireId, host(), process.pid],
  )
  const claim: Claim = {
    fireId,
    attempt: attempt + 1,
    cause: 'schedule',
    slot,
    madeUp: true,
    holder,
  }
  await hold(claim)
  return { kind: 'claimed', claim }
}

async function hold(claim: Claim): Promise<void> {
  await claim.holder.query('select pg_advisory_lock($1::int, $2::int)', [...jobRunLock(claim)])
}

interface NewFire {
  readonly jobName: string
  readonly slot: Date | null
  readonly status: 'running' | 'skipped'
  readonly error: string | null
}

/** undefined: the slot has its row already. */
async function insertFire(
  client: pg.PoolClient,
  { jobName, slot, status, error }: NewFire,
): Promise<Pick<Claim, 'fireId' | 'madeUp'> | undefined> {
  const { rows } = await client.query<Pick<Claim, 'fireId' | 'madeUp'>>(
    `insert into ops.job_fire (job_name, cause, slot_at, status, error, host, process_id, made_up, claimed_at, finished_at)
     select $1, case when $2::timestamptz is null then 'manual' else 'schedule' end, $2::timestamptz, $3::text, $4::text, $5, $6,
       coalesce(at - $2::timestamptz > interval '1 minute', false), at, case when $3::text = 'skipped' then at end
     from clock_timestamp() as at
     on conflict (job_name, slot_at) do nothing
     returning fire_id as "fireId", made_up as "madeUp"`,
    [jobName, slot, status, error, host(), process.pid],
  )
  return rows[0]
}

function host(): string {
  return hostname().slice(0, 120)
}

function named({ fireId, slot, place }: OpenFire): string {
  return `fire ${fireId}, ${slot === null ? 'by hand' : `slot ${slot.toISOString()}`}, ${place}`
}
