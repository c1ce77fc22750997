import type { Context } from '../../context.ts'
import { archiveFolder } from '../../web/archive/archive.ts'
import { type FilesRemoved, removeErasedFiles } from '../erase/erased-files.ts'
import { deletePayloads } from './payloads.ts'

/** What retention deleted. */
interface RetentionReport {
  /** Superseded bodies of `raw.payload`. */
  readonly payloads: number
  /** Records of quarantine that were resolved. */
  readonly quarantine: number
  /** Signed links that have expired and are no longer renewed. */
  readonly links: number
  /** Bodies of webhooks. The rows stay, because missed deliveries are counted by them. */
  readonly deliveries: number
  /** Counts of runs for webhooks. The runs stay, because their records refer to them. */
  readonly eventRuns: number
  /** Uploaded stock lists that were not imported within a day, and the notes on older ones. */
  readonly uploads: number
  /** Records of files that came by a drop folder. */
  readonly inboxFiles: number
  /** Lines of the logs of runs. */
  readonly runLines: number
  /** Files of the archive that erasures could not remove at once. */
  readonly files: FilesRemoved
}

type RetentionContext = Pick<Context, 'pool' | 'db' | 'config' | 'signal'>

/** Rows that one statement deletes: locks are short, and an interruption keeps the finished batches. */
const batchSize = 1_000

/**
 * Deletes data older than `retention.rawDays`: superseded payloads, bodies of webhooks and the counts of their runs, records
 * that left quarantine, lines of logs, uploads, records of dropped files, and expired links of checks that the source no longer lists. The newest payload of each record always stays: `why` and `replay`
 * need it. Stops between two batches when the signal is aborted.
 */
export async function applyRetention(context: RetentionContext): Promise<RetentionReport> {
  const { db, config } = context
  const cutoff = new Date(Date.now() - config.retention.rawDays * 86_400_000)
  const payloads = await deletePayloads(context, cutoff, batchSize)
  const quarantine = await inBatches(
    context,
    `delete from ops.quarantine where quarantine_id in (
       select quarantine_id from ops.quarantine where resolved_at < $1 limit $2)`,
    cutoff,
  )
  const links = await inBatches(context, expiredLinks, cutoff)
  const deliveries = await inBatches(
    context,
    `update ops.webhook_delivery set body = null where delivery_id in (
       select delivery_id from ops.webhook_delivery where body is not null and received_at < $1 limit $2)`,
    cutoff,
  )
  const eventRuns = await inBatches(context, oldEventRuns, cutoff)
  const uploads = await inBatches(context, oldUploads, cutoff)
  const inboxFiles = await inBatches(context, oldInboxFiles, cutoff)
  const runLines = await inBatches(context, oldRunLines, cutoff)
  const files = await removeErasedFiles(db, archiveFolder(config))
  return {
    payloads,
    quarantine,
    links,
    deliveries,
    eventRuns,
    uploads,
    inboxFiles,
    runLines,
    files,
  }
}

// The links of listed checks stay: their rows show that they must be signed again.
const expiredLinks = `
  delete from pii.signed_link where (rooftop_id, eval_id, link_kind, link_ref) in (
    select rooftop_id, eval_id, link_kind, link_ref from pii.signed_link as link
    where expires_at < $1 and not exists (
      select from core.vehicle_check as listed
      where listed.rooftop_id = link.rooftop_id and listed.eval_id = link.eval_id
        and listed.check_ref = link.link_ref and listed.check_kind || '_pdf' = link.link_kind
        and listed.gone_at is null)
    limit $2)`

const oldUploads = `
  delete from ops.stock_upload where upload_id in (
    select upload_id from ops.stock_upload where made_at < $1 or (import_id is null and ends_at < now()) limit $2)`

const oldRunLines = `
  delete from ops.run_log where (run_id, line_id) in (
    select run_id, line_id from ops.run_log where at < $1 limit $2)`

// The newest list of a drop folder stays, because it settles the failed ones before it; a failed one stays until a person removed its file.
const oldInboxFiles = `
  delete from ops.stock_inbox_file where file_id in (
    select file_id from ops.stock_inbox_file as file
    where ended_at < $1 and (state in ('done', 'gone') or cleared_at is not null) and file_id < (
      select max(newest.file_id) from ops.stock_inbox_file as newest where newest.inbox = file.inbox and newest.state = 'done')
    limit $2)`

const oldEventRuns = `
  delete from ops.run_stream where (run_id, rooftop_id, stream) in (
    select run_id, rooftop_id, stream from ops.run join ops.run_stream using (run_id)
    where lane = 'event' and run.status <> 'running' and run.finished_at < $1 limit $2)`

async function inBatches(
  { pool, signal }: RetentionContext,
  statement: string,
  cutoff: Date,
): Promise<number> {
  let deleted = 0
  for (;;) {
    signal.throwIfAborted()
    const { rowCount } = await pool.query(statement, [cutoff, batchSize])
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < batchSize) return deleted
  }
}
