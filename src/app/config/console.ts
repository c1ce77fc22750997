import { z } from 'zod'
import { isLoopback } from '../../values/service-address.ts'
import { headerValue, orNull, reporter, url, whole, zone } from './values.ts'

/** What a person may do. engineer: everything; viewer: read; stock: read the stock of its rooftops. */
const consoleRoles = ['engineer', 'viewer', 'stock'] as const
/** One of `consoleRoles`. */
export type ConsoleRole = (typeof consoleRoles)[number]

/** An e-mail address as it is compared. Only A to Z lose their case: to Unicode the Kelvin sign is a K, to a mail server it is not. */
export function emailKey(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

const person = z.strictObject({
  email: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, 'is not an e-mail address')
    .transform(emailKey),
  role: z
    .enum(consoleRoles)
    .describe('engineer: everything; viewer: reads; stock: reads the stock of its rooftops'),
  rooftops: z
    .array(z.string().min(1, 'is empty'))
    .default([])
    .describe('The rooftops of a stock person, by uid'),
  groups: z
    .array(z.string().min(1, 'is empty'))
    .default([])
    .describe('The dealer groups of a stock person, as in rooftops[].group'),
})

function isSafe(address: string): boolean {
  return new URL(address).protocol === 'https:' || isLoopback(address)
}

/** The pages link to each other from the root, so a path before /console would lead nowhere. */
function isOrigin(address: string): boolean {
  const { href, origin } = new URL(address)
  return href === `${origin}/` && !/[?#]/.test(address)
}

const oidc = z.strictObject({
  issuer: url
    .refine(isSafe, 'is not https: write https://…; only a loopback address may do without')
    .describe('The address of the identity provider, as in its id tokens'),
  clientId: z.string().min(1, 'is empty'),
  clientSecret: headerValue.describe('Take it from the environment'),
  requireVerifiedEmail: z
    .boolean()
    .default(true)
    .describe('false: only for a provider that never sends email_verified and checks every e-mail'),
})

/** The console; null: it is off. */
export const consoleSettings = z
  .strictObject({
    publicUrl: url
      .refine(isOrigin, 'has more than scheme, host and port: write only them')
      .refine(
        isSafe,
        'is not https: write https://…; only a loopback address, e.g. http://127.0.0.1:4020, may do without',
      )
      .transform((text) => new URL(text).origin)
      .describe('Where people open it; /console is added. https, except on a loopback address'),
    timezone: zone
      .default('UTC')
      .describe('The zone of its times, except on the page of a rooftop'),
    sessionHours: whole(1, 24 * 30).default(12),
    uploadMegabytes: whole(1, 200)
      .default(25)
      .describe('The largest stock list that can be uploaded'),
    oidc: orNull(oidc).describe('null: people sign in by links alone'),
    people: z.array(person).superRefine(checkPeople),
  })
  .nullable()
  .default(null)

type Person = z.infer<typeof person>

function checkPeople(people: readonly Person[], context: z.RefinementCtx): void {
  for (const [index, { email, role, rooftops, groups }] of people.entries()) {
    const report = reporter(context, index)
    const isScoped = rooftops.length + groups.length > 0
    if (people.findIndex((other) => other.email === email) < index)
      report('email', 'is listed twice: list every person once')
    if (role === 'stock' && !isScoped)
      report('role', 'is stock, which sees nothing without rooftops or groups: list them')
    if (role !== 'stock' && isScoped)
      report('role', `is ${role}, which sees every rooftop: leave out rooftops and groups`)
  }
}
