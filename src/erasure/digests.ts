import { createHmac, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import { termId, type SearchTerm, type SearchTerms } from './search-terms.ts'

/** The key of all digests, in the warehouse (pii.erasure_secret): whoever has it can test a guess against them. */
export type Secret = Buffer

/** null: nothing was ever erased. */
export async function readSecret(db: Db): Promise<Secret | null> {
  const row = await db.selectFrom('pii.erasure_secret').select('secret').executeTakeFirst()
  return row?.secret ?? null
}

/** The secret; made by the first erasure. */
export async function ensureSecret(db: Db): Promise<Secret> {
  await sql`insert into pii.erasure_secret (secret) values (${randomBytes(32)}) on conflict do nothing`.execute(
    db,
  )
  return (await readSecret(db))!
}

export function digestOf(secret: Secret, needle: Pick<SearchTerm, 'kind' | 'key'>): Buffer {
  return digestText(secret, termId(needle))
}

/** `digestOf` that remembers: the needles of an erasure are put on the list with every evaluation. */
export function digester(secret: Secret): (needle: Pick<SearchTerm, 'kind' | 'key'>) => Buffer {
  const known = new Map<string, Buffer>()
  return (needle) => {
    const name = termId(needle)
    const digest = known.get(name) ?? digestOf(secret, needle)
    known.set(name, digest)
    return digest
  }
}

/** Of a name together with a contact. */
export function digestOfPair(secret: Secret, name: string, contact: SearchTerm): Buffer {
  return digestText(secret, `person:${name}:${termId(contact)}`)
}

/** Needles of which nothing but digests is known. */
export function termsFromDigests(
  secret: Secret,
  digests: readonly Buffer[],
  phraseWords: readonly number[],
): SearchTerms {
  const known = new Set(digests.map((digest) => digest.toString('hex')))
  return {
    has: (kind, key) => known.has(digestOf(secret, { kind, key }).toString('hex')),
    phraseWords,
  }
}

function digestText(secret: Secret, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}
