import { isIP, type LookupFunction } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { PdfRefused, type RefusalCode } from './pdf-refused.ts'

export type Answer = Dispatcher.ResponseData

const headers = {
  accept: 'application/pdf',
  'accept-encoding': 'identity',
  'user-agent': 'forecourt',
}

/** One GET over a connection of its own, to one of these addresses whatever the name resolves to by now. Sends no
 *  credentials and follows nothing. The connection ends with `read`, or with the signal, whose reason is then thrown. */
export async function requestAt<T>(
  url: URL,
  addresses: readonly string[],
  signal: AbortSignal,
  read: (answer: Answer) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = new Client(url.origin, {
    connect: { lookup: pinnedTo(addresses), autoSelectFamily: true },
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const end = () => void client.destroy(signal.reason as Error)
  signal.addEventListener('abort', end)
  try {
    return await read(await answerOf(client, url))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', end)
    await client.destroy()
  }
}

/** The transport's error reduced to its code: its message may quote what was received. */
export function networkFault(
  error: unknown,
  what: string,
  code: RefusalCode = 'network',
): PdfRefused {
  const { code: own, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  const known = [cause?.code, own].find((one) => typeof one === 'string') ?? 'no code'
  return new PdfRefused(code, `${what} (${known})`)
}

async function answerOf(client: Client, { pathname, search }: URL): Promise<Answer> {
  try {
    return await client.request({ method: 'GET', path: `${pathname}${search}`, headers })
  } catch (error) {
    throw networkFault(error, 'the connection failed')
  }
}

function pinnedTo(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, { all }, done) => {
    const [first] = entries
    if (all === true) done(null, entries)
    else done(null, first?.address ?? '', first?.family)
  }
}
