import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { LinkKey } from './archive.ts'

/** A signed link of the warehouse. The url is a bearer secret. */
export interface SignedLink extends LinkKey {
  readonly url: string
  /** By the source's clock. */
  readonly isLive: boolean
}

const batchSize = 500

/** The signed links of the rooftops, in batches, so that it does not matter how many there are; `now` is the source's. */
export async function* signedLinks(
  db: Db,
  rooftopIds: readonly number[],
  now: Date,
): AsyncGenerator<readonly SignedLink[]> {
  let after: LinkKey | undefined
  while (rooftopIds.length > 0) {
    const batch = await nextLinks(db, rooftopIds, now, after)
    if (batch.length > 0) yield batch
    if (batch.length < batchSize) return
    after = batch.at(-1)
  }
}

/** The link's url in the warehouse now: it may have been signed again meanwhile. null: there is none. */
export async function currentUrl(db: Db, link: LinkKey): Promise<string | null> {
  const row = await db
    .selectFrom('pii.signed_link')
    .select('url')
    .where('rooftop_id', '=', link.rooftopId)
    .where('eval_id', '=', link.evalId)
    .where('link_kind', '=', link.linkKind)
    .where('link_ref', '=', link.linkRef)
    .executeTakeFirst()
  return row?.url ?? null
}

/** The entries that `links.archive.hosts` needs for the links in the warehouse: `host` or `http://host:port`. */
export async function hostsOfLinks(db: Db): Promise<string[]> {
  const { rows } = await sql<{ origin: string }>`
    select distinct substring(url from '^(https?://[^/?#]+)') as origin
    from pii.signed_link where url ~ '^https?://[^/?#@]+([/?#]|$)' limit 20`.execute(db)
  return rows.map(({ origin }) => origin.replace(/^https:\/\//, '')).sort()
}

async function nextLinks(
  db: Db,
  rooftopIds: readonly number[],
  now: Date,
  after: LinkKey | undefined,
): Promise<SignedLink[]> {
  const key = ['rooftop_id', 'eval_id', 'link_kind', 'link_ref'] as const
  let query = db
    .selectFrom('pii.signed_link')
    .select([...key, 'url', 'expires_at'])
    .where('rooftop_id', 'in', rooftopIds)
    .orderBy('rooftop_id')
    .orderBy('eval_id')
    .orderBy('link_kind')
    .orderBy('link_ref')
    .limit(batchSize)
  if (after !== undefined) {
    const { rooftopId, evalId, linkKind, linkRef } = after
    query = query.where(
      sql<boolean>`(rooftop_id, eval_id, link_kind, link_ref)
        > (${rooftopId}, ${evalId}, ${linkKind}, ${linkRef})`,
    )
  }
  const rows = await query.execute()
  return rows.map((row) => ({
    rooftopId: row.rooftop_id,
    evalId: row.eval_id,
    linkKind: row.link_kind,
    linkRef: row.link_ref,
    url: row.url,
    isLive: row.expires_at > now,
  }))
}
