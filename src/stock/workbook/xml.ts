import { SaxesParser } from 'saxes'
import { errorText } from '../../errors.ts'
import { CsvFileError } from '../csv/read/csv-file.ts'
import { damaged, saveAsCsv, tooLarge, type WorkbookLimits } from './limits.ts'

/** The attributes of an element, by their names as written. */
export type Attributes = Readonly<Record<string, string>>

/** What a reader of one part does with its elements. */
interface XmlHandlers {
  /** Names are without the prefix of the root element; elements of other namespaces keep theirs. */
  open?(name: string, attributes: Attributes): void
  close?(name: string): void
  /** Text and CDATA, in pieces. */
  text?(text: string): void
  /** Where a person finds what is read now; null: in no cell. */
  place?(): string | null
}

/** The time that reading one file has taken. */
export class ReadingTime {
  readonly #limits: WorkbookLimits
  #spentMs = 0

  constructor(limits: WorkbookLimits) {
    this.#limits = limits
  }

  /** Runs a piece of work; CsvFileError once the time is over. */
  spend(work: () => void): void {
    const from = performance.now()
    work()
    this.#spentMs += performance.now() - from
    const { seconds } = this.#limits
    if (this.#spentMs > seconds * 1000)
      throw tooLarge(
        `reading the workbook takes more than ${seconds} seconds`,
        `${seconds} seconds`,
        `delete what is not part of the stock list, or ${saveAsCsv}`,
      )
  }
}

/** A part that is being read: how, and within which limits. */
export interface XmlSource {
  /** The part's name, for messages. */
  readonly name: string
  readonly chunks: AsyncIterable<Buffer>
  readonly limits: WorkbookLimits
  readonly time: ReadingTime
}

/** Reads an XML part to its end. */
export async function readXml(source: XmlSource, root: string, to: XmlHandlers): Promise<void> {
  for await (const _ of streamXml(source, root, to)) void _
}

/** Reads an XML part; yields after each chunk, so that its consumer can take what the handlers found. A document type is
 *  refused, so no entity is ever defined: neither files nor addresses are read, and no text grows. */
export async function* streamXml(
  source: XmlSource,
  root: string,
  to: XmlHandlers,
): AsyncGenerator<void> {
  const { name, chunks, limits, time } = source
  const parser = new SaxesParser({ position: false })
  const events = listen(parser, source, root, to)
  let decoder: TextDecoder | null = null
  const feed = (write: () => void) =>
    time.spend(() => {
      try {
        write()
      } catch (error) {
        if (error instanceof CsvFileError) throw error
        throw damaged(`its part ${name} is not XML (${errorText(error)})`, error)
      }
    })
  for await (const chunk of chunks) {
    decoder ??= decoderFor(chunk)
    const before = events.count
    feed(() => parser.write(decoder!.decode(chunk, { stream: true })))
    // One text or tag is held until its end.
    events.heldBytes = events.count === before ? events.heldBytes + chunk.length : 0
    if (events.heldBytes > 8 * limits.cellLength)
      throw cellTooLong(to.place?.() ?? `a cell or tag in ${name}`, limits)
    yield
  }
  feed(() => parser.write(decoder?.decode() ?? '').close())
  yield
}

function listen(parser: SaxesParser, source: XmlSource, root: string, to: XmlHandlers) {
  const events = { count: 0, heldBytes: 0 }
  let prefix: string | null = null
  const nameOf = (name: string) => {
    prefix ??= namePrefix(name, root, source.name)
    if (prefix === '') return name
    return name.startsWith(prefix) ? name.slice(prefix.length) : `:${name}`
  }
  parser.on('opentag', ({ name, attributes }) => {
    events.count += 1
    const plainName = nameOf(name)
    to.open?.(plainName, attributes as Attributes)
  })
  parser.on('closetag', ({ name }) => {
    events.count += 1
    to.close?.(nameOf(name))
  })
  const { text } = to
  if (text) {
    const take = (piece: string) => {
      events.count += 1
      text(piece)
    }
    parser.on('text', take)
    parser.on('cdata', take)
  }
  parser.on('doctype', () => {
    throw new CsvFileError(
      'markup',
      `${source.name} in the workbook declares a document type (DOCTYPE), which no program that writes workbooks does: ${saveAsCsv}`,
    )
  })
  parser.on('error', (error) => {
    throw error
  })
  return events
}

/** The prefix of the root element, with its colon; the part must have that root. */
function namePrefix(name: string, root: string, part: string): string {
  const at = name.indexOf(':') + 1
  if (name.slice(at) === root) return name.slice(0, at)
  throw damaged(`its part ${part} begins with <${name.slice(0, 40)}> instead of <${root}>`)
}

/** UTF-8, or UTF-16 by its byte order mark: XML allows both. Other bytes are refused. */
function decoderFor(chunk: Buffer): TextDecoder {
  const start = chunk.toString('hex', 0, 2)
  const name = start === 'fffe' ? 'utf-16le' : start === 'feff' ? 'utf-16be' : 'utf-8'
  return new TextDecoder(name, { fatal: true })
}

/** A text beyond the limit of a cell. */
export function cellTooLong(where: string, { cellLength }: WorkbookLimits): CsvFileError {
  return new CsvFileError(
    'cell-too-long',
    `${where} is longer than ${cellLength.toLocaleString('en')} characters, which is the limit: shorten it, or leave the column out`,
  )
}
