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

/** How the bytes of an accepted format begin and end; drawings and documents are refused. */
const formats = [
  { type: 'image/jpeg', extension: 'jpg', begins: ['\xff\xd8\xff'], end: '\xff\xd9' },
  { type: 'image/png', extension: 'png', begins: ['\x89PNG\r\n\x1a\n'], end: 'IEND\xaeB`\x82' },
  { type: 'image/gif', extension: 'gif', begins: ['GIF87a', 'GIF89a'], end: ';' },
] as const

/** The image with its real type, whatever type the sender stated; null when it is of no known format, or cut off. */
export function recogniseImage(bytes: Buffer): StoredImage | null {
  const [first, last] = [bytes.subarray(0, 8), bytes.subarray(-8)].map((one) =>
    one.toString('latin1'),
  )
  const found = formats.find(
    ({ begins, end }) => begins.some((begin) => first!.startsWith(begin)) && last!.endsWith(end),
  )
  return found === undefined ? null : { bytes, type: found.type, extension: found.extension }
}
