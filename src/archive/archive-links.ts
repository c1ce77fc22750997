import pLimit from 'p-limit'
import type { Db } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import { type ArchivedPdf, recordArchived, readAllArchived, storePdf } from './archive.ts'
import { fetchPdf, type PdfRules, type Refusal } from './fetch-pdf.ts'
import { type SignedLink, signedLinks } from './links-to-archive.ts'

/** The result of an archive run. */
export interface ArchiveReport {
  readonly archived: number
  readonly alreadyThere: number
  /** Links that had expired before the run, of PDFs that are not in the archive. */
  readonly expired: number
  readonly failed: readonly ArchiveFailure[]
  /** Of the PDFs that were archived now. */
  readonly bytes: number
}

/** A PDF that was not archived; `ref` is the check's, and `reason` holds nothing secret. */
export interface ArchiveFailure {
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
  /** PDFs fetched at once. */
  readonly concurrency: number
  /** A new url for a link that turned out to be dead; null when there is none. */
  readonly renewUrl: (link: SignedLink) => Promise<string | null>
}

type Outcome =
  | { readonly kind: 'archived'; readonly bytes: number }
  | { readonly kind: 'there' | 'expired' }
  | { readonly kind: 'failed'; readonly failure: ArchiveFailure }

/** Archives the PDF behind every live link of the rooftops that is not in the archive. A PDF that fails stops no other;
 *  rejects when the disk, the warehouse or the signal ends the work. What was archived stays. */
export async function archiveLinks(
  work: ArchiveWork,
  rooftopIds: readonly number[],
): Promise<ArchiveReport> {
  let report: ArchiveReport = { archived: 0, alreadyThere: 0, expired: 0, failed: [], bytes: 0 }
  for await (const batch of signedLinks(work.db, rooftopIds, work.now))
    report = (await archiveBatch(work, batch)).reduce(added, report)
  return report
}

/** Archives a batch. A failure that ends one download ends the others too, and none continues after the promise is settled. */
async function archiveBatch(work: ArchiveWork, batch: readonly SignedLink[]): Promise<Outcome[]> {
  const limit = pLimit(work.concurrency)
  const broken = new AbortController()
  const signal = AbortSignal.any([work.signal, broken.signal])
  const there = await readAllArchived(work.db, work.rules.folder, batch)
  const settled = await Promise.allSettled(
    batch.map((link, index) =>
      limit(async () => {
        try {
          return await archiveOne({ ...work, signal }, link, there[index] ?? null)
        } catch (error) {
          broken.abort(error)
          throw error
        }
      }),
    ),
  )
  signal.throwIfAborted()
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}

async function archiveOne(
  work: ArchiveWork,
  link: SignedLink,
  there: ArchivedPdf | null,
): Promise<Outcome> {
  if (there !== null) return { kind: 'there' }
  if (!link.isLive) return { kind: 'expired' }
  const fetched = await fetchLive(work, link)
  if (fetched.kind === 'refused') return failed(work, link, fetched)
  await storePdf(work.rules.folder, fetched)
  await recordArchived(work.db, link, fetched)
  work.log.debug({ ref: link.linkRef, bytes: fetched.byteCount }, `archived a ${link.linkKind}`)
  return { kind: 'archived', bytes: fetched.byteCount }
}

/** Fetches the PDF. A link that is dead before its expiry is renewed and tried once more. */
async function fetchLive({ rules, signal, renewUrl }: ArchiveWork, link: SignedLink) {
  const fetched = await fetchPdf(link.url, rules, signal)
  if (fetched.kind === 'pdf' || fetched.code !== 'expired') return fetched
  const url = await renewUrl(link)
  return url === null || url === link.url ? fetched : await fetchPdf(url, rules, signal)
}

function failed({ log }: ArchiveWork, link: SignedLink, { code, reason }: Refusal): Outcome {
  const { linkKind: kind, linkRef: ref } = link
  log.warn({ ref, code, reason }, `a ${kind} was not archived`)
  return { kind: 'failed', failure: { kind, ref, reason } }
}

function added(report: ArchiveReport, outcome: Outcome): ArchiveReport {
  switch (outcome.kind) {
    case 'archived':
      return {
        ...report,
        archived: report.archived + 1,
        bytes: report.bytes + outcome.bytes,
      }
    case 'there':
      return { ...report, alreadyThere: report.alreadyThere + 1 }
    case 'expired':
      return { ...report, expired: report.expired + 1 }
    case 'failed':
      return { ...report, failed: [...report.failed, outcome.failure] }
  }
}
