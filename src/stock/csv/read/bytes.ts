/** How much is held and parsed at a time. */
const chunkBytes = 64 * 1024
/** The sample ends here even if the first lines are longer. */
const longestSample = 2 * 1024 * 1024

/** Yields the bytes in pieces of at most 64 kB. Reads nothing ahead. */
export async function* bufferChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const bytes of source) {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let from = 0; from < whole.length; from += chunkBytes)
      yield whole.subarray(from, from + chunkBytes)
  }
}

/** The beginning of a file, from which its form is detected. */
export interface Sample {
  readonly bytes: Buffer
  /** The sample is the whole file. */
  readonly whole: boolean
}

/** Reads the first chunk, and more until it has a few lines. */
export async function takeSample(chunks: AsyncIterator<Buffer>): Promise<Sample> {
  let bytes: Buffer = Buffer.alloc(0)
  for (;;) {
    const next = await chunks.next()
    if (next.done) return { bytes, whole: true }
    bytes = bytes.length === 0 ? next.value : Buffer.concat([bytes, next.value])
    if (bytes.length >= chunkBytes && (hasLines(bytes) || bytes.length >= longestSample))
      return { bytes, whole: false }
  }
}

function hasLines(bytes: Buffer): boolean {
  let lines = 0
  for (const byte of bytes) {
    if (byte === 10 || byte === 13) lines += 1
    if (lines === 8) return true
  }
  return false
}

/** Yields the sample, then the rest. Closes the source when the consumer stops early. */
export async function* withRest(
  sample: Buffer,
  chunks: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  try {
    for (let from = 0; from < sample.length; from += chunkBytes)
      yield sample.subarray(from, from + chunkBytes)
    yield* chunks
  } finally {
    await chunks.return(undefined)
  }
}
