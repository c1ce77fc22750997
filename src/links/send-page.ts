import type { FastifyReply, FastifyRequest } from 'fastify'
import { htmlOf, jsonOf, type Page } from './pages.ts'

/** Sends a page as HTML, or as JSON where `Accept` prefers it. */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page,
): Promise<void> {
  const isJson = prefersJson(request.headers.accept)
  reply.code(page.status).headers({ ...page.headers, vary: 'accept' })
  reply.type(isJson ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8')
  await reply.send(isJson ? jsonOf(page) : htmlOf(page))
}

/** RFC 9110 §12.5.1, as far as two types need it. */
export function prefersJson(accept: string | undefined): boolean {
  const wishes = new Map(
    (accept ?? '').split(',').map((part) => {
      const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const quality = parameters.find((text) => text.startsWith('q='))?.slice(2)
      return [type, quality === undefined ? 1 : Number(quality) || 0] as const
    }),
  )
  const wish = (...types: string[]) => {
    const named = types.find((type) => wishes.has(type))
    return named === undefined ? 0 : wishes.get(named)!
  }
  return wish('application/json', 'application/*', '*/*') > wish('text/html', 'text/*', '*/*')
}
