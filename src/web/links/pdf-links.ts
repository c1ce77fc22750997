import pLimit from 'p-limit'
import {
  buildCheckRef,
  pastOperations,
  readPastChecks,
} from '../../api/contract/appraisal/past-checks.ts'
import type { RooftopAccess } from '../../api/sources/calls.ts'
import { errorText, SyncError } from '../../errors.ts'
import { loadChecks } from '../../streams/vehicle-checks/load-checks.ts'
import { relistReports } from '../../streams/vehicle-checks/make-due.ts'
import { withSessionLock } from '../../warehouse/db/locks.ts'
import { inTransaction } from '../../warehouse/db/transaction.ts'
import { archiveFolder, readArchived } from '../archive/archive.ts'
import { chooseOne, type FoundPdf, findAccess, findEvaluations, findPdfs } from './find-linked.ts'
import type { LinkContext, LinkOutcome, LinkRequest, Unavailable, VanishedReason } from './link.ts'
import { SingleFlight } from './single-flight.ts'
import type { SourceTime } from './source-time.ts'
import { clickTimeoutMs, unavailable, withClickTimeout } from './unavailable.ts'

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
export class PdfLinks {
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
              return isLive ? { is: 'signed' } : await this.#askAny(one, until)
            }),
        )
      } catch (error) {
        return unavailable(error, until)
      }
    })
  }

  /** Asks with one evaluation of the vehicle after the other until one answers. */
  async #askAny(one: FoundPdf, signal: AbortSignal): Promise<SignResult> {
    const { db, config } = this.#context
    let refused: SyncError | null = null
    let unlistedAt: Date | null = null
    for (const { rooftopUid, evalId } of await findEvaluations(db, one)) {
      const rooftop = findAccess(config, rooftopUid)
      if (rooftop === null) continue
      try {
        unlistedAt = await this.#ask(one, rooftop, evalId, signal)
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
  async #ask(
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
