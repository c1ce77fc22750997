import { hostname } from 'node:os'
import { sql } from 'kysely'
import type pg from 'pg'
import { BusyError } from '../../errors.ts'
import { type LockKey, lockGraceSeconds } from '../../warehouse/db/held-lock.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { type Db, dbOn, inTransaction } from '../../warehouse/db/transaction.ts'

/** A job run that this process executes. `attempt` is the fence: after another process takes the run over, it records nothing. */
export interface Claim {
  readonly fireId: number
  readonly attempt: number
  readonly cause: 'schedule' | 'manual'
  readonly slot: Date | null
  readonly isCatchUp: boolean
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
/** After this many processes have ended during a job run, it is not tried again. A stop by a signal does not count. */
const maxDeaths = 5

interface OpenRun {
  readonly fireId: number
  readonly attempt: number
  readonly cause: Claim['cause']
  readonly slot: Date | null
  readonly status: 'running' | 'stopped'
  readonly deaths: number
  readonly isSilent: boolean
  readonly process: string
}

/**
 * Claims a slot for this process. Across all hosts there is one row per (source, job, slot), and one run of a job of a source at a
 * time. If the job's last scheduled run is still active, the slot is recorded as skipped; for a manual run it waits. A run whose process died
 * or was stopped is taken over, or replaced by the run of a newer slot.
 */
export async function claimSlot(pool: pg.Pool, job: SourceJob, slot: Date): Promise<ClaimResult> {
  return await withHolder(pool, async (db, holder) => {
    await lockJob(db, job)
    const open = await openRuns(db, job)
    const live = await firstLive(db, open)
    const isNew = await isNewSlot(db, job, slot)
    if (live !== undefined) {
      // A manual run may be stopped at any time, so the slot waits for it.
      if (!isNew || live.cause === 'manual') return { kind: 'none' }
      const reason = `the job was still running (${named(live)})`
      await insertJobRun(db, { ...job, slot, status: 'skipped', error: reason })
      return { kind: 'skipped', reason }
    }
    const resumable = isNew ? undefined : open.find(({ cause }) => cause === 'schedule')
    await endDeadRuns(
      db,
      open.filter((run) => run !== resumable),
      isNew ? `its process ended; the slot of ${slot.toISOString()} replaces it` : undefined,
    )
    if (isNew) return await claimNew(db, holder, job, slot)
    return resumable === undefined
      ? { kind: 'none' }
      : await resume(db, holder, { ...job, ...resumable })
  })
}

/** Claims a manual run. BusyError while the job is running for the same services anywhere. */
export async function claimManually(pool: pg.Pool, job: SourceJob): Promise<Claim> {
  const { jobName } = job
  const claimed = await withHolder(pool, async (db, holder) => {
    await lockJob(db, job)
    const open = await openRuns(db, job)
    const live = await firstLive(db, open)
    if (live !== undefined)
      throw new BusyError(
        `${jobName} is at work (${named(live)}); nothing was started. Wait for it to end ("forecourt run" shows it), or stop it.`,
      )
    // The scheduler handles dead runs of slots.
    const manual = open.filter(({ cause }) => cause === 'manual')
    await endDeadRuns(db, manual)
    return await claimNew(db, holder, job, null)
  })
  if (claimed.kind !== 'claimed') throw new Error(`${jobName} was not claimed`)
  return claimed.claim
}

/** Runs a claim in a transaction, with a second session that holds the lock of the job run afterwards. */
async function withHolder(
  pool: pg.Pool,
  claim: (db: Db, holder: pg.PoolClient) => Promise<ClaimResult>,
): Promise<ClaimResult> {
  const holder = await pool.connect()
  let claimed: ClaimResult | undefined
  try {
    claimed = await inTransaction(pool, async ({ db }) => await claim(db, holder))
    return claimed
  } finally {
    // A failed claim may have taken the lock; closing the session releases it.
    if (claimed?.kind !== 'claimed') holder.release(claimed === undefined)
  }
}

/** Locks the job, so that only one process on any host claims it at a time. */
async function lockJob(db: Db, { jobName }: SourceJob): Promise<void> {
  await sql`select ${lockSql.wait('job', sql`hashtext(${jobName})`)}`.execute(db)
}

/** Job runs that are running, and the newest one if it was stopped, since a scheduler resumes it. */
async function openRuns(db: Db, { sourceId, jobName }: SourceJob): Promise<OpenRun[]> {
  const { rows } = await sql<OpenRun>`
    select fire_id as "fireId", attempt, cause, slot_at as slot, status, deaths,
      heartbeat_at < clock_timestamp() - make_interval(secs => ${silentSeconds}) as "isSilent",
      'process ' || process_id || ' on ' || host as process
    from ops.job_fire as run
    where job_name = ${jobName} and (source_id is null or source_id = ${sourceId}) and (status = 'running'
      or status = 'stopped' and cause = 'schedule' and not exists (
      select from ops.job_fire as newer where newer.job_name = run.job_name and newer.slot_at > run.slot_at
        and newer.status <> 'skipped' and (newer.source_id is null or newer.source_id = ${sourceId})))
    order by slot_at desc nulls last`.execute(db)
  return rows
}

/** The lock of one attempt at a job run. The session of the process that executes it holds the lock. */
export function jobRunLock({ fireId, attempt }: Pick<Claim, 'fireId' | 'attempt'>): LockKey {
  // Eight keys for each run: of nine attempts, the first is over.
  return ['jobRun', (fireId * 8 + (attempt % 8)) % 2_147_483_647]
}

/** The first run whose process is alive: its lock is held, and its heartbeat is recent. */
async function firstLive(db: Db, runs: readonly OpenRun[]): Promise<OpenRun | undefined> {
  for (const run of runs) {
    if (run.status === 'stopped' || run.isSilent) continue
    // A restart of Postgres ends the sessions of live processes too; wait until they have taken their locks again.
    const { rows } = await sql<{ free: boolean }>`
      select pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => ${lockGraceSeconds})
        and ${lockSql.tryShared('jobRun', jobRunLock(run)[1])} as free`.execute(db)
    if (rows[0]?.free === false) return run
  }
  return undefined
}

/** Whether a slot is newer than every claimed one and than the job's registration. */
async function isNewSlot(db: Db, { sourceId, jobName }: SourceJob, slot: Date): Promise<boolean> {
  const { rows } = await sql<{ isNew: boolean }>`
    select ${slot}::timestamptz > known_since and not exists (
      select from ops.job_fire where job_name = ${jobName} and slot_at >= ${slot}::timestamptz
        and (source_id is null or source_id = ${sourceId})) as "isNew"
    from ops.job where job_name = ${jobName} and source_id = ${sourceId}`.execute(db)
  return rows[0]?.isNew === true
}

async function endDeadRuns(
  db: Db,
  runs: readonly OpenRun[],
  error = 'its process ended',
): Promise<void> {
  await sql`
    update ops.job_fire set status = 'died', finished_at = clock_timestamp(), error = ${error}
    where fire_id = any(${runs.map(({ fireId }) => fireId)}::bigint[])
      and status = 'running'`.execute(db)
}

async function claimNew(
  db: Db,
  holder: pg.PoolClient,
  job: SourceJob,
  slot: Date | null,
): Promise<ClaimResult> {
  const row = await insertJobRun(db, { ...job, slot, status: 'running', error: null })
  if (row === undefined) return { kind: 'none' }
  const claim: Claim = { ...row, attempt: 1, cause: slot ? 'schedule' : 'manual', slot, holder }
  await hold(claim)
  return { kind: 'claimed', claim }
}

/** Takes over a job run, or ends it as failed after too many deaths. */
async function resume(
  db: Db,
  holder: pg.PoolClient,
  { sourceId, fireId, slot, attempt, status, deaths: earlier }: OpenRun & SourceJob,
): Promise<ClaimResult> {
  const deaths = status === 'running' ? earlier + 1 : 0
  if (deaths >= maxDeaths) {
    await sql`
      update ops.job_fire set status = 'failed', finished_at = clock_timestamp(), deaths = ${deaths},
        error = ${`its process ended ${deaths} times before the job did`}
      where fire_id = ${fireId}`.execute(db)
    return { kind: 'none' }
  }
  await sql`
    update ops.job_fire set status = 'running', attempt = attempt + 1, heartbeat_at = clock_timestamp(),
      finished_at = null, error = null, deaths = ${deaths}, host = ${host()}, process_id = ${process.pid}, source_id = ${sourceId}
    where fire_id = ${fireId}`.execute(db)
  const claim: Claim = {
    fireId,
    attempt: attempt + 1,
    cause: 'schedule',
    slot,
    isCatchUp: true,
    holder,
  }
  await hold(claim)
  return { kind: 'claimed', claim }
}

async function hold(claim: Claim): Promise<void> {
  await sql`select ${lockSql.waitSession('jobRun', jobRunLock(claim)[1])}`.execute(
    dbOn(claim.holder),
  )
}

interface NewRun extends SourceJob {
  readonly slot: Date | null
  readonly status: 'running' | 'skipped'
  readonly error: string | null
}

/** Inserts a job run. undefined: the slot has a row already. */
async function insertJobRun(
  db: Db,
  { sourceId, jobName, slot, status, error }: NewRun,
): Promise<Pick<Claim, 'fireId' | 'isCatchUp'> | undefined> {
  const { rows } = await sql<Pick<Claim, 'fireId' | 'isCatchUp'>>`
    insert into ops.job_fire (job_name, cause, slot_at, status, error, host, process_id, made_up, claimed_at,
      finished_at, source_id)
    select ${jobName}, case when ${slot}::timestamptz is null then 'manual' else 'schedule' end, ${slot}::timestamptz,
      ${status}::text, ${error}::text, ${host()}, ${process.pid},
      coalesce(at - ${slot}::timestamptz > interval '1 minute', false), at,
      case when ${status}::text = 'skipped' then at end, ${sourceId}
    from clock_timestamp() as at
    on conflict (job_name, slot_at, source_id) do nothing
    returning fire_id as "fireId", made_up as "isCatchUp"`.execute(db)
  return rows[0]
}

function host(): string {
  return hostname().slice(0, 120)
}

function named({ fireId, slot, process }: OpenRun): string {
  return `job run ${fireId}, ${slot === null ? 'manual' : `slot ${slot.toISOString()}`}, ${process}`
}
