// A list merged from several files may end some lines with CR alone and others with LF or CRLF.

const delimiters = [',', ';', '\t', '|'] as const
const [lineFeed, carriageReturn] = [10, 13]

/** Whether both a CR alone and a LF end records: most pieces between them have as many delimiters as the first line. */
export function hasMixedLineEnds(text: string): boolean {
  if (!/\r[^\n]/.test(text)) return false
  const plain = text.replace(/"[^"]*"/g, '').replace(/(?<!\r)\r+\n/g, '\n')
  const lines = plain.split(/[\r\n]/).filter(isFilled)
  const first = lines.find((line) => /[,;\t|]/.test(line)) ?? ''
  const delimiter = delimiters.toSorted(
    (a, b) => countDelimiters(b, first) - countDelimiters(a, first),
  )[0]!
  const usual = countDelimiters(delimiter, first)
  const partsRecords = (end: string, other: string) => {
    const parted = plain.split(other).filter((line) => line.includes(end))
    const pieces = parted.flatMap((line) => line.split(end)).filter(isFilled)
    const records = pieces.filter((piece) => countDelimiters(delimiter, piece) === usual)
    return pieces.length > 0 && records.length * 2 >= pieces.length
  }
  return usual > 0 && partsRecords('\r', '\n') && partsRecords('\n', '\r')
}

function isFilled(line: string): boolean {
  return line.trim() !== ''
}

function countDelimiters(delimiter: string, line: string): number {
  return line.split(delimiter).length - 1
}

/** The text with LF in place of each CR alone. */
export function withLineFeeds(text: string): string {
  return text.replace(/\r(?![\r\n])/g, '\n')
}

/** The same for UTF-8 chunks. */
export async function* chunksWithLineFeeds(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([held, chunk])
    // The character after a CR at the end is in the next chunk.
    const end = bytes.at(-1) === carriageReturn ? bytes.length - 1 : bytes.length
    held = bytes.subarray(end)
    for (
      let at = bytes.indexOf(carriageReturn);
      at >= 0 && at < end;
      at = bytes.indexOf(carriageReturn, at + 1)
    ) {
      const next = bytes[at + 1]
      if (next !== carriageReturn && next !== lineFeed) bytes[at] = lineFeed
    }
    yield bytes.subarray(0, end)
  }
  if (held.length > 0) yield Buffer.from([lineFeed])
}
