import type { FastifyReply, FastifyRequest } from 'fastify'
import { prefersJson } from '../../values/accept.ts'
import { type Page, pageHtml, pageJson } from './pages.ts'

/** Sends a page as HTML, or as JSON where `Accept` prefers it. */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page,
): Promise<void> {
  const isJson = prefersJson(request.headers.accept)
  reply.code(page.status).headers({ ...page.headers, vary: 'accept' })
  reply.type(isJson ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8')
  await reply.send(isJson ? pageJson(page) : pageHtml(page))
}
