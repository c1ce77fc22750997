import { readdir } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { parseAllowedHost } from '#src/web/archive/allowed-hosts.ts'
import { type Fetched, fetchPdf, type PdfRules } from '#src/web/archive/fetch-pdf.ts'
import type { RefusalCode } from '#src/web/archive/pdf-file.ts'
import { unfinishedFolder } from '#src/web/archive/pdf-file.ts'

/** The smallest thing that passes for a PDF, with `filling` bytes within. */
export function aPdf(filling = 20): Buffer {
  return Buffer.from(`%PDF-1.7\n${'x'.repeat(filling)}\n%%EOF\n`)
}

/** A part of every signed link in these tests, which nothing may show. */
export const canary = 'signature=canary-7f3a'

/** A server on loopback that answers as a test says. */
export interface PdfServer extends AsyncDisposable {
  readonly port: number
  /** As an entry of `links.archive.hosts`. */
  readonly origin: string
  /** A signed link to it. */
  link(path?: string): string
  /** `method path-with-query` of every request so far. */
  readonly requests: readonly string[]
}

export async function startPdfServer(answer: RequestListener): Promise<PdfServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return {
    port,
    origin,
    requests,
    link: (path = '/certificate.pdf') => `${origin}${path}?${canary}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** Rules that allow the entries; every name resolves to nothing unless the test says otherwise. */
export function rulesFor(
  folder: string,
  entries: readonly string[],
  changes: Partial<PdfRules> = {},
): PdfRules {
  const hosts = entries.map((entry) => parseAllowedHost(entry)!)
  const resolve = async () => []
  return { hosts, folder, maxBytes: 100_000, timeoutMs: 20_000, resolve, ...changes }
}

export const neverAborted = new AbortController().signal

/** The refusal's code; fails when the PDF was taken, when the reason shows the link, or when a file was left behind. */
export async function refusalOf(link: string, rules: PdfRules): Promise<RefusalCode> {
  const fetched: Fetched = await fetchPdf(link, rules, neverAborted)

  if (fetched.kind === 'pdf') throw new Error('the PDF was taken')
  expect(fetched.reason).not.toMatch(/canary|certificate\.pdf/)
  expect(await unfinishedIn(rules.folder)).toEqual([])
  return fetched.code
}

/** The files that are not in the store yet. */
export async function unfinishedIn(folder: string): Promise<string[]> {
  return await readdir(unfinishedFolder(folder)).catch(() => [])
}
