import type { FastifyInstance, FastifyReply } from 'fastify'
import { hashHex } from '../values/hash32.ts'
import type { VirtualClock } from './clock.ts'

/** How long a signed photo link lives; the document gives no length for photos, so a day. */
export const photoLinkLifeMs = 86_400_000

/** How long a signed link to the PDF of a check lives [A §8]. */
export const pdfLinkLifeMs = 7 * 86_400_000

/** A signed link [A §2]: the path is stable, expiry and signature change with the instant of expiry. */
export function signLink(baseUrl: string, path: string, expiresAt: number): string {
  return `${baseUrl}${path}?expires=${expiresAt}&signature=${signature(path, expiresAt)}`
}

/** Serves the files of signed links: 403 for a link that was not signed here or has expired. */
export function serveSigned<P extends object>(
  app: FastifyInstance,
  clock: VirtualClock,
  path: string,
  send: (params: P, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>,
): void {
  app.get<{ Params: P; Querystring: { expires?: string; signature?: string } }>(
    path,
    async (request, reply) => {
      const { url, query, params } = request
      const expires = Number(query.expires)
      const isSigned = query.signature === signature(url.replace(/\?.*/, ''), expires)
      if (isSigned && expires > clock.now().getTime()) return await send(params as P, reply)
      return reply.code(403).send({ error: 'The link has expired or its signature is wrong' })
    },
  )
}

// A checksum, not a secret: the data of the sandbox is invented.
function signature(path: string, expires: number): string {
  return [1, 2].map((seed) => hashHex(`${path} ${expires}`, seed)).join('')
}
