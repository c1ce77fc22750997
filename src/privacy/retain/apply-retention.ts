import { type RawBuilder, sql } from 'kysely'
import { submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import type { Context } from '../../context.ts'
import { allStreams } from '../../streams/all.ts'
import { summariseRuns } from '../../sync/explain/run-history.ts'
import { archiveFolder } from '../../web/archive/archive.ts'
import { type FilesRemoved, removeErasedFiles } from '../erase/erased-files.ts'

/** What retention deleted. */
interface RetentionReport {
  /** Superseded bodies of `raw.payload`. */
  readonly payloads: number
  /** Records of quarantine that were resolved. */
  readonly quarantine: number
  /** Signed links that have expired and are no longer renewed. */
  readonly links: number
  /** Bodies of webhooks. */
  readonly deliveries: number
  /** Webhooks of days whose counts `ops.webhook_day` has. */
  readonly webhooks: number
  /** Runs that were reduced to their sums. The runs stay, because their records refer to them. */
  readonly runs: number
  /** Price batches with their units and payloads; the prices stay. */
  readonly priceBatches: number
  /** Runs of jobs. */
  readonly jobRuns: number
  /** What people did in the console. */
  readonly consoleActions: number
  /** Uploaded stock lists that were not imported within a day, and the notes on older ones. */
  readonly uploads: number
  /** Records of files that came by a drop folder. */
  readonly inboxFiles: number
  /** Lines of the logs of runs. */
  readonly runLines: number
  /** Files of the archive that erasures could not remove at once. */
  readonly files: FilesRemoved
}

type RetentionContext = Pick<Context, 'db' | 'config' | 'signal'>

/** Rows that one statement deletes: locks are short, and an interruption keeps the finished batches. */
const batchSize = 1_000

/**
 * Deletes data older than `retention.rawDays`: superseded payloads, bodies of webhooks, records that left quarantine, lines of logs,
 * uploads, records of dropped files, and expired links of checks that the source no longer lists. The newest payload of each record
 * always stays: `why` and `replay` need it. Deletes what runs did by rooftop after `retention.runDays`, and runs of jobs, price batches,
 * webhooks and actions in the console after `retention.ledgerDays`. Stops between two batches when the signal is aborted.
 */
export async function applyRetention(context: RetentionContext): Promise<RetentionReport> {
  const { db, config } = context
  const { rawDays, runDays, ledgerDays } = config.retention
  const [cutoff, runCutoff, ledgerCutoff] = [
    daysAgo(rawDays),
    daysAgo(runDays),
    daysAgo(ledgerDays),
  ]
  const payloads = await deletePayloads(context, cutoff, batchSize)
  const quarantine = await inBatches(
    context,
    sql`delete from ops.quarantine where quarantine_id in (
      select quarantine_id from ops.quarantine where resolved_at < ${cutoff} limit ${batchSize})`,
  )
  const links = await inBatches(context, expiredLinks(cutoff))
  const deliveries = await inBatches(
    context,
    sql`update ops.webhook_delivery set body = null where delivery_id in (
      select delivery_id from ops.webhook_delivery
      where body is not null and received_at < ${cutoff} limit ${batchSize})`,
  )
  await settleWebhookDays(ledgerCutoff).execute(db)
  const webhooks = await inBatches(context, settledWebhooks)
  const runs = await repeat(context, async () => await summariseRuns(db, runCutoff, batchSize))
  const priceBatches = await inBatches(context, oldPriceBatches(ledgerCutoff))
  const jobRuns = await inBatches(context, oldJobRuns(ledgerCutoff))
  const consoleActions = await inBatches(context, oldConsoleActions(ledgerCutoff))
  const uploads = await inBatches(context, oldUploads(cutoff))
  const inboxFiles = await inBatches(context, oldInboxFiles(cutoff))
  const runLines = await inBatches(context, oldRunLines(cutoff))
  // Where no lake is exported to any more, no export deletes them.
  await sql`select ops.forget_lake_changes()`.execute(db)
  const files = await removeErasedFiles(db, archiveFolder(config))
  return {
    payloads,
    quarantine,
    links,
    ...{ deliveries, webhooks },
    ...{ runs, priceBatches, jobRuns, consoleActions },
    uploads,
    inboxFiles,
    runLines,
    files,
  }
}

// The links of listed checks stay: their rows show that they must be signed again.
const expiredLinks = (before: Date) => sql`
  delete from pii.signed_link where (rooftop_id, eval_id, link_kind, link_ref) in (
    select rooftop_id, eval_id, link_kind, link_ref from pii.signed_link as link
    where not is_in_scope and expires_at < ${before} and not exists (
      select from core.vehicle_check as listed
      where listed.rooftop_id = link.rooftop_id and listed.eval_id = link.eval_id
        and listed.check_ref = link.link_ref and listed.check_kind || '_pdf' = link.link_kind
        and listed.gone_at is null)
    limit ${batchSize})`

const oldUploads = (before: Date) => sql`
  delete from ops.stock_upload where upload_id in (
    select upload_id from ops.stock_upload where made_at < ${before} or (import_id is null and ends_at < now()) limit ${batchSize})`

const oldRunLines = (before: Date) => sql`
  delete from ops.run_log where (run_id, line_id) in (
    select run_id, line_id from ops.run_log where at < ${before} limit ${batchSize})`

// The newest list of a drop folder stays, because it settles the failed ones before it; a failed one stays until a person removed its file.
const oldInboxFiles = (before: Date) => sql`
  delete from ops.stock_inbox_file where file_id in (
    select file_id from ops.stock_inbox_file as file
    where ended_at < ${before} and (state in ('done', 'gone') or cleared_at is not null) and file_id < (
      select max(newest.file_id) from ops.stock_inbox_file as newest where newest.inbox = file.inbox and newest.state = 'done')
    limit ${batchSize})`

const oldPriceBatches = (before: Date) => sql`
  with old as materialized (
    select batch_no, rooftop_id from ops.price_batch where finished_at < ${before} order by batch_no limit ${batchSize}
  ), units as (delete from ops.price_batch_unit as unit using old where unit.batch_no = old.batch_no
  ), bodies as (
    delete from raw.payload using old
    where payload.rooftop_id = old.rooftop_id and endpoint = ${submitPriceBatch.name} and natural_key = old.batch_no::text)
  delete from ops.price_batch as batch using old where batch.batch_no = old.batch_no`

// The newest run of each job shows its status. A drop folder is read 288 times a day, mostly for nothing.
const oldJobRuns = (before: Date) => sql`
  delete from ops.job_fire where fire_id in (
    select fire_id from ops.job_fire as old where status <> 'running'
      and claimed_at < case when job_name = 'stock-inbox' and status in ('ok', 'skipped') then now() - interval '14 days' else ${before} end
      and fire_id < (select max(fire_id) from ops.job_fire as newest
        where newest.job_name = old.job_name and newest.source_id is not distinct from old.source_id)
    limit ${batchSize})`

// One statement, so that two hosts store a day once: the second waits for the mark and finds nothing before it.
const settleWebhookDays = (before: Date) => sql`
  with mark as (
    update ops.webhook_settled as mark set last_date = (${before}::timestamptz at time zone 'UTC')::date - 1
    from (select last_date from ops.webhook_settled for update) as earlier
    where earlier.last_date < (${before}::timestamptz at time zone 'UTC')::date - 1
    returning mark.last_date, earlier.last_date as earlier_date
  )
  insert into ops.webhook_day
  select rooftop_id, webhook_date, deliveries, duplicates, processed, kept, waiting, unusable, failed, expected, missed,
    arrival_p50_seconds, arrival_p95_seconds, loading_p50_seconds, loading_p95_seconds
  from mart.webhook_latency cross join mark
  where webhook_date > mark.earlier_date and webhook_date <= mark.last_date
  on conflict do nothing`

// A completion early on the first day that is still counted may have been delivered at a sibling where it was the day before.
const settledWebhooks = sql`
  delete from ops.webhook_delivery where delivery_id in (
    select delivery_id from ops.webhook_delivery
    where received_at < (select last_date - 2 from ops.webhook_settled) limit ${batchSize})`

const oldConsoleActions = (before: Date) => sql`
  delete from ops.console_action where action_id in (
    select action_id from ops.console_action where at < ${before} order by action_id limit ${batchSize})`

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000)
}

async function inBatches(
  context: RetentionContext,
  statement: RawBuilder<unknown>,
): Promise<number> {
  return await repeat(context, async () => {
    const { numAffectedRows } = await statement.execute(context.db)
    return Number(numAffectedRows)
  })
}

/** Deletes batch after batch until one is not full. */
async function repeat(
  { signal }: RetentionContext,
  deleteBatch: () => Promise<number>,
): Promise<number> {
  let deleted = 0
  for (;;) {
    signal.throwIfAborted()
    const found = await deleteBatch()
    deleted += found
    if (found < batchSize) return deleted
  }
}

/** Calls that are repeated, so that a newer answer replaces an older one. A paid answer
 *  always stays: it is the receipt of its cost. */
const repeated = allStreams.flatMap(({ endpoints }) => endpoints)

interface Entry {
  readonly naturalKey: string
  readonly fetchedAt: Date
}

/** Deletes payloads that were read before the cutoff and have a newer one of the same record. Reads every index entry
 *  once, and no body. Returns how many were deleted. */
export async function deletePayloads(
  { db, signal }: Pick<Context, 'db' | 'signal'>,
  cutoff: Date,
  batchSize: number,
): Promise<number> {
  const { rows: rooftops } = await sql<{ id: number }>`
    select rooftop_id as id from core.rooftop order by 1`.execute(db)
  let deleted = 0
  for (const { id } of rooftops) {
    for (const endpoint of repeated) {
      let after: Entry | null = { naturalKey: '', fetchedAt: new Date(0) }
      while (after !== null) {
        signal.throwIfAborted()
        const page: Page = await deleteNext(db, [id, endpoint, after, cutoff, batchSize])
        deleted += page.gone
        after = page.checked < batchSize ? null : page.last
      }
    }
  }
  return deleted
}

interface Page {
  readonly last: Entry | null
  readonly checked: number
  readonly gone: number
}

async function deleteNext(
  db: Context['db'],
  [rooftopId, endpoint, after, cutoff, limit]: readonly [number, string, Entry, Date, number],
): Promise<Page> {
  // The next entries in the order of the key, and how many were deleted. The last entry is where the next page starts.
  const { rows } = await sql<{
    key: string | null
    at: Date | null
    checked: number
    gone: number
  }>`
    with page as materialized (
      select natural_key, fetched_at, fetched_at < ${cutoff} and exists (
        select from raw.payload as newer
        where newer.rooftop_id = ${rooftopId} and newer.endpoint = ${endpoint} and newer.natural_key = here.natural_key
          and newer.fetched_at > here.fetched_at) as is_over
      from raw.payload as here
      where rooftop_id = ${rooftopId} and endpoint = ${endpoint}
        and (natural_key, fetched_at) > (${after.naturalKey}, ${after.fetchedAt}::timestamptz)
      order by natural_key, fetched_at limit ${limit}
    ), gone as (
      delete from raw.payload as old using page
      where is_over and old.rooftop_id = ${rooftopId} and old.endpoint = ${endpoint}
        and old.natural_key = page.natural_key and old.fetched_at = page.fetched_at
      returning 1
    ), last as (
      select natural_key, fetched_at from page order by natural_key desc, fetched_at desc limit 1
    )
    select (select natural_key from last) as key, (select fetched_at from last) as at,
      (select count(*)::int from page) as checked, (select count(*)::int from gone) as gone`.execute(
    db,
  )
  const { key, at, checked, gone } = rows[0]!
  return { last: key === null ? null : { naturalKey: key, fetchedAt: at! }, checked, gone }
}
