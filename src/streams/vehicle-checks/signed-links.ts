import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { KnownCheck } from './known-checks.ts'
import type { PastCheck } from './past-checks.ts'
import { compareKeys, keyColumns } from './watch-statuses.ts'

interface Listed {
  readonly answer: { readonly at: Date }
  readonly check: PastCheck
  readonly known: KnownCheck
}

/** How long a signed link lives [A §8]. */
export const linkLifeMs = 7 * 86_400_000

/** Stores the newest link of each check; removes the link of a check that is listed without one. */
export async function signLinks(db: Kysely<Tables>, listed: readonly Listed[]): Promise<void> {
  const signed = listed
    .filter(({ check }) => check.pdfUrl !== null)
    .sort((a, b) => compareKeys(a.known, b.known))
  await dropLinks(
    db,
    listed.filter(({ check }) => check.pdfUrl === null),
  )
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

async function dropLinks(db: Kysely<Tables>, bare: readonly Listed[]): Promise<void> {
  if (bare.length === 0) return
  const { rooftopIds, evalIds, kinds, refs } = keyColumns(bare.map(({ known }) => known))
  await sql`
    delete from pii.signed_link as link
    using unnest(${rooftopIds}::int[], ${evalIds}::bigint[], ${kinds}::text[], ${refs}::text[],
      ${bare.map(({ answer }) => answer.at)}::timestamptz[]) as bare (rooftop_id, eval_id, kind, ref, at)
    where link.rooftop_id = bare.rooftop_id and link.eval_id = bare.eval_id
      and link.link_kind = bare.kind || '_pdf' and link.link_ref = bare.ref and link.signed_at < bare.at`.execute(
    db,
  )
}
