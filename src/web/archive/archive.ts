import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { isCode } from '../../errors.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type PdfFile, unfinishedFolder } from './pdf-file.ts'

/** The check that a PDF belongs to, as in pii.signed_link. */
export interface LinkKey {
  readonly rooftopId: number
  readonly evalId: number
  readonly linkKind: string
  readonly linkRef: string
}

/** A PDF that is in the archive. */
interface ArchivedPdf {
  readonly path: string
  readonly byteCount: number
}

/** The archive's folder, relative to the config file; null: the config has no archive. */
export function archiveFolder({
  links,
  homeDir,
}: Pick<Config, 'links' | 'homeDir'>): string | null {
  const { folder } = links.archive
  return folder === null ? null : path.resolve(homeDir, folder)
}

/** The PDF of a check; null when it is not in the archive, or its file is gone or not whole any more. A check is one in
 *  its dealer group, whichever of its evaluations shows it. */
export async function readArchived(
  db: Db,
  folder: string,
  key: LinkKey,
): Promise<ArchivedPdf | null> {
  const [found] = await readAllArchived(db, folder, [key])
  return found ?? null
}

/** The same for many checks with one query, in their order. */
export async function readAllArchived(
  db: Db,
  folder: string,
  keys: readonly LinkKey[],
): Promise<(ArchivedPdf | null)[]> {
  const rows = await readRows(db, keys)
  const found: (ArchivedPdf | null)[] = keys.map(() => null)
  for (const { index, sha256, byteCount } of rows) {
    const file = pdfPath(folder, sha256)
    if (found[index] === null && (await fileSize(file)) === byteCount)
      found[index] = { path: file, byteCount }
  }
  return found
}

/** Records which file is the PDF of a check. The file must be in the store already, so that no row is without its file. */
export async function recordArchived(
  db: Db,
  { rooftopId, evalId, linkKind, linkRef }: LinkKey,
  { sha256, byteCount }: Pick<PdfFile, 'sha256' | 'byteCount'>,
): Promise<void> {
  await db
    .insertInto('pii.archived_pdf')
    .values({
      rooftop_id: rooftopId,
      eval_id: evalId,
      link_kind: linkKind,
      link_ref: linkRef,
      sha256,
      byte_count: byteCount,
    })
    .onConflict((conflict) =>
      conflict.columns(['rooftop_id', 'eval_id', 'link_kind', 'link_ref']).doUpdateSet({
        sha256,
        byte_count: byteCount,
        archived_at: sql<Date>`now()`,
      }),
    )
    .execute()
}

/** Moves a fetched file to the path of its digest: `<aa>/<sha256>.pdf` below the folder. A file that is there stays, and
 *  is replaced only when it is damaged. */
export async function storePdf(folder: string, { file, sha256 }: PdfFile): Promise<string> {
  const target = pdfPath(folder, sha256)
  try {
    if ((await fileDigest(target))?.equals(sha256) !== true) await moveTo(target, file)
    return target
  } finally {
    await rm(file, { force: true })
  }
}

/** Removes a file from the store; it may be missing. */
export async function removePdf(folder: string, sha256: Buffer): Promise<void> {
  const file = pdfPath(folder, sha256)
  if ((await fileSize(file)) === null) return
  await rm(file, { force: true })
  await syncFolder(path.dirname(file))
}

async function moveTo(target: string, file: string): Promise<void> {
  const targetFolder = path.dirname(target)
  await mkdir(targetFolder, { recursive: true, mode: 0o700 })
  await rename(file, target)
  await syncFolder(targetFolder)
}

/** Makes the folder, and removes what crashed runs left unfinished in it more than a day ago. */
export async function openArchive(folder: string): Promise<void> {
  const unfinished = unfinishedFolder(folder)
  await mkdir(unfinished, { recursive: true, mode: 0o700 })
  const aDayAgo = Date.now() - 86_400_000
  for (const name of await readdir(unfinished)) {
    const file = path.join(unfinished, name)
    const known = await stat(file).catch(() => null)
    if (known !== null && known.mtimeMs < aDayAgo) await rm(file, { force: true })
  }
}

/** The archived PDFs of each key, by its index; the newest first. */
async function readRows(
  db: Db,
  keys: readonly LinkKey[],
): Promise<{ index: number; sha256: Buffer; byteCount: number }[]> {
  const { rows } = await sql<{ index: number; sha256: Buffer; byteCount: number }>`
    select (place - 1)::int as index, sha256, byte_count as "byteCount"
    from unnest(${keys.map(({ rooftopId }) => rooftopId)}::int[],
      ${keys.map(({ linkKind }) => linkKind)}::text[],
      ${keys.map(({ linkRef }) => linkRef)}::text[])
      with ordinality as wanted (rooftop_id, link_kind, link_ref, place)
    join core.rooftop as asked on asked.rooftop_id = wanted.rooftop_id
    join core.rooftop as owner on owner.group_id = asked.group_id
    join pii.archived_pdf as archived on archived.rooftop_id = owner.rooftop_id
      and archived.link_kind = wanted.link_kind and archived.link_ref = wanted.link_ref
    order by place, archived_at desc`.execute(db)
  return rows
}

/** The path of a file. It is made from the digest alone, so that no name from outside can lead out of the folder. */
function pdfPath(folder: string, sha256: Buffer): string {
  const name = sha256.toString('hex')
  return path.join(folder, name.slice(0, 2), `${name}.pdf`)
}

async function fileSize(file: string): Promise<number | null> {
  const found = await stat(file).catch(nullIfMissing)
  return found?.isFile() === true ? found.size : null
}

async function fileDigest(file: string): Promise<Buffer | null> {
  if ((await fileSize(file)) === null) return null
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest()
}

function nullIfMissing(error: unknown): null {
  if (isCode(error, 'ENOENT', 'ENOTDIR')) return null
  throw error
}

// The name of a file is stored in its folder: without this a crash of the machine can lose it. Windows cannot do it, and need not.
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  await using handle = await open(folder, 'r')
  await handle.sync()
}
