import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { KnownCheck } from './known-checks.ts'
import type { PastCheck } from './past-checks.ts'
import { compare } from './watch-statuses.ts'

/** How long a signed link lives [A §8]. */
export const linkLifeMs = 7 * 86_400_000

/** Keeps the newest link of each check. */
export async function signLinks(
  db: Kysely<Tables>,
  listed: readonly {
    readonly answer: { readonly at: Date }
    readonly check: PastCheck
    readonly known: KnownCheck
  }[],
): Promise<void> {
  const signed = listed
    .filter(({ check }) => check.pdfUrl !== null)
    .sort((a, b) => compare(a.known, b.known))
  if (signed.length === 0) return
  await sql`
    insert into pii.signed_link as link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
    select * from unnest(${signed.map(({ known }) => known.rooftopId)}::int[], ${signed.map(({ known }) => known.evalId)}::bigint[],
      ${signed.map(({ known }) => `${known.kind}_pdf`)}::text[], ${signed.map(({ known }) => known.ref)}::text[],
      ${signed.map(({ check }) => check.pdfUrl)}::text[], ${signed.map(({ answer }) => answer.at)}::timestamptz[],
      ${signed.map(({ answer }) => new Date(answer.at.getTime() + linkLifeMs))}::timestamptz[])
    on conflict (rooftop_id, eval_id, link_kind, link_ref) do update
    set url = excluded.url, signed_at = excluded.signed_at, expires_at = excluded.expires_at
    where excluded.signed_at >= link.signed_at`.execute(db)
}
