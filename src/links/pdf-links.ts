import pLimit from 'p-limit'
import { archiveFolder, readArchived } from '../archive/archive.ts'
import { inTransaction } from '../db/transaction.ts'
import { SyncError } from '../errors.ts'
import type { RooftopAccess } from '../sources/appraisal/client.ts'
import { loadPastChecks } from '../streams/vehicle-checks/load-past.ts'
import { pastOperations, readPastChecks } from '../streams/vehicle-checks/past-checks.ts'
import { accessOf, choose, type FoundPdf, findEvaluations, findPdfs } from './find.ts'
import type { LinkAsk, LinkContext, LinkOutcome, Unavailable, VanishedReason } from './link.ts'
import { underLock } from './lock.ts'
import { SingleFlight } from './single-flight.ts'
import type { SourceTime } from './source-time.ts'
import { patienceMs, patient, unavailable } from './unavailable.ts'

/** A link with less to live is signed anew: whoever opens it may do so in a moment. */
const leastLifeMs = 5 * 60_000
/** Vehicles at once; each takes up to two of the pool's connections. */
const resignsAtOnce = 4

/** What a call to the source has brought; the links themselves stand in the warehouse. */
type Resigned = { readonly is: 'signed' } | { readonly is: 'gone' } | Unavailable

/** The PDFs of PPSR and Car History checks: the stored link while it lives, else one that is signed on demand. */
export class PdfLinks {
  readonly #context: LinkContext
  readonly #time: SourceTime
  readonly #flights = new SingleFlight<Resigned>()
  readonly #slots = pLimit(resignsAtOnce)

  constructor(context: LinkContext, time: SourceTime) {
    this.#context = context
    this.#time = time
  }

  async open(ask: LinkAsk): Promise<LinkOutcome> {
    const { db, config } = this.#context
    const chosen = choose(await findPdfs(db, config, ask), ask)
    if ('outcome' in chosen) return chosen.outcome
    const { one } = chosen
    const now = await this.#time.now()
    if (livesFor(one, now) > leastLifeMs) return liveLink(one)
    const resigned = await this.#resign(one, ask)
    const after = choose(await findPdfs(db, config, ask), ask)
    if ('outcome' in after) return after.outcome
    if (livesFor(after.one, await this.#time.last()) > leastLifeMs) return liveLink(after.one)
    if (resigned.is !== 'unavailable') return await this.#vanished(after.one, resigned)
    // The source is silent: a link that is about to die is better than none.
    return livesFor(after.one, now) > 0 ? liveLink(after.one) : resigned
  }

  /** One call for the vehicle, however many clicks there are, here and in other processes. */
  async #resign(one: FoundPdf, ask: LinkAsk): Promise<Resigned> {
    const key = `${one.groupId} ${one.vin} ${one.kind}`
    const { pool, signal, db, config } = this.#context
    return await this.#flights.join(key, async () => {
      const until = patient(signal)
      try {
        return await this.#slots(
          async () =>
            await underLock(pool, key, patienceMs, async () => {
              const again = (await findPdfs(db, config, ask)).find(
                ({ groupId }) => groupId === one.groupId,
              )
              const isLive = again && livesFor(again, await this.#time.last()) > leastLifeMs
              return isLive ? { is: 'signed' } : await this.#askAny(one, until)
            }),
        )
      } catch (error) {
        return unavailable(error, until)
      }
    })
  }

  /** Asks under one evaluation of the vehicle after the other until one answers. */
  async #askAny(one: FoundPdf, signal: AbortSignal): Promise<Resigned> {
    const { db, config } = this.#context
    let refused: SyncError | null = null
    for (const { rooftopUid, evalId } of await findEvaluations(db, one)) {
      const rooftop = accessOf(config, rooftopUid)
      if (rooftop === null) continue
      try {
        await this.#ask(one, rooftop, evalId, signal)
        return { is: 'signed' }
      } catch (error) {
        if (!(error instanceof SyncError)) throw error
        if (error.verdict === 'abort') refused = error
        // Not found, or no VIN there: about this evaluation alone [A §7].
        else if (error.status !== 404 && error.status !== 400) throw error
      }
    }
    if (refused !== null) throw refused
    return { is: 'gone' }
  }

  async #ask(
    { groupId, vin, kind }: FoundPdf,
    rooftop: RooftopAccess,
    evalId: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { services, config, pool } = this.#context
    const requestedAt = new Date()
    const { body, date } = await services.call(pastOperations[kind], {
      fields: { evalid: evalId },
      rooftop,
      naturalKey: String(evalId),
      signal,
    })
    this.#time.keep(date, requestedAt)
    const checks = readPastChecks(body, config.wire.appraisal)
    const at = date ?? (await this.#time.last())
    await inTransaction(pool, async (tx) => {
      await loadPastChecks(tx.db, [{ groupId, vin, kind, checks, at }], null)
    })
  }

  async #vanished(one: FoundPdf, resigned: Resigned): Promise<LinkOutcome> {
    const { db, config } = this.#context
    const { rooftopId, evalId, kind, ref: linkRef } = one
    const folder = archiveFolder(config)
    const key = { rooftopId, evalId, linkKind: `${kind}_pdf`, linkRef }
    const archived = folder === null ? null : await readArchived(db, folder, key)
    return { is: 'vanished', reason: reasonOf(one, resigned), archived }
  }
}

function reasonOf({ isGone }: FoundPdf, { is }: Resigned): VanishedReason {
  if (is === 'gone') return 'gone'
  return isGone ? 'unlisted' : 'bare'
}

/** In ms, by the source's clock. */
function livesFor({ url, expiresAt }: FoundPdf, now: Date): number {
  return url === null || expiresAt === null ? 0 : expiresAt.getTime() - now.getTime()
}

function liveLink({ url, expiresAt }: FoundPdf): LinkOutcome {
  return { is: 'live', url: url!, expiresAt }
}
