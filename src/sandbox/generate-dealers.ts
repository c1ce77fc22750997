import { sandboxKeyPrefix } from '../values/service-address.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { ApiKey, DealerGroup, Rooftop, Salesperson } from './world-types.ts'

/** Dealers of a world, without their evaluations. */
export interface Dealers {
  readonly groups: readonly DealerGroup[]
  readonly rooftops: readonly Rooftop[]
  readonly users: readonly Salesperson[]
  readonly keys: readonly ApiKey[]
}

/** Start of the name and end of the email of generated link-capture accounts [A §2]. */
export interface GeneratedUserNames {
  readonly namePrefix: string
  readonly emailSuffix: string
}

// One set is six rooftops: a partner key over two AU groups, a dedicated US key, a GCC key without a linked user.
const plots = [
  ['harbour', 'au', 'Harbour City Sydney', 'AU', 'Australia/Sydney', 'AUD'],
  ['harbour', 'au', 'Harbour City Brisbane', 'AU', 'Australia/Brisbane', 'AUD'],
  ['outback', 'au', 'Outback Motors Adelaide', 'AU', 'Australia/Adelaide', 'AUD'],
  ['lakeside', 'us', 'Lakeside Auto Chicago', 'US', 'America/Chicago', 'USD'],
  ['gulf', 'gcc', 'Gulf Pearl Kuwait', 'GCC', 'Asia/Kuwait', 'KWD'],
  ['gulf', 'gcc', 'Gulf Pearl Dubai', 'GCC', 'Asia/Dubai', 'AED'],
] as const

/** `count` rooftops in groups, with their users and keys. Every six rooftops have a new set of groups and keys. */
export function generateDealers(
  seed: number,
  count: number,
  generatedUser: GeneratedUserNames,
): Dealers {
  const placed = Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / plots.length) + 1
    const [group, key, name, region, timezone, currency] = plots[index % plots.length]!
    const suffix = round === 1 ? '' : `-${round}`
    const random = seededRandom(seed, `rooftop ${index}`)
    const rooftop: Rooftop = {
      uid: random.hex(16),
      groupId: group + suffix,
      name: name + (round === 1 ? '' : ` ${round}`),
      dealerId: 101 + index,
      ...{ region, timezone, currency },
      ...(group === 'outback' ? { carHistory: false } : {}),
    }
    return { rooftop, keyName: key + suffix }
  })
  const rooftops = placed.map(({ rooftop }) => rooftop)
  const users = rooftops.flatMap((rooftop, index) =>
    usersAt(rooftop, index, seededRandom(seed, `users ${index}`), generatedUser),
  )
  const keys = Map.groupBy(placed, ({ keyName }) => keyName)
    .entries()
    .map(([name, covered]) => {
      const coveredRooftops = covered.map(({ rooftop }) => rooftop)
      return keyOver(name, coveredRooftops, users, seed)
    })
    .toArray()
  return { groups: groupRooftops(rooftops), rooftops, users, keys }
}

/** One group for each `groupId` of the rooftops. */
export function groupRooftops(rooftops: readonly Rooftop[]): DealerGroup[] {
  return Map.groupBy(rooftops, ({ groupId }) => groupId)
    .entries()
    .map(([id, members]) => ({ id, name: `${id} group`, region: members[0]!.region }))
    .toArray()
}

function keyOver(
  name: string,
  rooftops: readonly Rooftop[],
  users: readonly Salesperson[],
  seed: number,
): ApiKey {
  const { region, uid } = rooftops[0]!
  const user = users.find(({ rooftopUid, active }) => rooftopUid === uid && active)!
  const linked = region !== 'GCC'
  return {
    name,
    value: `${sandboxKeyPrefix}${name}-${seededRandom(seed, `key ${name}`).hex(24)}`,
    kind: region === 'US' ? 'dedicated' : 'partner',
    region,
    rooftopUids: rooftops.map((rooftop) => rooftop.uid),
    linkedUserId: linked ? user.userId : null,
    user: linked ? null : user.email,
  }
}

const firstNames = ['Grace', 'Hamish', 'Iris', 'Jonah', 'Kira', 'Leo', 'Maya', 'Noah', 'Zoë']
const lastNames = ['Adams', 'Baker', 'Çelik', 'Dunn', "D'Arcy", 'Evans', 'Farouk', 'Ødegård']

function usersAt(
  { uid, groupId, name }: Rooftop,
  index: number,
  random: SeededRandom,
  generatedUser: GeneratedUserNames,
): Salesperson[] {
  const base = { groupId, rooftopUid: uid, active: true, generated: false }
  const firstId = 2000 + index * 20
  const people = Array.from({ length: 6 }, (_, offset) => {
    const fullName = `${random.pick(firstNames)} ${random.pick(lastNames)}`
    const userId = firstId + offset
    // The last user has left the dealership; evaluations still name them.
    return {
      ...base,
      userId,
      name: fullName,
      email: `sales${userId}@example.com`,
      active: offset < 5,
    }
  })
  const namesake = {
    ...base,
    userId: firstId + 6,
    // A real person: only the suffix of the e-mail marks a generated account [A §2].
    name: `${generatedUser.namePrefix} Jones`,
    email: `sales${firstId + 6}@example.com`,
  }
  const capture = {
    ...base,
    userId: firstId + 7,
    name: `${generatedUser.namePrefix} ${name}`,
    email: `rooftop-${index + 1}${generatedUser.emailSuffix}`,
    generated: true,
  }
  return [...people, namesake, capture]
}

/** Rooftop and time at which an evaluation begins; milliseconds since 1970. */
export interface Moment {
  readonly rooftop: Rooftop
  readonly atMs: number
}

const dayMs = 86_400_000
const hourMs = 3_600_000
/** Rough offsets: business hours need no daylight saving. */
const offsetHours: Readonly<Record<Rooftop['region'], number>> = { AU: 10, US: -6, GCC: 4 }

/** Creation times of the past `days`, in order: business hours, few on Sundays, bursts of 2 to 5 in one second, and some exactly
 *  at midnight UTC, in the last second of a day, or a fraction of a second later. */
export function generateMoments(
  seed: number,
  rooftops: readonly Rooftop[],
  span: { readonly count: number; readonly days: number; readonly now: Date },
): Moment[] {
  const random = seededRandom(seed, 'moments')
  const endMs = Math.floor(span.now.getTime() / 1000) * 1000
  const moments: Moment[] = []
  while (moments.length < span.count) {
    const rooftop = random.pick(rooftops)
    const atMs = moment(random, rooftop, endMs, span.days)
    const burst = random.chance(0.03) ? random.int(2, 5) : 1
    for (let i = 0; i < burst && moments.length < span.count; i++) {
      // EntryDate has whole seconds, CreatedAt may have fractions.
      moments.push({ rooftop, atMs: random.chance(0.05) ? atMs + random.int(1, 999) : atMs })
    }
  }
  return moments.sort((a, b) => a.atMs - b.atMs || a.rooftop.dealerId - b.rooftop.dealerId)
}

function moment(random: SeededRandom, rooftop: Rooftop, endMs: number, days: number): number {
  const startMs = endMs - days * dayMs
  const anywhere = startMs + random.int(1, days * 86_400 - 600) * 1000
  const midnight = Math.floor(anywhere / dayMs) * dayMs
  const shape = random.next()
  const businessHour = 8 + (random.next() + random.next()) * 5
  const wanted =
    shape < 0.012
      ? midnight
      : shape < 0.024
        ? midnight + dayMs - 1000
        : midnight +
          Math.floor(((businessHour - offsetHours[rooftop.region] + 24) % 24) * 3600) * 1000
  const isSunday = new Date(wanted + offsetHours[rooftop.region] * hourMs).getUTCDay() === 0
  const quiet = isSunday && shape >= 0.024 && random.chance(0.8)
  return wanted > startMs && wanted < endMs - 600_000 && !quiet ? wanted : anywhere
}
