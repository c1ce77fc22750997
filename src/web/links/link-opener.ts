import { storable } from '../../values/text.ts'
import type { LinkContext, LinkOutcome, LinkRequest } from './link.ts'
import { PdfLinks } from './pdf-links.ts'
import { PhotoLinks } from './photo-links.ts'
import { SourceTime } from './source-time.ts'

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
