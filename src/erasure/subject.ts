import { UsageError } from '../errors.ts'
import { emailKey, type SearchTerm } from './search-terms.ts'
import { phoneKey } from './phone.ts'

/** The subject of an erasure. The value is personal data, except an EvalID. */
export type Subject =
  | { readonly kind: 'email' | 'phone'; readonly value: string }
  | { readonly kind: 'eval'; readonly evalId: number; readonly rooftopUid: string | null }

/** The requested contact as a search term; empty for an evaluation. UsageError for an invalid e-mail or phone number. */
export function requestedTerms(subject: Subject): SearchTerm[] {
  if (subject.kind === 'eval') return []
  const { kind, value } = subject
  const key = kind === 'email' ? emailKey(value) : phoneKey(value)
  if (key !== null) return [{ kind, key, spelling: key }]
  throw new UsageError(
    kind === 'email'
      ? 'This is not an e-mail address: write it as the customer gave it, e.g. --email jane@example.org.'
      : 'This is not a phone number: write at least seven digits, e.g. --phone "0412 345 678".',
  )
}

/** Masks the subject for people and receipts: recognisable, but not readable. */
export function maskOf(subject: Subject): string {
  if (subject.kind === 'eval') return String(subject.evalId)
  if (subject.kind === 'phone') return `***${subject.value.replaceAll(/\D/g, '').slice(-2)}`
  const [name = '', host = ''] = subject.value.trim().split('@')
  return `${name.slice(0, 1)}***@${host.slice(0, 1)}***`
}
