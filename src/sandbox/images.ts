/** An uploaded image as it is served again. */
export interface StoredImage {
  readonly bytes: Buffer
  /** Media type. */
  readonly type: string
  /** End of the link's path, without the dot. */
  readonly extension: string
}

/** Bytes of the photos that were uploaded, by photo id. */
export class Images {
  readonly #images = new Map<number, StoredImage>()
  #bytes = 0
  // Beyond the ids of generated worlds, and within 32 bits.
  #lastId = 900_000_000

  /** Stores images and returns their ids in order, unique in the service. Stores nothing and returns null when the total would
   *  exceed `limit` bytes. */
  store(images: readonly StoredImage[], limit: number): number[] | null {
    const bytes = images.reduce((sum, image) => sum + image.bytes.length, this.#bytes)
    if (bytes > limit) return null
    this.#bytes = bytes
    return images.map((image) => {
      this.#lastId += 1
      this.#images.set(this.#lastId, image)
      return this.#lastId
    })
  }

  find(photoId: number): StoredImage | undefined {
    return this.#images.get(photoId)
  }
}

/** Accepted image formats; drawings and documents are refused. */
const extensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/tiff': 'tiff',
}

/** The image with its real type, whatever type the sender stated; null when it cannot be decoded completely. */
export async function decodeImage(bytes: Buffer): Promise<StoredImage | null> {
  // Loaded late: a big library that most runs of the sandbox do not need.
  const { default: sharp } = await import('sharp')
  try {
    const image = sharp(bytes, { failOn: 'error' })
    const { mediaType: type = '' } = await image.metadata()
    const extension = extensions[type]
    if (extension === undefined) return null
    // Decodes every line without holding all lines in memory.
    await image.resize(8, 8, { fit: 'fill' }).raw().toBuffer()
    return { bytes, type, extension }
  } catch {
    return null
  }
}
