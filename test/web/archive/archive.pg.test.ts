import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import {
  type LinkKey,
  openArchive,
  readArchived,
  recordArchived,
  storePdf,
} from '#src/web/archive/archive.ts'
import {
  type ArchiveWork,
  archiveLinks,
  type SignedLink,
  signedLinks,
} from '#src/web/archive/archive-links.ts'
import { type PdfFile, unfinishedFolder, writePdf } from '#src/web/archive/pdf-file.ts'
import { archiveFixture, sourceNow } from './archive-fixture.ts'
import { aPdf, rulesFor, startPdfServer, unfinishedIn } from './pdf-server.ts'

async function written(folder: string, pdf = aPdf()): Promise<PdfFile> {
  async function* chunks() {
    yield pdf
  }
  return await writePdf(chunks(), folder, 100_000)
}

const keyOf = (rooftopId: number, changes: Partial<LinkKey> = {}): LinkKey => ({
  rooftopId,
  evalId: 1,
  linkKind: 'ppsr_pdf',
  linkRef: 'a',
  ...changes,
})

test('a PDF is stored under its digest, and read back by the check that it belongs to', async () => {
  await using fixture = await archiveFixture({})
  const { db, archive, ids } = fixture
  const key = keyOf(ids['north']!)

  const before = await readArchived(db, archive, key)
  const fetched = await written(archive)
  const path = await storePdf(archive, fetched)
  const between = await readArchived(db, archive, key)
  await recordArchived(db, key, fetched)

  const name = createHash('sha256').update(aPdf()).digest('hex')
  expect(path).toBe(join(archive, name.slice(0, 2), `${name}.pdf`))
  expect([before, between]).toEqual([null, null])
  expect(await readArchived(db, archive, key)).toEqual({ path, byteCount: aPdf().length })
  expect(await readFile(path)).toEqual(aPdf())
  expect((await stat(path)).mode & 0o077).toBe(0)
  expect(await readdir(unfinishedFolder(archive))).toEqual([])
})

test('a check is shared in its dealer group, and not visible from another', async () => {
  await using fixture = await archiveFixture({})
  const { db, archive, ids } = fixture
  const fetched = await written(archive)
  await storePdf(archive, fetched)
  await recordArchived(db, keyOf(ids['north']!), fetched)

  const seen = async (rooftop: string, changes: Partial<LinkKey> = {}) =>
    (await readArchived(db, archive, keyOf(ids[rooftop]!, changes))) !== null

  expect({
    otherEvaluation: await seen('north', { evalId: 2 }),
    otherRooftop: await seen('south'),
    otherGroup: await seen('east'),
    otherKind: await seen('north', { linkKind: 'car_history_pdf' }),
    otherCheck: await seen('north', { linkRef: 'b' }),
  }).toEqual({
    otherEvaluation: true,
    otherRooftop: true,
    otherGroup: false,
    otherKind: false,
    otherCheck: false,
  })
})

test('an existing file stays as it is; a damaged one does not count, and is replaced', async () => {
  await using fixture = await archiveFixture({})
  const { db, archive, ids } = fixture
  const key = keyOf(ids['north']!)
  const first = await written(archive)
  const path = await storePdf(archive, first)
  await recordArchived(db, key, first)
  const { ino } = await stat(path)

  await storePdf(archive, await written(archive))
  const unchanged = await stat(path)
  await truncate(path, 5)
  const damaged = await readArchived(db, archive, key)
  await storePdf(archive, await written(archive))

  expect(unchanged.ino).toBe(ino)
  expect(damaged).toBe(null)
  expect(await readFile(path)).toEqual(aPdf())
  expect(await readArchived(db, archive, key)).not.toBe(null)
  expect(await readdir(unfinishedFolder(archive))).toEqual([])
})

test('what crashed runs left unfinished is removed after a day', async () => {
  await using fixture = await archiveFixture({})
  const folder = unfinishedFolder(fixture.archive)
  await mkdir(folder, { recursive: true })
  await Promise.all(['old.part', 'new.part'].map((name) => writeFile(join(folder, name), 'x')))
  const now = new Date()
  const twoDaysAgo = new Date(now.getTime() - 2 * 86_400_000)
  await utimes(join(folder, 'new.part'), now, now)
  await utimes(join(folder, 'old.part'), twoDaysAgo, twoDaysAgo)

  await openArchive(fixture.archive)

  expect(await readdir(folder)).toEqual(['new.part'])
})

test('every link of the rooftops comes once, however many there are', async () => {
  await using fixture = await archiveFixture({})
  const { database, db, ids } = fixture
  await database.pool.query(
    `insert into pii.signed_link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
     select rooftop_id, n / 3, kind, (n % 3)::text, 'https://x/', $1, $1::timestamptz + interval '1 day'
     from generate_series(0, 599) as n, unnest($2::int[]) as rooftop_id,
       unnest('{ppsr_pdf,car_history_pdf}'::text[]) as kind`,
    [sourceNow, Object.values(ids)],
  )

  const batches: (readonly SignedLink[])[] = []
  for await (const batch of signedLinks(db, [ids['north']!, ids['east']!], sourceNow, sql``))
    batches.push(batch)

  const keys = batches.flat().map((link) => Object.values(link).join(' '))
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 500, 500, 400])
  expect(new Set(keys).size).toBe(2400)
  expect(batches.flat().some(({ rooftopId }) => rooftopId === ids['south'])).toBe(false)
  expect(await signedLinks(db, [], sourceNow, sql``).next()).toMatchObject({ done: true })
})

test('a signal ends the run with its reason, and what was archived stays', async () => {
  const stop = new AbortController()
  await using server = await startPdfServer(({ url }, response) => {
    if (url!.startsWith('/b')) response.write(aPdf(), () => stop.abort(new Error('stopped')))
    else response.end(aPdf())
  })
  await using fixture = await archiveFixture({})
  const { db, archive, ids } = fixture
  for (const ref of ['a', 'b', 'c']) await fixture.addLink({ ref, url: server.link(`/${ref}`) })
  const work: ArchiveWork = {
    db,
    log: openLog({ level: 'silent', human: false, secrets: [], write: () => undefined }),
    rules: rulesFor(archive, [server.origin]),
    signal: stop.signal,
    now: sourceNow,
    ofRenewedAge: sql``,
    concurrency: 1,
    renewUrl: async () => null,
  }

  await expect(archiveLinks(work, [ids['north']!])).rejects.toThrow('stopped')

  expect(server.requests).toHaveLength(2)
  expect(await readArchived(db, archive, keyOf(ids['north']!))).not.toBe(null)
  expect(await unfinishedIn(archive)).toEqual([])
})
