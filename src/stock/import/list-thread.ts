import { parentPort } from 'node:worker_threads'
import { useCompileCache } from '../../compile-cache.ts'
import { given } from '../../values/given.ts'
import type { CsvFile, CsvRecord } from '../csv/read/csv-file.ts'
import type { ListMessage, ListRequest } from './read-apart.ts'

// The thread that `openApart` starts: it reads one list, and answers one request after the other.

useCompileCache()
const [{ isKnownHeader }, { proposeMapping }, { readList }, { encodeError }] = await Promise.all([
  import('../csv/map/aliases.ts'),
  import('../csv/map/mapping.ts'),
  import('../workbook/read-list.ts'),
  import('./thread-error.ts'),
])

const maxRecords = 1_000

const port = parentPort!
let csv: CsvFile | null = null
let batches: AsyncIterator<readonly CsvRecord[]>
let onBytes: (bytes: Uint8Array | null) => void = () => {}

async function* pulled(): AsyncGenerator<Uint8Array> {
  for (;;) {
    const bytes = await new Promise<Uint8Array | null>((resolve) => {
      onBytes = resolve
      post({ kind: 'pull' })
    })
    if (bytes === null) return
    yield bytes
  }
}

/** In pieces that the program takes at once: a long text may turn out to be very many records. */
async function* recordPieces(csv: CsvFile): AsyncGenerator<readonly CsvRecord[]> {
  for await (const batch of csv.batches)
    for (let at = 0; at < batch.length; at += maxRecords) yield batch.slice(at, at + maxRecords)
}

async function answer(
  request: Exclude<ListRequest, { readonly kind: 'bytes' }>,
): Promise<ListMessage> {
  if (request.kind === 'map') {
    const { names, rows, options } = request
    return { kind: 'mapping', mapping: proposeMapping(names, rows, options) }
  }
  if (request.kind === 'open') {
    csv = await readList(pulled(), { ...request.options, isKnownName: isKnownHeader })
    batches = recordPieces(csv)
    const { dialect, preamble, header, width, head, origin, sheets, hiddenColumns } = csv
    const form = { dialect, preamble, header, width, head }
    const place = given({ origin, sheets, hiddenColumns })
    return { kind: 'opened', list: { ...form, ...place }, ...found(csv) }
  }
  const next = await batches.next()
  return { kind: 'batch', records: next.done === true ? null : next.value, ...found(csv!) }
}

function found({ encoding, warnings }: CsvFile) {
  return { encoding, warnings: [...warnings] }
}

function post(message: ListMessage): void {
  port.postMessage(message)
}

let last: Promise<void> = Promise.resolve()
port.on('message', (request: ListRequest) => {
  if (request.kind === 'bytes') onBytes(request.bytes)
  else
    last = last
      .then(() => answer(request))
      .then(post, (error: unknown) => post({ kind: 'failed', error: encodeError(error) }))
})
