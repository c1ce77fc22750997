import pLimit from 'p-limit'
import {
  buildCheckRef,
  pastOperations,
  readPastChecks,
} from '../../api/contract/appraisal/past-checks.ts'
import { listImages } from '../../api/contract/appraisal/photos.ts'
import type { RooftopAccess } from '../../api/sources/calls.ts'
import { type ErrorAction, errorText, SyncError } from '../../errors.ts'
import { loadChecks } from '../../streams/vehicle-checks/load-checks.ts'
import { relistReports } from '../../streams/vehicle-checks/make-due.ts'
import { RecordIssues } from '../../values/record.ts'
import { storable } from '../../values/text.ts'
import { LockTimeout, withSessionLock } from '../../warehouse/db/locks.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import { inTransaction } from '../../warehouse/db/transaction.ts'
import { archiveFolder, readArchived } from '../archive/archive.ts'
import {
  chooseOne,
  type FoundPdf,
  type FoundPhoto,
  findAccess,
  findEvaluations,
  findPdfs,
  findPhotos,
} from './find-linked.ts'
import type { LinkContext, LinkOutcome, LinkRequest, Unavailable, VanishedReason } from './link.ts'

/** Turns what a permalink names into a live URL, with one call to the source however many ask at once. */
export class LinkOpener {
  readonly #pdfs: PdfLinks
  readonly #photos: PhotoLinks

  constructor(context: LinkContext) {
    const time = new SourceTime(context)
    this.#pdfs = new PdfLinks(context, time)
    this.#photos = new PhotoLinks(context, time)
  }

  /** Rejects only with faults of ours: a source that fails is an outcome. */
  async open(request: LinkRequest): Promise<LinkOutcome> {
    const isText = [request.id, request.rooftopUid ?? ''].every((text) => storable(text) === text)
    // Postgres cannot hold such a text, so no id is equal to it.
    if (!isText) return { is: 'unknown' }
    return request.kind === 'photo'
      ? await this.#photos.open(request)
      : await this.#pdfs.open(request)
  }
}

/** How long an answer serves the evaluation's other photos. How long a photo's link is valid is not shown. */
const cacheMs = 5 * 60_000
/** The most evaluations whose links are in memory. */
const maxCached = 1000

/** The photos of an evaluation as `/imagelist` showed them; null: the source does not know the evaluation. */
interface Album {
  /** The source's time. */
  readonly at: Date
  readonly urls: ReadonlyMap<number, string | null> | null
}

/** Opens photos. Their links are never stored: they are signed on demand, with one call for an evaluation in five minutes. */
class PhotoLinks {
  readonly #context: LinkContext
  readonly #time: SourceTime
  readonly #flights = new SingleFlight<Album>()
  readonly #albums = new Map<string, Album>()

  constructor(context: LinkContext, time: SourceTime) {
    this.#context = context
    this.#time = time
  }

  async open(request: LinkRequest): Promise<LinkOutcome> {
    const { db, config, signal } = this.#context
    const chosen = chooseOne(await findPhotos(db, config, request), request)
    if ('outcome' in chosen) return chosen.outcome
    const { one } = chosen
    const until = withClickTimeout(signal)
    try {
      const { urls } = await this.#album(one, until)
      const url = urls?.get(one.photoId)
      if (url) return { is: 'live', url, expiresAt: null }
      const reason = urls === null ? 'gone' : url === null ? 'bare' : 'unlisted'
      return { is: 'vanished', reason, archived: null }
    } catch (error) {
      return unavailable(error, until)
    }
  }

  async #album(one: FoundPhoto, signal: AbortSignal): Promise<Album> {
    const key = `${one.rooftopId} ${one.evalId}`
    const now = await this.#time.now()
    const cached = this.#albums.get(key)
    // A photo that is not in it may have been added since.
    if (cached?.urls?.has(one.photoId) && Math.abs(now.getTime() - cached.at.getTime()) < cacheMs)
      return cached
    return await this.#flights.join(key, async () => {
      const album = await this.#readAlbum(one, signal)
      this.#store(key, album)
      return album
    })
  }

  #store(key: string, album: Album): void {
    this.#albums.delete(key)
    this.#albums.set(key, album)
    const [oldest] = this.#albums.keys()
    if (this.#albums.size > maxCached) this.#albums.delete(oldest!)
  }

  async #readAlbum(
    { rooftopUid, evalId, isGone }: FoundPhoto,
    signal: AbortSignal,
  ): Promise<Album> {
    const { services, appraisal, config } = this.#context
    const rooftop = findAccess(config, rooftopUid)!
    const call = { fields: { evalid: evalId }, rooftop, naturalKey: String(evalId), signal }
    try {
      const requestedAt = new Date()
      const answer = await services.call(listImages, call)
      this.#time.update(answer.date, requestedAt)
      const urls = answer.answer().Photos.map(({ id, url }) => [id, httpUrl(url)] as const)
      return { at: answer.date ?? (await this.#time.lastKnown()), urls: new Map(urls) }
    } catch (error) {
      if (!(error instanceof SyncError) || error.status !== 403) throw error
      // "No access" and "does not exist" are one status here; /geteval distinguishes them [A §4].
      const isThere =
        !isGone && (await appraisal.getEvaluation(rooftop, evalId, { signal })).kind === 'found'
      if (isThere) throw error
      return { at: await this.#time.lastKnown(), urls: null }
    }
  }
}

function httpUrl(url: string | null | undefined): string | null {
  return url && /^https?:\/\//i.test(url) && URL.canParse(url) ? url : null
}

/** A link that expires sooner is signed again, so that there is time to open it. */
const minLifeMs = 5 * 60_000
/** Vehicles at once; each takes up to two of the pool's connections. */
const signingsAtOnce = 4

/** The result of a call to the source; the links themselves are in the warehouse. */
type SignResult = { readonly is: 'signed' } | { readonly is: 'gone' } | Unavailable

const none = { is: 'gone' } as const
/** How long a check that the source does not have is not asked for again. */
const missingMs = 60_000
const maxMissing = 10_000

/** Opens the PDFs of PPSR and Car History checks: with the stored link while it is valid, else with one that is signed on demand. */
class PdfLinks {
  readonly #context: LinkContext
  readonly #time: SourceTime
  readonly #flights = new SingleFlight<SignResult>()
  readonly #slots = pLimit(signingsAtOnce)
  /** By check: when the source last answered that it no longer has it; `performance.now()`. */
  readonly #missing = new Map<string, number>()

  constructor(context: LinkContext, time: SourceTime) {
    this.#context = context
    this.#time = time
  }

  async open(request: LinkRequest): Promise<LinkOutcome> {
    const { db, config } = this.#context
    const chosen = chooseOne(await findPdfs(db, config, request), request)
    if ('outcome' in chosen) return chosen.outcome
    const { one } = chosen
    if (one.isErased) return { is: 'vanished', reason: 'erased', archived: null }
    const now = await this.#time.now()
    if (remainingMs(one, now) > minLifeMs) return liveLink(one)
    const signed = this.#isMissing(one) ? none : await this.#sign(one, request)
    const after = chooseOne(await findPdfs(db, config, request), request)
    if ('outcome' in after) return after.outcome
    if (remainingMs(after.one, await this.#time.lastKnown()) > minLifeMs) return liveLink(after.one)
    if (signed.is !== 'unavailable') return await this.#vanished(after.one, signed)
    // The source does not answer: a link that is about to expire is better than none.
    return remainingMs(after.one, now) > 0 ? liveLink(after.one) : signed
  }

  #isMissing(one: FoundPdf): boolean {
    const at = this.#missing.get(pdfKey(one))
    return at !== undefined && performance.now() - at < missingMs
  }

  /** The next clicks need not ask again; a check that is gone rarely comes back. */
  #remember(one: FoundPdf): typeof none {
    if (this.#missing.size >= maxMissing) this.#missing.clear()
    this.#missing.set(pdfKey(one), performance.now())
    return none
  }

  /** One call for the vehicle, however many clicks there are, here and in other processes. */
  async #sign(one: FoundPdf, request: LinkRequest): Promise<SignResult> {
    const key = `${one.groupId} ${one.vin} ${one.kind}`
    const { pool, signal, db, config } = this.#context
    const lock = { name: 'signLinks', subject: key, timeoutMs: clickTimeoutMs } as const
    return await this.#flights.join(key, async () => {
      const until = withClickTimeout(signal)
      try {
        return await this.#slots(
          async () =>
            await withSessionLock(pool, lock, async () => {
              const again = (await findPdfs(db, config, request)).find(
                ({ groupId }) => groupId === one.groupId,
              )
              const isLive = again && remainingMs(again, await this.#time.lastKnown()) > minLifeMs
              return isLive ? { is: 'signed' } : await this.#requestAny(one, until)
            }),
        )
      } catch (error) {
        return unavailable(error, until)
      }
    })
  }

  /** Requests the checks of one evaluation of the vehicle after the other until one answers. */
  async #requestAny(one: FoundPdf, signal: AbortSignal): Promise<SignResult> {
    const { db, config } = this.#context
    let refused: SyncError | null = null
    let unlistedAt: Date | null = null
    for (const { rooftopUid, evalId } of await findEvaluations(db, one)) {
      const rooftop = findAccess(config, rooftopUid)
      if (rooftop === null) continue
      try {
        unlistedAt = await this.#requestChecks(one, rooftop, evalId, signal)
        if (unlistedAt === null) return { is: 'signed' }
      } catch (error) {
        if (!(error instanceof SyncError)) throw error
        if (error.errorAction === 'abort') refused = error
        // Not found, or no VIN there: about this evaluation alone [A §7].
        else if (error.status !== 404 && error.status !== 400) throw error
      }
    }
    if (refused !== null) throw refused
    if (unlistedAt !== null) await this.#markUnlisted(one, unlistedAt)
    return this.#remember(one)
  }

  /** null: the answer lists the check. Else the time of the answer: the evaluation may have another VIN at the source by now. */
  async #requestChecks(
    { groupId, vin, kind, ref }: FoundPdf,
    rooftop: RooftopAccess,
    evalId: number,
    signal: AbortSignal,
  ): Promise<Date | null> {
    const { services, config, pool } = this.#context
    const requestedAt = new Date()
    const { body, date } = await services.call(pastOperations[kind], {
      fields: { evalid: evalId },
      rooftop,
      naturalKey: String(evalId),
      signal,
    })
    this.#time.update(date, requestedAt)
    const wire = config.wire.appraisal
    const checks = readPastChecks(body, wire)
    const at = date ?? (await this.#time.lastKnown())
    await inTransaction(pool, async (tx) => {
      const answer = { groupId, vin, kind, checks, at, runId: null, isOfThisVehicle: false }
      const [loaded] = await loadChecks(tx, [answer], wire)
      if (kind === 'ppsr' && loaded!.statusChanged) await relistReports(tx.db, groupId, [vin])
    })
    return checks.some((check) => buildCheckRef(check, vin) === ref) ? null : at
  }

  /** Marks a check that none of the vehicle's evaluations lists any more. */
  async #markUnlisted({ groupId, kind, ref }: FoundPdf, at: Date): Promise<void> {
    await this.#context.db
      .updateTable('core.vehicle_check')
      .set({ gone_at: at })
      .where('group_id', '=', groupId)
      .where('check_kind', '=', kind)
      .where('check_ref', '=', ref)
      .where('gone_at', 'is', null)
      .execute()
  }

  /** An archive that this process cannot read counts as empty. */
  readonly #unreadable = (error: unknown): null => {
    this.#context.log.warn(`the archive cannot be read: ${errorText(error)}`)
    return null
  }

  async #vanished(one: FoundPdf, signed: SignResult): Promise<LinkOutcome> {
    const { db, config } = this.#context
    const { rooftopId, evalId, kind, ref: linkRef } = one
    const folder = archiveFolder(config)
    const key = { rooftopId, evalId, linkKind: `${kind}_pdf`, linkRef }
    const read =
      folder === null ? null : await readArchived(db, folder, key).catch(this.#unreadable)
    return { is: 'vanished', reason: vanishedReason(one, signed), archived: read }
  }
}

function pdfKey({ groupId, kind, ref }: FoundPdf): string {
  return `${groupId} ${kind} ${ref}`
}

function vanishedReason({ isGone }: FoundPdf, { is }: SignResult): VanishedReason {
  if (isGone) return 'unlisted'
  return is === 'gone' ? 'gone' : 'bare'
}

/** In ms, by the source's clock. */
function remainingMs({ url, expiresAt }: FoundPdf, now: Date): number {
  return url === null || expiresAt === null ? 0 : expiresAt.getTime() - now.getTime()
}

function liveLink({ url, expiresAt }: FoundPdf): LinkOutcome {
  return { is: 'live', url: url!, expiresAt }
}

/** How long a click waits for the source in total. */
const clickTimeoutMs = 15_000

/** Seconds until another click may help: a fault passes, a key must be corrected, a quota lasts until tomorrow. */
const retryAfter: Readonly<Record<ErrorAction, number>> = {
  retry: 60,
  skip: 600,
  abort: 600,
  park: 3600,
}

/** A signal for one click's calls. */
function withClickTimeout(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(clickTimeoutMs)])
}

/** The outcome of a click after a fault of the source. Any other error is thrown again: it is a fault of ours. */
function unavailable(error: unknown, signal: AbortSignal): Unavailable {
  const after = (retryAfterSeconds: number): Unavailable => ({
    is: 'unavailable',
    retryAfterSeconds,
    reason: errorText(error),
  })
  if (error instanceof SyncError) return after(retryAfter[error.errorAction])
  if (error instanceof RecordIssues) return after(retryAfter.skip)
  if (error instanceof LockTimeout || signal.aborted) return after(30)
  throw error
}

/** How long a click waits for the source's clock. */
const clockTimeoutMs = 2000
/** After the source did not answer, the last measurement is used for this long. */
const pauseMs = 30_000
/** A measurement that took longer is too coarse to use. */
const coarseMs = 5000

/** The source's time for a click. Each click reads it, since a link that wrongly counts as valid leads the user to an error.
 *  Simultaneous clicks share one request; while the source does not answer, the last measurement is used. */
class SourceTime {
  readonly #context: LinkContext
  readonly #flights = new SingleFlight<void>()
  #pauseUntil = 0

  constructor(context: LinkContext) {
    this.#context = context
  }

  async now(): Promise<Date> {
    if (performance.now() >= this.#pauseUntil)
      await this.#flights.join('clock', () => this.#measure())
    return await this.lastKnown()
  }

  /** The same without a request. */
  async lastKnown(): Promise<Date> {
    const { db, appraisal } = this.#context
    return appraisal.clock.measured ? appraisal.clock.now() : await readSourceNow(db)
  }

  /** Measures the clock by the answer of another call. */
  update(date: Date | null, requestedAt: Date): void {
    const receivedAt = new Date()
    if (date === null || receivedAt.getTime() - requestedAt.getTime() > coarseMs) return
    this.#context.appraisal.clock.measure(date.toUTCString(), requestedAt, receivedAt)
  }

  async #measure(): Promise<void> {
    const { appraisal, signal, log } = this.#context
    try {
      await appraisal.measureClock({
        signal: AbortSignal.any([signal, AbortSignal.timeout(clockTimeoutMs)]),
      })
    } catch {
      this.#pauseUntil = performance.now() + pauseMs
      log.warn("the source's clock could not be read; using its last known time")
    }
  }
}

/** Work in progress, by its key: callers that ask for the same key meanwhile get the same answer. */
class SingleFlight<T> {
  readonly #inProgress = new Map<string, Promise<T>>()

  /** Joins the work on `key`, or begins it. */
  async join(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#inProgress.get(key)
    if (before !== undefined) return await before
    const running = work().finally(() => this.#inProgress.delete(key))
    this.#inProgress.set(key, running)
    return await running
  }
}
