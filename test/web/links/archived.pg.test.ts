import { createHash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordArchived, storePdf } from '#src/web/archive/archive.ts'
import { dayMs } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { addCheck, checkedFixture, permalink, serveFixture } from './served.ts'

const copy = Buffer.from('%PDF-1.4 the copy %%EOF')

test('a document that the source no longer has comes from the archive, and a lost copy gives a page', async () => {
  await using folder = await temporaryFolder()
  await using fixture = await checkedFixture([{ vanishedAt: '2026-03-11T00:00:00Z' }], {
    links: { archive: { folder: folder.path, hosts: ['files.example'] } },
  })
  const id = addCheck(fixture)
  await fixture.night()
  const file = join(folder.path, 'fetched')
  await writeFile(file, copy)
  const sha256 = createHash('sha256').update(copy).digest()
  const pdf = { file, sha256, byteCount: copy.length }
  const stored = await storePdf(folder.path, pdf)
  const [link] = await rowsOf<{ rooftopId: number; evalId: number }>(
    fixture,
    'select rooftop_id as "rooftopId", eval_id as "evalId" from pii.signed_link',
  )
  await recordArchived(fixture.context.db, { ...link!, linkKind: 'ppsr_pdf', linkRef: id }, pdf)
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(8 * dayMs)

  const archived = await server.click(permalink('ppsr_pdf', id))
  const head = await server.click(permalink('ppsr_pdf', id), { method: 'HEAD' })
  await rm(stored)
  const lost = await server.click(permalink('ppsr_pdf', id))

  expect(archived.status).toBe(200)
  expect(archived.headers.get('content-type')).toBe('application/pdf')
  expect(archived.headers.get('cache-control')).toBe('no-store')
  expect(Buffer.from(await archived.arrayBuffer())).toEqual(copy)
  expect(head.headers.get('content-length')).toBe(String(copy.length))
  expect(lost.status).toBe(410)
})
