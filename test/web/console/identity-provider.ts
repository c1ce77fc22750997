import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider'

/** What a test changes of an id token, or of what the provider knows of the person. */
export interface Identity {
  email: string
  emailVerified: boolean
  /** Claims of the id token that the provider signs instead of its own. */
  forged: Readonly<Record<string, unknown>>
  /** Whether the id token is signed with a key that the provider does not publish. */
  signsWithOtherKey: boolean
  /** How the id token is signed; `none`: not at all. HS256: by the secret of the client. */
  algorithm: 'RS256' | 'HS256' | 'none'
}

/** A real OpenID provider on loopback, which signs in without a question whoever `identity` says. */
export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string
  readonly identity: Identity
  /** Registers the client; needs the address of the console, which needs the issuer. */
  allow(callback: string): void
  /** Follows an address of the provider, as a browser does, until it leads to the console. */
  signIn(address: string): Promise<URL>
  /** Takes no more requests. */
  stop(): Promise<void>
}

export const client = { clientId: 'forecourt', clientSecret: 'secret-of-the-console' }

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const [key, otherKey] = [newKey(), newKey()]

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const identity: Identity = {
    ...{ email: 'kim@example.com', emailVerified: true, forged: {}, signsWithOtherKey: false },
    algorithm: 'RS256',
  }
  let handle: ReturnType<Provider['callback']> | undefined
  const server = createServer((request, response) => {
    if (handle === undefined) response.writeHead(503).end()
    else void handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    ...{ issuer, identity, signIn: followTo, stop },
    allow: (callback) => {
      handle = providerFor(issuer, callback, identity).callback()
    },
    [Symbol.asyncDispose]: stop,
  }
}

function providerFor(issuer: string, callback: string, identity: Identity): Provider {
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: client.clientId, client_secret: client.clientSecret },
        ...{ redirect_uris: [callback], response_types: ['code'] },
        grant_types: ['authorization_code'],
      },
    ],
    // Without its defaults for these, it writes no warnings.
    adapter: memoryAdapter(),
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      Grant: 60,
      IdToken: 60,
      Interaction: 60,
      Session: 60,
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    cookies: { keys: ['of the provider'] },
    features: { devInteractions: { enabled: false } },
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => {
        const { email, emailVerified } = identity
        return { sub: id, email, email_verified: emailVerified }
      },
    }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    loadExistingGrant: async (context) => {
      const { client: asking, session } = context.oidc
      const grant = new context.oidc.provider.Grant({
        ...{ clientId: asking!.clientId, accountId: session!.accountId! },
      })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
  })
  provider.use(async (context, next) => {
    if (context.path.startsWith('/interaction/')) {
      const login = { accountId: 'account-1' }
      await provider.interactionFinished(context.req, context.res, { login })
      context.respond = false
      return
    }
    await next()
    const body = context.body as { id_token?: string } | undefined
    if (context.path === '/token' && body?.id_token !== undefined)
      body.id_token = forge(body.id_token, identity)
  })
  return provider
}

/** What the provider stores, until it ends. */
function memoryAdapter(): (name: string) => Adapter {
  const stored = new Map<string, AdapterPayload>()
  return (name) => ({
    upsert: async (id, payload) => {
      stored.set(`${name} ${id}`, payload)
    },
    find: async (id) => stored.get(`${name} ${id}`),
    findByUid: async (uid) => [...stored.values()].find((payload) => payload.uid === uid),
    findByUserCode: async () => undefined,
    consume: async (id) => {
      stored.get(`${name} ${id}`)!.consumed = Date.now() / 1000
    },
    destroy: async (id) => {
      stored.delete(`${name} ${id}`)
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key)
    },
  })
}

/** The token with other claims, signed again. */
function forge(token: string, { forged, signsWithOtherKey, algorithm }: Identity): string {
  const [head, claims] = token.split('.') as [string, string]
  const changed = { ...decode(claims), ...forged }
  const text = `${encode({ ...decode(head), alg: algorithm })}.${encode(changed)}`
  const signatures = {
    RS256: () => sign('sha256', Buffer.from(text), signsWithOtherKey ? otherKey : key),
    HS256: () => createHmac('sha256', client.clientSecret).update(text).digest(),
    none: () => Buffer.of(),
  }
  return `${text}.${signatures[algorithm]().toString('base64url')}`
}

function decode(part: string): object {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as object
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

async function followTo(address: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let next = address
  const { origin } = new URL(address)
  while (new URL(next).origin === origin) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(next, { headers: { cookie }, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${next}: ${response.status} ${await response.text()}`)
    next = new URL(location, next).href
  }
  return new URL(next)
}
