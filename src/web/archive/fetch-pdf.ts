import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import {
  type AllowedHost,
  allowedBy,
  isLoopbackAddress,
  isPublicAddress,
  literalAddress,
} from './allowed-hosts.ts'
import {
  type PdfFile,
  PdfRefused,
  type RefusalCode,
  tooLarge,
  webPage,
  writePdf,
} from './pdf-file.ts'

/** What a link may lead to, and where the file goes. */
export interface PdfRules {
  readonly hosts: readonly AllowedHost[]
  /** The archive's folder; the file is written below it. */
  readonly folder: string
  readonly maxBytes: number
  /** For the whole download: from resolving the name to the last byte, redirects included. */
  readonly timeoutMs: number
  /** Every address of a name, by the system's resolver unless a test replaces it. */
  readonly resolve: (name: string) => Promise<readonly string[]>
}

/** A fetched file, or why there is none. */
export type Fetched = ({ readonly kind: 'pdf' } & PdfFile) | Refusal

/** `reason` may be shown: it names a host at most. */
interface Refusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  readonly reason: string
}

const maxRedirects = 3
const redirectStatuses = new Set([301, 302, 303, 307, 308])
const expiredStatuses = new Set([403, 404, 410])

/** The rules of the archive: 25 MB, a minute, names as the system resolves them. */
export function defaultRules(hosts: readonly AllowedHost[], folder: string): PdfRules {
  const resolve = async (name: string) =>
    (await lookup(name, { all: true })).map(({ address }) => address)
  return { hosts, folder, maxBytes: 25 * 1024 * 1024, timeoutMs: 60_000, resolve }
}

/** Fetches the PDF behind a link into a file. Rejects when the fault is not the link's: the disk, or the signal. */
export async function fetchPdf(
  link: string,
  rules: PdfRules,
  signal: AbortSignal,
): Promise<Fetched> {
  const late = AbortSignal.timeout(rules.timeoutMs)
  try {
    signal.throwIfAborted()
    return { kind: 'pdf', ...(await follow(link, rules, AbortSignal.any([signal, late]))) }
  } catch (error) {
    if (error instanceof PdfRefused)
      return { kind: 'refused', code: error.code, reason: error.message }
    if (error !== late.reason) throw error
    const reason = `no whole PDF within ${rules.timeoutMs / 1000} s`
    return { kind: 'refused', code: 'time-out', reason }
  }
}

/** Requests the link and what it redirects to; every address on the way is checked. */
async function follow(link: string, rules: PdfRules, signal: AbortSignal): Promise<PdfFile> {
  let url = parseLink(link)
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const addresses = await checkedAddresses(url, rules, signal)
    const step = await requestAt(url, addresses, signal, (answer) => take(answer, url, rules))
    if (!(step instanceof URL)) return step
    url = step
  }
  throw new PdfRefused('redirects', `the link redirects more than ${maxRedirects} times`)
}

/** The addresses that may be connected to. PdfRefused when the rules allow no connection. */
async function checkedAddresses(
  url: URL,
  { hosts, resolve }: PdfRules,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (url.username !== '' || url.password !== '')
    throw new PdfRefused('host', `the link to ${url.host} carries a user name or password`)
  const entry = allowedBy(url, hosts)
  if (entry === undefined)
    throw new PdfRefused('host', `${shownOrigin(url)} is not in links.archive.hosts`)
  const literal = literalAddress(url.hostname)
  if (literal !== null) return [literal]
  const addresses = await unlessAborted(resolved(url.hostname, resolve), signal)
  const isMeant = entry.addressKind === 'loopback' ? isLoopbackAddress : isPublicAddress
  if (addresses.length > 0 && addresses.every(isMeant)) return addresses
  throw new PdfRefused('address', `${url.hostname} resolves to an address that is not public`)
}

async function resolved(name: string, resolve: PdfRules['resolve']): Promise<readonly string[]> {
  try {
    return await resolve(name)
  } catch (error) {
    throw networkFault(error, `the host name ${name} could not be looked up`)
  }
}

/** The file of an answer, or where it redirects to. */
async function take(answer: Answer, from: URL, rules: PdfRules): Promise<PdfFile | URL> {
  const { statusCode, headers, body } = answer
  if (redirectStatuses.has(statusCode)) return redirectTarget(headers['location'], from)
  if (expiredStatuses.has(statusCode))
    throw new PdfRefused('expired', `the link is dead: the answer is ${statusCode}`)
  if (statusCode !== 200) throw new PdfRefused('status', `the answer is ${statusCode}`)
  if (/\bx?html\b/i.test(String(headers['content-type'] ?? ''))) throw webPage()
  if (Number(headers['content-length'] ?? 0) > rules.maxBytes) throw tooLarge(rules.maxBytes)
  return await writePdf(received(body), rules.folder, rules.maxBytes)
}

function redirectTarget(location: string | string[] | undefined, from: URL): URL {
  if (typeof location === 'string' && URL.canParse(location, from.href))
    return new URL(location, from)
  throw new PdfRefused('redirects', 'the answer is a redirect to nowhere')
}

/** The bytes of a body. A connection that breaks off is a refusal, so that it does not count as a fault of the disk. */
async function* received(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (error) {
    throw networkFault(error, 'the answer was cut off', 'truncated')
  }
}

function parseLink(link: string): URL {
  if (URL.canParse(link)) return new URL(link)
  throw new PdfRefused('host', 'the link is not an address')
}

function shownOrigin({ protocol, host }: URL): string {
  return protocol === 'https:' ? host : `${protocol}//${host}`
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    signal.throwIfAborted()
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The answer to one request. */
type Answer = Dispatcher.ResponseData

const requestHeaders = {
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
    return await read(await fetchAnswer(client, url))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', end)
    await client.destroy()
  }
}

/** The transport's error reduced to its code: its message may quote what was received. */
function networkFault(error: unknown, what: string, code: RefusalCode = 'network'): PdfRefused {
  const { code: socketCode, cause } = (error ?? {}) as {
    code?: unknown
    cause?: { code?: unknown }
  }
  const known = [cause?.code, socketCode].find((one) => typeof one === 'string') ?? 'no code'
  return new PdfRefused(code, `${what} (${known})`)
}

async function fetchAnswer(client: Client, { pathname, search }: URL): Promise<Answer> {
  try {
    return await client.request({
      method: 'GET',
      path: `${pathname}${search}`,
      headers: requestHeaders,
    })
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
