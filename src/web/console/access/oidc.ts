import type { FastifyInstance } from 'fastify'
import * as oidc from 'openid-client'
import { z } from 'zod'
import type { Config } from '../../../app/config/read.ts'
import type { Context } from '../../../context.ts'
import { errorText } from '../../../errors.ts'
import { type Html, html } from '../../../values/html.ts'
import { jsonValue } from '../../../values/json-value.ts'
import { firstValues } from '../form-values.ts'
import { findPerson } from './people.ts'
import { cookieName, cookieOptions, localPath, sendFrame, sendTooMany, signIn } from './sign-in.ts'
import { isThrottled, recordFailedTry } from './throttle.ts'

type Settings = NonNullable<Config['console']>
type Provider = NonNullable<Settings['oidc']>

/** How long a person may take at the provider, in seconds. */
const attemptSeconds = 600

/** How long the provider may take to answer, in seconds. */
const timeoutSeconds = 5

// The browser holds the attempt, so that any process can take the answer. A thief of it would need the code of the answer, too.
const attempts = z.object({
  verifier: z.string(),
  state: z.string(),
  nonce: z.string(),
  next: z.string(),
})
type Attempt = z.infer<typeof attempts>

/** Sign-in by OpenID Connect: code flow with PKCE, state and nonce. The provider is first asked when a person wants to sign in. */
export function serveOidc(
  app: FastifyInstance,
  context: Context,
  settings: Settings,
  provider: Provider,
): void {
  const { db, log, config } = context
  const cookie = `${cookieName(settings)}-oidc`
  const callback = `${settings.publicUrl}/console/sign-in/oidc/callback`
  const discover = discoverLazily(provider)
  const logFailure = (error: unknown) => {
    log.warn(`sign-in by ${provider.issuer} failed: ${errorText(rootCause(error))}`)
  }

  app.get('/sign-in/oidc', async (request, reply) => {
    const next = localPath(firstValues(request.query)['next'] ?? '')
    try {
      const client = await discover()
      const verifier = oidc.randomPKCECodeVerifier()
      const [state, nonce] = [oidc.randomState(), oidc.randomNonce()]
      const { href } = oidc.buildAuthorizationUrl(client, {
        ...{ redirect_uri: callback, scope: 'openid email', response_type: 'code', state, nonce },
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      const options = { ...cookieOptions(settings), maxAge: attemptSeconds }
      reply.setCookie(cookie, pack({ verifier, state, nonce, next }), options)
      return await reply.redirect(href, 303)
    } catch (error) {
      logFailure(error)
      return await sendFrame(reply, 503, 'Sign in', unreachable(provider))
    }
  })

  app.get('/sign-in/oidc/callback', async (request, reply) => {
    const attempt = unpack(request.cookies[cookie])
    reply.clearCookie(cookie, cookieOptions(settings))
    // The provider is not asked. It counts as no try, because any site can have its visitors ask for this address.
    if (attempt === null) return await sendFrame(reply, 403, 'You are not signed in', refused)
    if (await isThrottled(db, 'oidc', request.ip)) return await sendTooMany(reply)
    const answer = new URL(callback)
    answer.search = new URL(request.url, callback).search
    let email: string
    try {
      email = await readEmail(discover, provider, answer, attempt)
    } catch (error) {
      logFailure(error)
      if (isAway(error)) return await sendFrame(reply, 503, 'Sign in', unreachable(provider))
      await recordFailedTry(db, 'oidc', request.ip)
      return await sendFrame(reply, 403, 'You are not signed in', refused)
    }
    if (findPerson(config, email) !== null)
      return await signIn(context, settings, request, reply, { email, next: attempt.next })
    await recordFailedTry(db, 'oidc', request.ip)
    return await sendFrame(reply, 403, 'You may not open the console', notListed(email))
  })
}

/** Asks the provider for its addresses once; after a failure, again at the next call. */
function discoverLazily({ issuer, clientId, clientSecret }: Provider) {
  let found: Promise<oidc.Configuration> | undefined
  return async () => {
    found ??= oidc.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: timeoutSeconds,
      execute: [
        oidc.enableNonRepudiationChecks,
        // The config allows http on a loopback address alone.
        ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
      ],
    })
    try {
      return await found
    } catch (error) {
      found = undefined
      throw error
    }
  }
}

/** The verified e-mail address that the answer of the provider proves. An Error that says what is wrong with it. */
async function readEmail(
  discover: () => Promise<oidc.Configuration>,
  { requireVerifiedEmail }: Provider,
  answer: URL,
  attempt: Attempt,
): Promise<string> {
  const client = await discover()
  const tokens = await oidc.authorizationCodeGrant(client, answer, {
    pkceCodeVerifier: attempt.verifier,
    ...{ expectedState: attempt.state, expectedNonce: attempt.nonce, idTokenExpected: true },
  })
  const claims = tokens.claims()!
  // Some providers name the e-mail address only there.
  const { email, email_verified: isVerified } =
    claims['email'] === undefined && client.serverMetadata().userinfo_endpoint !== undefined
      ? await oidc.fetchUserInfo(client, tokens.access_token, claims.sub)
      : claims
  if (typeof email !== 'string' || email === '') throw new Error('the provider names no e-mail')
  if (requireVerifiedEmail && isVerified !== true && isVerified !== 'true')
    throw new Error('the e-mail is not verified (email_verified)')
  return email
}

/** The innermost error, which names the claim or the failure of the network; the outer ones say only that something was wrong. */
function rootCause(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown }
  return cause instanceof Error ? rootCause(cause) : error
}

/** Whether the provider did not answer: neither the person nor the answer is at fault. */
function isAway(error: unknown): boolean {
  const { code } = rootCause(error) as { code?: unknown }
  return typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+|OAUTH_TIMEOUT)$/.test(code)
}

function pack(attempt: Attempt): string {
  return Buffer.from(JSON.stringify(attempt)).toString('base64url')
}

function unpack(cookie: string | undefined): Attempt | null {
  const text = Buffer.from(cookie ?? '', 'base64url').toString()
  return attempts.safeParse(jsonValue(text)).data ?? null
}

function unreachable({ issuer }: Provider): Html {
  return html`<p>${new URL(issuer).host} does not answer, or its answer is not valid. The log of <code>forecourt serve</code> says why.</p>
<p>Try again later, or use a sign-in link. An engineer makes one with <code>forecourt console link --email you@example.com</code>.</p>`
}

const refused = html`<p>The answer of the provider could not be used: it is too old, was used before, was not asked for by this browser, or does not prove your e-mail address. The log of <code>forecourt serve</code> says more.</p>
<p><a href="/console/sign-in">Try again</a>.</p>`

function notListed(email: string): Html {
  return html`<p>${email} is not in <code>console.people</code> of the config. Ask an engineer to add you.</p>`
}
