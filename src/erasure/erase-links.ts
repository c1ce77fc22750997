import type pg from 'pg'
import { addCounts, type Counts, type EvaluationKey } from './erasure-work.ts'

/** Deletes the signed links and archived PDFs of evaluations. Files that no other check has are recorded for removal. */
export async function eraseLinks(
  client: pg.ClientBase,
  evaluations: readonly EvaluationKey[],
): Promise<{ readonly counts: Counts; readonly files: number }> {
  let counts: Counts = {}
  const digests: Buffer[] = []
  for (const { rooftopIds, evalId } of evaluations) {
    const key = [rooftopIds, evalId]
    const links = await client.query(
      'delete from pii.signed_link where rooftop_id = any($1::int[]) and eval_id = $2::bigint',
      key,
    )
    const pdfs = await client.query<{ sha256: Buffer }>(
      `delete from pii.archived_pdf where rooftop_id = any($1::int[]) and eval_id = $2::bigint
       returning sha256`,
      key,
    )
    digests.push(...pdfs.rows.map(({ sha256 }) => sha256))
    counts = addCounts(counts, {
      'pii.signed_link': links.rowCount ?? 0,
      'pii.archived_pdf': pdfs.rowCount ?? 0,
    })
  }
  const noted = await client.query(
    `insert into pii.erasure_file (sha256)
     select distinct sha256 from unnest($1::bytea[]) as gone (sha256)
     where not exists (select from pii.archived_pdf as stored where stored.sha256 = gone.sha256)
     on conflict do nothing`,
    [digests],
  )
  return { counts, files: noted.rowCount ?? 0 }
}
