import fc from 'fast-check'
import { z } from 'zod'
import type { Operation } from '#src/api/contract/operation.ts'
import { samples } from '#src/sandbox/samples.ts'
import type { Sandbox } from '#src/sandbox/server.ts'

// Fields that no client would send, mixed with valid ones.

/** A key, a rooftop that it covers, and the ids of its dealer group. */
export interface FuzzCaller {
  readonly key: string
  readonly rooftop: string
  readonly region: 'AU' | 'US' | 'GCC'
  readonly evalIds: readonly number[]
  readonly photoIds: readonly number[]
  readonly emails: readonly string[]
}

/** Callers by every key but the `reserved` one. */
export function callersOf({ world }: Sandbox, reserved: string): FuzzCaller[] {
  return world.keys
    .filter(({ name }) => name !== reserved)
    .flatMap((key) => key.rooftopUids.map((uid) => ({ key, uid })))
    .map(({ key: { value, region }, uid }) => {
      const { groupId } = world.rooftop(uid)!
      const own = [...world.evaluations()].filter(
        ({ rooftopUid }) => world.rooftop(rooftopUid)!.groupId === groupId,
      )
      return {
        key: value,
        rooftop: uid,
        region,
        evalIds: own.map(({ evalId }) => evalId),
        photoIds: own.flatMap(({ photos }) => photos.map(({ id }) => id)),
        emails: world.users.filter((user) => user.groupId === groupId).map(({ email }) => email),
      }
    })
}

/** Ids that the vehicle-data APIs gave out before, by the field that takes them. */
export type Issued = Readonly<Record<'batchId' | 'requestId' | 'searchId', string>>

function constants(issued: Issued): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(Object.entries(issued).map(([name, id]) => [name, fc.constant(id)]))
}

/** Values of any type, the awkward ones among them. */
export const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeInteger(),
  fc.constantFrom(
    ...[null, true, false, '', ' ', 0, -0, -1, 0.5, 1e308, -1e308, 2 ** 53, 2 ** 31, [], {}, [[]]],
    ...['\u0000', '\ud800', '😀'.repeat(20), '\u202e', "'; drop table x; --", '../../etc/passwd'],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', 'NaN', '1e9', '-5'],
    ...['2026-02-30', '0001-01-01', '[1,2', '[]', '[null]', '{}', 'true', 'x'.repeat(5000)],
  ),
  fc.integer({ min: 1, max: 400 }).map(deep),
)

/** Nested so deep. */
function deep(levels: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value }
  return value
}

const vins = [
  ...Object.values(samples).map(({ vin }) => vin),
  ...['1HGCM82633A004352', 'JTMDFREV90D123456', '\u0130'.repeat(17), ' '.repeat(17)],
]

/** Valid or almost valid values for the fields with these names. */
function likely({
  evalIds,
  photoIds,
  emails,
}: FuzzCaller): Readonly<Record<string, fc.Arbitrary<unknown>>> {
  const evalId = fc.constantFrom(...evalIds)
  const photo = fc.oneof(fc.constantFrom(...photoIds), fc.integer({ min: 0, max: 12 }))
  const small = fc.integer({ min: 0, max: 12 })
  return {
    evalid: evalId,
    vin: fc.constantFrom(...vins),
    // Closed ports and reserved names: nothing may leave this machine.
    webhook: fc.constantFrom('https://hook.invalid/x', 'http://127.0.0.1:9/hook', 'https://'),
    trigger_event: fc.constantFrom('ON_COMPLETE', 'ON_EXPORT', 'ON_SHARE_OFFER'),
    id: fc.integer({ min: 1, max: 30 }),
    ids: fc.oneof(fc.array(photo, { minLength: 1 }), fc.constant('1,2,3')),
    imgid: fc.option(photo),
    hero: fc.oneof(fc.integer({ min: 0, max: 1 }), photo),
    reg: fc.constantFrom('ABC123', 'ÄÖÜ', ''),
    state: fc.constantFrom('NSW', 'TX', 'nsw', 'ABCD'),
    user: fc.oneof(fc.integer({ min: 1, max: 60 }).map(String), fc.constant('a@b.c')),
    dealerId: fc.constantFrom('[101,102]', '[]', '[1', '{}', '[1.5]', '[1e400]'),
    startdate: fc.integer({ min: 0, max: 2_000_000_000 }),
    enddate: fc.maxSafeInteger(),
    timestamp: fc.maxSafeInteger(),
    predictDate: fc.constantFrom('2024-01-01', '1900-01-01', '9999-12-31'),
    saleMonth: small,
    saleYear: fc.constantFrom(2024, 2025, 2026, 1999, 2100),
    market: fc.constantFrom('AU', 'AE', 'KW', 'US', 'au', '__proto__'),
    code: fc.constantFrom('AU0TOYHILUX01', '__proto__', 'x'),
    adcode: fc.constantFrom('AU0TOYHILUX01', '__proto__', 'constructor'),
    userEmail: fc.constantFrom(...emails, 'nobody@example.invalid'),
    customFields: fc.oneof(
      fc.constant({}),
      fc.dictionary(fc.string({ unit: 'binary' }), fc.string(), { maxKeys: 3 }),
    ),
  }
}

/** The fields of an operation; every other request has odd, missing and unknown ones. */
export function fieldsOf(
  operation: Operation,
  caller: FuzzCaller,
  issued: Issued,
): fc.Arbitrary<Record<string, unknown>> {
  const known = { ...likely(caller), ...constants(issued) }
  const fieldsWith = (oddity: number) => {
    const fields = Object.entries(operation.fields.shape).map(([name, field]) => {
      const example = operation.example[name]
      const isNeeded = example !== undefined
      const fitting = [example, 1, 'x', true, 17.5, 'eval', '[101]', '2024-01-01'].filter(
        (value) => value !== undefined && z.safeParse(field, value).success,
      )
      const usual = known[name] ?? fc.constantFrom(...(isNeeded ? [example] : fitting))
      const value = fc.oneof(
        { weight: isNeeded ? 12 : 2, arbitrary: usual },
        { weight: isNeeded ? oddity : 8, arbitrary: fc.constant(undefined) },
        { weight: oddity, arbitrary: odd },
      )
      return value.map((one) => [name, one] as const)
    })
    const unknown = fc.tuple(fc.string({ unit: 'binary', maxLength: 20 }), odd)
    return fc.tuple(...fields, ...(oddity > 0 ? [unknown] : []))
  }
  return fc
    .oneof(fieldsWith(0), fieldsWith(1))
    .map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}
