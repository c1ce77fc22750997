import type { ConfigFile } from '../../app/config/schema.ts'
import { valueAt } from '../../values/json-path.ts'
import { keyedHash } from '../../values/secret.ts'
import type { AppraisalWire } from '../../values/wire.ts'

/** Events that can be subscribed to on this interface [A §6]. */
type SubscribedEvent = ConfigFile['webhooks']['events'][number]

/** A subscription that the config wants for a rooftop. */
export interface WantedSubscription {
  readonly event: SubscribedEvent
  readonly type: 'eval' | 'drive'
  readonly url: string
  readonly headerName: string
  /** Of header and value, to see whether what was set is what is wanted. */
  readonly headerHash: Buffer
}

/** A subscription as the service lists it. */
export interface ListedSubscription {
  readonly id: number
  readonly event: string | null
  readonly type: string | null
  readonly url: string
  /** undefined: the service does not say. */
  readonly headerName: string | null | undefined
}

/** What the warehouse stores about a subscription that was set. */
export interface RecordedSubscription {
  readonly id: number
  readonly event: string
  readonly url: string
  readonly headerHash: Buffer
}

/** What has to be done so that the service has what the config wants. */
export interface SubscriptionPlan {
  readonly create: readonly WantedSubscription[]
  readonly update: readonly {
    readonly listed: ListedSubscription
    readonly wanted: WantedSubscription
    readonly why: string
  }[]
  readonly remove: readonly {
    readonly listed: ListedSubscription
    readonly why: string
    /** Another subscription of ours does the same. */
    readonly isDuplicate: boolean
  }[]
  readonly unchanged: readonly {
    readonly listed: ListedSubscription
    readonly wanted: WantedSubscription
  }[]
  /** Not ours: never touched. */
  readonly foreign: readonly ListedSubscription[]
}

/** Where deliveries are received: `webhooks.publicUrl`, with the path of the receiver. */
function receiverUrl(publicUrl: string): string {
  return publicUrl.endsWith('/webhooks') ? publicUrl : `${publicUrl}/webhooks`
}

/** The subscriptions that the config wants for a rooftop. `key` is its API key: the hashes say nothing without it. */
export function wantedFor(
  rooftopUid: string,
  { events, authHeaderName }: ConfigFile['webhooks'],
  { publicUrl, secret, key }: { publicUrl: string; secret: string; key: string },
): WantedSubscription[] {
  return [...new Set(events)].map((event) => ({
    event,
    type: event === 'ON_DRIVE_COMPLETED' ? 'drive' : 'eval',
    url: `${receiverUrl(publicUrl)}/${event}/${encodeURIComponent(rooftopUid)}`,
    headerName: authHeaderName,
    headerHash: keyedHash(key, `${authHeaderName.toLowerCase()}: ${secret}`),
  }))
}

/** The list in an answer; null when there is none at the path of the wire settings, or an item has no id or address. */
export function readListed(body: unknown, { webhook }: AppraisalWire): ListedSubscription[] | null {
  const items = valueAt(body, webhook.items)
  if (!Array.isArray(items)) return null
  const listed = items.map((item): ListedSubscription | null => {
    const [id, url] = [Number(valueAt(item, webhook.id) ?? Number.NaN), valueAt(item, webhook.url)]
    if (!Number.isSafeInteger(id) || typeof url !== 'string') return null
    const headerName = valueAt(item, webhook.authHeaderName)
    return {
      id,
      url,
      event: textOrNull(valueAt(item, webhook.triggerEvent)),
      type: textOrNull(valueAt(item, webhook.type)),
      headerName: headerName === undefined ? undefined : textOrNull(headerName),
    }
  })
  return listed.includes(null) ? null : (listed as ListedSubscription[])
}

/** Whether a subscription is one of ours: it leads to our receiver, or to where we have set one before. */
export function isOurs(
  { url }: Pick<ListedSubscription, 'url'>,
  publicUrl: string | null,
  recorded: readonly RecordedSubscription[],
): boolean {
  const base = publicUrl === null ? null : receiverUrl(publicUrl)
  if (base !== null && (url === base || url.startsWith(`${base}/`))) return true
  return recorded.some((one) => one.url === url)
}

/** Pure. What differs between what is wanted and what is there. */
export function planSubscriptions(
  wanted: readonly WantedSubscription[],
  listed: readonly ListedSubscription[],
  { publicUrl, recorded }: { publicUrl: string; recorded: readonly RecordedSubscription[] },
): SubscriptionPlan {
  const left = listed.filter((one) => isOurs(one, publicUrl, recorded)).sort((a, b) => a.id - b.id)
  const foreign = listed.filter((one) => !left.includes(one))
  const plan = {
    create: [] as WantedSubscription[],
    update: [],
    remove: [],
    unchanged: [],
    foreign,
  }
  const filled: Writable<SubscriptionPlan> = plan
  for (const one of wanted) {
    const ofEvent = left.filter(({ event }) => event === one.event)
    const found = ofEvent.find(({ url }) => url === one.url) ?? ofEvent[0]
    if (found === undefined) {
      filled.create.push(one)
      continue
    }
    left.splice(left.indexOf(found), 1)
    const why = differences(one, found, recorded)
    if (why.length === 0) filled.unchanged.push({ listed: found, wanted: one })
    else filled.update.push({ listed: found, wanted: one, why: why.join(', ') })
  }
  for (const one of left) {
    const isDuplicate = wanted.some(({ event }) => event === one.event)
    const why = isDuplicate ? 'a duplicate' : 'no longer in webhooks.events'
    filled.remove.push({ listed: one, why, isDuplicate })
  }
  return filled
}

type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer I)[] ? I[] : T[K] }

function differences(
  wanted: WantedSubscription,
  listed: ListedSubscription,
  recorded: readonly RecordedSubscription[],
): string[] {
  const why: string[] = []
  if (listed.url !== wanted.url) why.push('another address')
  if (listed.type !== null && listed.type !== wanted.type) why.push(`of type ${listed.type}`)
  const { headerName } = listed
  if (headerName !== undefined && headerName?.toLowerCase() !== wanted.headerName.toLowerCase())
    why.push('another auth header')
  const known = recorded.find(({ id, event }) => id === listed.id && event === wanted.event)
  if (known === undefined) why.push('its auth header was not set from here and cannot be compared')
  else if (!known.headerHash.equals(wanted.headerHash))
    why.push('the auth header or the key has changed since it was set')
  return why
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
