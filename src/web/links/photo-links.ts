import { listImages } from '../../api/contract/appraisal/photos.ts'
import { SyncError } from '../../errors.ts'
import { chooseOne, type FoundPhoto, findAccess, findPhotos } from './find-linked.ts'
import type { LinkContext, LinkOutcome, LinkRequest } from './link.ts'
import { SingleFlight } from './single-flight.ts'
import type { SourceTime } from './source-time.ts'
import { unavailable, withClickTimeout } from './unavailable.ts'

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
export class PhotoLinks {
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
      const album = await this.#ask(one, signal)
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

  async #ask({ rooftopUid, evalId, isGone }: FoundPhoto, signal: AbortSignal): Promise<Album> {
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
