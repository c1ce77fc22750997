import { hostname } from 'node:os'
import type pg from 'pg'
import { BusyError } from '../../errors.ts'
import { type LockKey, lockGraceSeconds } from '../../warehouse/db/held-lock.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { inTransaction } from '../../warehouse/db/transaction.ts'

/** A job run that this process executes. `attempt` is the fence: after another process takes the run over, it records nothing. */
export interface Claim {
  readonly fireId: number
  readonly attempt: number
  readonly cause: 'schedule' | 'manual'
  readonly slot: Date | null
  readonly madeUp: boolean
  /** Its session holds the lock that shows that the job run is alive. */
  readonly holder: pg.PoolClient
}

/** A job of the services that a scheduler reads. */
interface SourceJob {
  readonly sourceId: number
  readonly jobName: string
}

/** The result of trying to claim a slot. */
type ClaimResult =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** none: another process runs it, or has run it. */
  | { readonly kind: 'none' }

/** A process without a heartbeat for this long loses its job run, even if its session still seems open. */
const silentSeconds = 60
/** After this many processes have ended during a job run, it is not tried again. */
const maxAttempts = 5

interface OpenRun {
  readonly fireId: number
  readonly attempt: number
  readonly cause: Claim['cause']
  readonly slot: Date | null
  readonly status: 'running' | 'stopped'
  readonly isSilent: boolean
  readonly process: string
}

/**
 * Claims a slot for this process. Across all hosts there is one row per (source, job, slot), and one run of a job of a source at a
 * time. If the job's last scheduled run is still active, the slot is recorded as skipped; for a manual run it waits. A run whose process died
 * or was stopped is taken over, or replaced by the run of a newer slot.
 */
export async function claimSlot(pool: pg.Pool, job: SourceJob, slot: Date): Promise<ClaimResult> {
  return await withHolder(pool, async (client, holder) => {
    await lockJob(client, job)
    const open = await openRuns(client, job)
    const live = await firstLive(client, open)
    const isNew = await isNewSlot(client, job, slot)
    if (live !== undefined) {
      // A manual run may be stopped at any time, so the slot waits for it.
      if (!isNew || live.cause === 'manual') return { kind: 'none' }
      const reason = `the job was still running (${named(live)})`
      await insertJobRun(client, { ...job, slot, status: 'skipped', error: reason })
      return { kind: 'skipped', reason }
    }
    const resumable = isNew ? undefined : open.find(({ cause }) => cause === 'schedule')
    await endDeadRuns(
      client,
      open.filter((run) => run !== resumable),
      isNew ? `its process ended; the slot of ${slot.toISOString()} replaces it` : undefined,
    )
    if (isNew) return await claimNew(client, holder, job, slot)
    return resumable === undefined
      ? { kind: 'none' }
      : await resume(client, holder, { ...job, ...resumable })
  })
}

/** Claims a manual run. BusyError while the job is running for the same services anywhere. */
export async function claimManually(pool: pg.Pool, job: SourceJob): Promise<Claim> {
  const { jobName } = job
  const claimed = await withHolder(pool, async (client, holder) => {
    await lockJob(client, job)
    const open = await openRuns(client, job)
    const live = await firstLive(client, open)
    if (live !== undefined)
      throw new BusyError(
        `${jobName} is at work (${named(live)}); nothing was started. Wait for it to end ("forecourt status" shows it), or stop it.`,
      )
    // The scheduler handles dead runs of slots.
    const manual = open.filter(({ cause }) => cause === 'manual')
    await endDeadRuns(client, manual)
    return await claimNew(client, holder, job, null)
  })
  if (claimed.kind !== 'claimed') throw new Error(`${jobName} was not claimed`)
  return claimed.claim
}

/** Runs a claim in a transaction, with a second session that holds the lock of the job run afterwards. */
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
    // A failed claim may have taken the lock; closing the session releases it.
    if (claimed?.kind !== 'claimed') holder.release(claimed === undefined)
  }
}

/** Locks the job, so that only one process on any host claims it at a time. */
async function lockJob(client: pg.PoolClient, { jobName }: SourceJob): Promise<void> {
  await client.query(`select ${lockSql.wait('job', 'hashtext($1)')}`, [jobName])
}

/** Job runs that are running, and the newest one if it was stopped, since a scheduler resumes it. */
async function openRuns(
  client: pg.PoolClient,
  { sourceId, jobName }: SourceJob,
): Promise<OpenRun[]> {
  const { rows } = await client.query<OpenRun>(
    `select fire_id as "fireId", attempt, cause, slot_at as slot, status,
       heartbeat_at < clock_timestamp() - make_interval(secs => $2) as "isSilent",
       'process ' || process_id || ' on ' || host as process
     from ops.job_fire as run
     where job_name = $1 and (source_id is null or source_id = $3) and (status = 'running' or status = 'stopped' and cause = 'schedule' and not exists (
       select from ops.job_fire as newer where newer.job_name = run.job_name and newer.slot_at > run.slot_at
         and newer.status <> 'skipped' and (newer.source_id is null or newer.source_id = $3)))
     order by slot_at desc nulls last`,
    [jobName, silentSeconds, sourceId],
  )
  return rows
}

/** The lock of one attempt at a job run. The session of the process that executes it holds the lock. */
export function jobRunLock({ fireId, attempt }: Pick<Claim, 'fireId' | 'attempt'>): LockKey {
  return ['jobRun', (fireId * 8 + attempt) % 2_147_483_647]
}

/** The first run whose process is alive: its lock is held, and its heartbeat is recent. */
async function firstLive(
  client: pg.PoolClient,
  runs: readonly OpenRun[],
): Promise<OpenRun | undefined> {
  for (const run of runs) {
    if (run.status === 'stopped' || run.isSilent) continue
    // A restart of Postgres ends the sessions of live processes too; wait until they have taken their locks again.
    const { rows } = await client.query<{ free: boolean }>(
      `select pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => $2)
         and ${lockSql.tryShared('jobRun', '$1')} as free`,
      [jobRunLock(run)[1], lockGraceSeconds],
    )
    if (rows[0]?.free === false) return run
  }
  return undefined
}

/** Whether a slot is newer than every claimed one and than the job's registration. */
async function isNewSlot(
  client: pg.PoolClient,
  { sourceId, jobName }: SourceJob,
  slot: Date,
): Promise<boolean> {
  const { rows } = await client.query<{ isNew: boolean }>(
    `select $2::timestamptz > known_since and not exists (
       select from ops.job_fire where job_name = $1 and slot_at >= $2::timestamptz and (source_id is null or source_id = $3)) as "isNew"
     from ops.job where job_name = $1 and source_id = $3`,
    [jobName, slot, sourceId],
  )
  return rows[0]?.isNew === true
}

async function endDeadRuns(
  client: pg.PoolClient,
  runs: readonly OpenRun[],
  error = 'its process ended',
): Promise<void> {
  await client.query(
    `update ops.job_fire set status = 'died', finished_at = clock_timestamp(), error = $2
     where fire_id = any($1::bigint[]) and status = 'running'`,
    [runs.map(({ fireId }) => fireId), error],
  )
}

async function claimNew(
  client: pg.PoolClient,
  holder: pg.PoolClient,
  job: SourceJob,
  slot: Date | null,
): Promise<ClaimResult> {
  const row = await insertJobRun(client, { ...job, slot, status: 'running', error: null })
  if (row === undefined) return { kind: 'none' }
  const claim: Claim = { ...row, attempt: 1, cause: slot ? 'schedule' : 'manual', slot, holder }
  await hold(claim)
  return { kind: 'claimed', claim }
}

/** Takes over a job run, or ends it as failed after too many attempts. */
async function resume(
  client: pg.PoolClient,
  holder: pg.PoolClient,
  { sourceId, fireId, slot, attempt }: OpenRun & SourceJob,
): Promise<ClaimResult> {
  if (attempt >= maxAttempts) {
    await client.query(
      `update ops.job_fire set status = 'failed', finished_at = clock_timestamp(), error = $2 where fire_id = $1`,
      [fireId, `its process ended ${attempt} times before the job did`],
    )
    return { kind: 'none' }
  }
  await client.query(
    `update ops.job_fire set status = 'running', attempt = attempt + 1, heartbeat_at = clock_timestamp(),
       finished_at = null, error = null, host = $2, process_id = $3, source_id = $4 where fire_id = $1`,
    [fireId, host(), process.pid, sourceId],
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
  await claim.holder.query(`select ${lockSql.waitSession('jobRun', '$1')}`, [jobRunLock(claim)[1]])
}

interface NewRun extends SourceJob {
  readonly slot: Date | null
  readonly status: 'running' | 'skipped'
  readonly error: string | null
}

/** Inserts a job run. undefined: the slot has a row already. */
async function insertJobRun(
  client: pg.PoolClient,
  { sourceId, jobName, slot, status, error }: NewRun,
): Promise<Pick<Claim, 'fireId' | 'madeUp'> | undefined> {
  const { rows } = await client.query<Pick<Claim, 'fireId' | 'madeUp'>>(
    `insert into ops.job_fire (job_name, cause, slot_at, status, error, host, process_id, made_up, claimed_at, finished_at, source_id)
     select $1, case when $2::timestamptz is null then 'manual' else 'schedule' end, $2::timestamptz, $3::text, $4::text, $5, $6,
       coalesce(at - $2::timestamptz > interval '1 minute', false), at, case when $3::text = 'skipped' then at end, $7
     from clock_timestamp() as at
     on conflict (job_name, slot_at, source_id) do nothing
     returning fire_id as "fireId", made_up as "madeUp"`,
    [jobName, slot, status, error, host(), process.pid, sourceId],
  )
  return rows[0]
}

function host(): string {
  return hostname().slice(0, 120)
}

function named({ fireId, slot, process }: OpenRun): string {
  return `job run ${fireId}, ${slot === null ? 'manual' : `slot ${slot.toISOString()}`}, ${process}`
}
