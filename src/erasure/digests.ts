import { createHmac, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import { termId, type SearchTerm, type SearchTerms } from './search-terms.ts'

/** The key of all digests, stored in pii.erasure_secret. Anyone who has it can test a guess against them. */
export type Secret = Buffer

/** null: nothing was erased yet. */
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

/** The keyed digest of a search term, under which it is stored on the suppression list. */
export function digestOf(secret: Secret, term: Pick<SearchTerm, 'kind' | 'key'>): Buffer {
  return digestText(secret, termId(term))
}

/** `digestOf` with a cache: an erasure lists the same terms with every evaluation. */
export function digester(secret: Secret): (term: Pick<SearchTerm, 'kind' | 'key'>) => Buffer {
  const known = new Map<string, Buffer>()
  return (term) => {
    const name = termId(term)
    const digest = known.get(name) ?? digestOf(secret, term)
    known.set(name, digest)
    return digest
  }
}

/** The digest of a name together with a contact. */
export function digestOfPair(secret: Secret, name: string, contact: SearchTerm): Buffer {
  return digestText(secret, `person:${name}:${termId(contact)}`)
}

/** Search terms that are known only by their digests. */
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
