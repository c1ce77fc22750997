import type { Fixture } from '../../support/fixture.ts'

/** What of its customers and signed links an answer shows; empty when nothing. */
export function leaksIn({ sandbox }: Fixture, text: string): string[] {
  const plain = plainText(text)
  const personal = [...sandbox.world.evaluations()].flatMap(({ customer }) =>
    customer === null ? [] : [customer.name, customer.phone, customer.email, customer.address],
  )
  const secrets = ['signature=', ...personal].filter(
    (one): one is string => typeof one === 'string' && one !== '',
  )
  return [...new Set(secrets)].filter((one) => plain.includes(one))
}

/** A text of a page, without its escapes. */
export function plainText(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}
