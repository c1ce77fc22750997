import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../../app/config/read.ts'
import type { Context } from '../../../context.ts'
import { type Html, html } from '../../../values/html.ts'
import { firstValues } from '../form-values.ts'
import { frame } from '../parts/frame.ts'
import { linkMinutes, takeLink } from './link.ts'
import { findPerson } from './people.ts'
import { endSession, startSession } from './session.ts'
import { isThrottled, recordFailedTry } from './throttle.ts'

type Settings = NonNullable<Config['console']>

/** The name of the cookie. `__Host-` makes browsers take it only over https, for this host and every path. */
export function cookieName({ publicUrl }: Settings): string {
  return publicUrl.startsWith('https:') ? '__Host-forecourt' : 'forecourt'
}

/** Sign-in by link, and sign-out. */
export function serveSignIn(app: FastifyInstance, context: Context, settings: Settings): void {
  const { db } = context
  app.get('/sign-in', async (request, reply) => {
    const { link = '', next = '' } = firstValues(request.query)
    // A link that somebody planted must not take the place of a session unasked.
    const isAtOnce = request.cookies[cookieName(settings)] === undefined
    const body = link === '' ? signInPage(settings, next) : linkPage(link, next, isAtOnce)
    return await sendFrame(reply, 200, 'Sign in', body)
  })
  app.post('/sign-in', async (request, reply) => {
    const { link = '', next = '' } = firstValues(request.body)
    // A good link is taken at any time: no one can guess it, and whoever shares an address must not lock the others out.
    const email = await takeLink(db, link)
    if (email !== null && findPerson(context.config, email) !== null)
      return await signIn(context, settings, request, reply, { email, next })
    if (await isThrottled(db, 'link', request.ip)) return await sendTooMany(reply)
    await recordFailedTry(db, 'link', request.ip)
    return await sendFrame(reply, 403, 'This link does not sign you in', linkUsed)
  })
  app.post('/sign-out', async (request, reply) => {
    const name = cookieName(settings)
    const token = request.cookies[name]
    if (token !== undefined) await endSession(db, token)
    reply.clearCookie(name, cookieOptions(settings))
    return await reply.redirect('/console/sign-in', 303)
  })
}

/** Starts a session and goes on to the page that was asked for. The token is new at every sign-in. */
export async function signIn(
  { db }: Context,
  settings: Settings,
  request: FastifyRequest,
  reply: FastifyReply,
  { email, next }: { readonly email: string; readonly next: string },
): Promise<void> {
  const name = cookieName(settings)
  const before = request.cookies[name]
  if (before !== undefined) await endSession(db, before)
  const agent = request.headers['user-agent']
  const token = await startSession(db, email, settings.sessionHours, agent)
  const maxAge = settings.sessionHours * 3600
  reply.setCookie(name, token, { ...cookieOptions(settings), maxAge })
  await reply.redirect(localPath(next), 303)
}

/** How browsers hold and send our cookies. */
export function cookieOptions({ publicUrl }: Settings) {
  const secure = publicUrl.startsWith('https:')
  return { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const
}

/** A path of the console; anything else becomes the first page, so that no address leads to another site. */
export function localPath(next: string): string {
  const first = '/console/'
  // A browser reads `%2e` as a dot, and the server `%73` as an s.
  if (next.length > 1000 || !/^\/console\/[\w\-./%:~+()',!*;=&$]*(\?[!-~]*)?$/.test(next))
    return first
  const { pathname } = new URL(next, 'http://console.invalid')
  const isOwn = pathname.startsWith(first) && !pathname.includes('//')
  return isOwn && /^\/console\/(?!sign-)/.test(decoded(pathname)) ? next : first
}

/** Empty: it cannot be decoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}

/** Refuses an address that has failed too often. */
export async function sendTooMany(reply: FastifyReply): Promise<FastifyReply> {
  return await sendFrame(reply.header('retry-after', '900'), 429, 'Too many attempts', tooMany)
}

/** Sends a page to a person who is not signed in. */
export async function sendFrame(
  reply: FastifyReply,
  status: number,
  title: string,
  body: Html,
): Promise<FastifyReply> {
  const page = frame({ title, person: null, navigation: [], asOf: null }, body)
  return await reply.code(status).type('text/html; charset=utf-8').send(page.text)
}

/** A form, because mail scanners open every address, which must not use the link up. */
function linkPage(link: string, next: string, isAtOnce: boolean): Html {
  return html`<form method="post" action="/console/sign-in"${isAtOnce ? html` data-submit-now` : ''}><input type="hidden" name="link" value="${link}"><input type="hidden" name="next" value="${next}">
<p><button class="main">Open the console</button></p></form>
${!isAtOnce && html`<p>This browser is signed in already. The link signs in its own person instead: open it only when you asked for it.</p>`}`
}

function signInPage({ oidc }: Settings, next: string): Html {
  return html`${oidc !== null && html`<p><a class="button main" href="/console/sign-in/oidc?next=${encodeURIComponent(next)}">Sign in with ${new URL(oidc.issuer).host}</a></p>`}
<p>${oidc === null ? 'You need' : 'Or use'} a sign-in link. An engineer makes one with <code>forecourt console link --email you@example.com</code>; it works once, for ${linkMinutes} minutes.</p>`
}

const linkUsed = html`<p>It was used already, its time is over, or its address is not complete.</p>
<p>An engineer makes a new one with <code>forecourt console link --email you@example.com</code>.</p>`

const tooMany = html`<p>There were 10 attempts from your address that failed. Wait 15 minutes, or use a new link.</p>`
