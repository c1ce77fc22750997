import { type RawBuilder, sql } from 'kysely'
import pLimit from 'p-limit'
import type { Log } from '../../log.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type LinkKey, readAllArchived, recordArchived, storePdf } from './archive.ts'
import { fetchPdf, type PdfRules } from './fetch-pdf.ts'

/** A signed link of the warehouse. The url is a bearer secret. */
export interface SignedLink extends LinkKey {
  readonly url: string
  /** By the source's clock. */
  readonly isLive: boolean
  /** Whether `links refresh` signs it again. */
  readonly isRenewed: boolean
}

/** The result of an archive run. */
export interface ArchiveReport {
  archived: number
  alreadyThere: number
  /** Links that had expired before the run, of PDFs that are not in the archive. */
  expired: number
  /** Those of them that no run signs again. */
  notRenewed: number
  readonly failed: ArchiveFailure[]
  /** Of the PDFs that were archived now. */
  bytes: number
}

/** A PDF that was not archived; `ref` is the check's, and `reason` holds nothing secret. */
interface ArchiveFailure {
  readonly kind: string
  readonly ref: string
  readonly reason: string
}

/** What an archive run needs. */
export interface ArchiveWork {
  readonly db: Db
  readonly log: Log
  readonly rules: PdfRules
  readonly signal: AbortSignal
  /** By the source's clock. */
  readonly now: Date
  /** Joins `link` to the evaluations that are young enough for it to be signed again. */
  readonly ofRenewedAge: RawBuilder<unknown>
  /** PDFs fetched at once. */
  readonly concurrency: number
  /** A new url for a link that turned out to be dead; null when there is none. */
  readonly renewUrl: (link: SignedLink) => Promise<string | null>
}

/** Archives the PDF behind every live link of the rooftops that is not in the archive. A PDF that fails stops no other;
 *  rejects when the disk, the warehouse or the signal ends the work. What was archived stays. */
export async function archiveLinks(
  work: ArchiveWork,
  rooftopIds: readonly number[],
): Promise<ArchiveReport> {
  const counts = { archived: 0, alreadyThere: 0, expired: 0, notRenewed: 0, bytes: 0 }
  const report: ArchiveReport = { ...counts, failed: [] }
  for await (const batch of signedLinks(work.db, rooftopIds, work.now, work.ofRenewedAge))
    await archiveBatch(work, batch, report)
  return report
}

/** Archives a batch. A failure that ends one download ends the others too, and none continues after the promise is settled. */
async function archiveBatch(
  work: ArchiveWork,
  batch: readonly SignedLink[],
  report: ArchiveReport,
): Promise<void> {
  const limit = pLimit(work.concurrency)
  const broken = new AbortController()
  const signal = AbortSignal.any([work.signal, broken.signal])
  const there = await readAllArchived(work.db, work.rules.folder, batch)
  const failures = await Promise.all(
    batch.map(async (link, index) => {
      if (there[index]) report.alreadyThere++
      else if (link.isLive)
        return await limit(() => archiveOne({ ...work, signal }, link, report)).catch(
          (error: unknown) => broken.abort(error),
        )
      else {
        report.expired++
        if (!link.isRenewed) report.notRenewed++
      }
      return undefined
    }),
  )
  signal.throwIfAborted()
  report.failed.push(...failures.filter((failure) => failure !== undefined))
}

async function archiveOne(
  work: ArchiveWork,
  link: SignedLink,
  report: ArchiveReport,
): Promise<ArchiveFailure | undefined> {
  const { linkKind: kind, linkRef: ref } = link
  const fetched = await fetchLive(work, link)
  if (fetched.kind === 'refused') {
    const { code, reason } = fetched
    work.log.warn({ ref, code, reason }, `a ${kind} was not archived`)
    return { kind, ref, reason }
  }
  await storePdf(work.rules.folder, fetched)
  await recordArchived(work.db, link, fetched)
  work.log.debug({ ref, bytes: fetched.byteCount }, `archived a ${kind}`)
  report.archived++
  report.bytes += fetched.byteCount
  return undefined
}

/** Fetches the PDF. A link that is dead before its expiry is renewed and tried once more. */
async function fetchLive({ rules, signal, renewUrl }: ArchiveWork, link: SignedLink) {
  const fetched = await fetchPdf(link.url, rules, signal)
  if (fetched.kind === 'pdf' || fetched.code !== 'expired') return fetched
  const url = await renewUrl(link)
  return url === null || url === link.url ? fetched : await fetchPdf(url, rules, signal)
}

const batchSize = 500

/** The signed links of the rooftops, in batches, so that it does not matter how many there are; `now` is the source's. */
export async function* signedLinks(
  db: Db,
  rooftopIds: readonly number[],
  now: Date,
  ofRenewedAge: RawBuilder<unknown>,
): AsyncGenerator<readonly SignedLink[]> {
  let after: LinkKey = { rooftopId: 0, evalId: 0, linkKind: '', linkRef: '' }
  for (;;) {
    const { rows } = await sql<SignedLink>`
      select rooftop_id as "rooftopId", eval_id as "evalId", link_kind as "linkKind", link_ref as "linkRef", url,
        expires_at > ${now}::timestamptz as "isLive",
        is_in_scope and exists (select from (values (1)) as one ${ofRenewedAge}) as "isRenewed"
      from pii.signed_link as link
      where rooftop_id = any(${[...rooftopIds]}::int[]) and (rooftop_id, eval_id, link_kind, link_ref)
        > (${after.rooftopId}::int, ${after.evalId}::bigint, ${after.linkKind}::text, ${after.linkRef}::text)
      order by rooftop_id, eval_id, link_kind, link_ref
      limit ${batchSize}`.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < batchSize) return
    after = rows.at(-1)!
  }
}

/** The link's url in the warehouse now: it may have been signed again meanwhile. null: there is none. */
export async function currentUrl(db: Db, link: LinkKey): Promise<string | null> {
  const row = await db
    .selectFrom('pii.signed_link')
    .select('url')
    .where('rooftop_id', '=', link.rooftopId)
    .where('eval_id', '=', link.evalId)
    .where('link_kind', '=', link.linkKind)
    .where('link_ref', '=', link.linkRef)
    .executeTakeFirst()
  return row?.url ?? null
}

/** The entries that `links.archive.hosts` needs for the links in the warehouse: `host` or `http://host:port`. */
export async function hostsOfLinks(db: Db): Promise<string[]> {
  const { rows } = await sql<{ origin: string }>`
    select distinct substring(url from '^(https?://[^/?#]+)') as origin
    from pii.signed_link where url ~ '^https?://[^/?#@]+([/?#]|$)' limit 20`.execute(db)
  return rows.map(({ origin }) => origin.replace(/^https:\/\//, '')).sort()
}
