import { createHash } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { pdfLinkLifeMs, signLink } from '#src/sandbox/signed-link.ts'
import {
  type ArchiveFixture,
  archiveFixture,
  type Ran,
  sourceNow,
} from '../../web/archive/archive-fixture.ts'
import { aPdf, canary, startPdfServer, unfinishedIn } from '../../web/archive/pdf-server.ts'

const rowsOf = async ({ database }: ArchiveFixture) =>
  (
    await database.pool.query(
      `select link_kind, link_ref, encode(sha256, 'hex') as sha256, byte_count
       from pii.archived_pdf order by link_kind, link_ref`,
    )
  ).rows as { link_kind: string; link_ref: string; sha256: string; byte_count: number }[]

/** Paths of the stored files, relative to the archive. */
async function filesOf({ archive }: ArchiveFixture): Promise<string[]> {
  const all = await readdir(archive, { recursive: true, withFileTypes: true })
  return all.filter((one) => one.isFile()).map(({ name }) => name)
}

const outputOf = ({ stdout, stderr }: Ran) => `${stdout}\n${stderr}`

/** Answers `/<ref>` with a PDF of its own, unless the path says otherwise. */
const servesByRef: RequestListener = ({ url }, response) => {
  const path = url!.split('?')[0]!
  if (path.startsWith('/page')) response.end('<html><p>Sign in</p></html>')
  else if (path.startsWith('/dead')) response.writeHead(403).end()
  else response.end(Buffer.concat([aPdf(), Buffer.from(path)]))
}

test('links archive keeps the PDF of every live link once, and a second run fetches nothing', async () => {
  const clock = new VirtualClock({ start: sourceNow, frozen: true })
  const sandbox = await startSandbox({ clock, evaluations: 1 })
  const origin = new URL(sandbox.baseUrl).origin
  await using fixture = await archiveFixture({ hosts: [origin] })
  const draft = { groupId: 'g', rooftopUid: 'north', evalId: 1, searchedAt: sourceNow }
  const [ppsr, history, old] = [
    sandbox.checks.add({ ...draft, kind: 'ppsr', vin: 'JTMDFREV90D123456' }),
    sandbox.checks.add({ ...draft, kind: 'car_history', vin: 'JTMDFREV90D123456' }),
    sandbox.checks.add({ ...draft, kind: 'ppsr', vin: 'JTMDFREV90D123457' }),
  ]
  const expiry = sourceNow.getTime() + pdfLinkLifeMs
  const urlOf = (check: typeof ppsr, at = expiry) =>
    signLink(origin, `/pdf/${check.kind}/${check.ref}.pdf`, at)
  await fixture.addLink({ ref: 'p', url: urlOf(ppsr) })
  await fixture.addLink({ ref: 'c', kind: 'car_history_pdf', rooftop: 'east', url: urlOf(history) })
  const expiresAt = '2031-03-10T06:00:00Z'
  await fixture.addLink({ ref: 'o', url: urlOf(old, Date.parse(expiresAt)), expiresAt })
  await fixture.addLink({ ref: 'n', url: urlOf(old, Date.parse(expiresAt)), expiresAt })
  await fixture.database.pool.query(
    "update pii.signed_link set is_in_scope = false where link_ref = 'n'",
  )

  const first = await fixture.run()
  const pdfs = await Promise.all(
    [ppsr, history].map(async (check) => Buffer.from(await (await fetch(urlOf(check))).bytes())),
  )
  await sandbox.close()
  const second = await fixture.run()

  const bytes = pdfs.reduce((sum, pdf) => sum + pdf.length, 0)
  const nothing = { archived: 0, alreadyThere: 0, expired: 2, notRenewed: 1, failed: [], bytes: 0 }
  expect(first.document).toEqual({ ...nothing, archived: 2, bytes })
  expect(second.document).toEqual({ ...nothing, alreadyThere: 2 })
  expect([first.code, second.code]).toEqual([0, 0])
  const rows = await rowsOf(fixture)
  expect(rows).toMatchObject([
    { link_kind: 'car_history_pdf', link_ref: 'c', byte_count: pdfs[1]!.length },
    { link_kind: 'ppsr_pdf', link_ref: 'p', byte_count: pdfs[0]!.length },
  ])
  const stored = await Promise.all(
    rows.map(({ sha256: name }) =>
      readFile(join(fixture.archive, name.slice(0, 2), `${name}.pdf`)),
    ),
  )
  expect(stored).toEqual([pdfs[1], pdfs[0]])
  expect(outputOf(first) + outputOf(second)).not.toContain('signature=')
})

test('checks with the same bytes share one file', async () => {
  await using server = await startPdfServer((_request, response) => response.end(aPdf()))
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  for (const ref of ['a', 'b', 'c']) await fixture.addLink({ ref, url: server.link(`/${ref}`) })

  const { document } = await fixture.run()

  const rows = await rowsOf(fixture)
  expect(document).toMatchObject({ archived: 3, bytes: 3 * aPdf().length })
  expect(rows.map((row) => row.link_ref)).toEqual(['a', 'b', 'c'])
  expect(new Set(rows.map((row) => row.sha256)).size).toBe(1)
  expect(await filesOf(fixture)).toEqual([`${rows[0]!.sha256}.pdf`])
})

test('a check that moves to another rooftop of its dealer group is not fetched again', async () => {
  await using server = await startPdfServer(servesByRef)
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  await fixture.addLink({ ref: 'a', url: server.link('/a') })
  await fixture.run()
  await fixture.addLink({ ref: 'a', rooftop: 'south', evalId: 7, url: server.link('/a') })
  await fixture.addLink({ ref: 'a', rooftop: 'east', evalId: 8, url: server.link('/a') })

  const { document } = await fixture.run()

  expect(document).toMatchObject({ archived: 1, alreadyThere: 2 })
  expect(server.requests).toHaveLength(2)
})

test('a PDF that fails is reported with check and reason, and stops no other', async () => {
  await using server = await startPdfServer(servesByRef)
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  await fixture.addLink({ ref: 'a', url: server.link('/a') })
  await fixture.addLink({ ref: 'b', kind: 'car_history_pdf', url: server.link('/page') })
  await fixture.addLink({ ref: 'c', url: `https://files.example.com/c?${canary}` })
  await fixture.addLink({ ref: 'd', url: server.link('/dead') })
  await fixture.addLink({ ref: 'e', url: server.link('/e') })

  const ran = await fixture.run()
  const again = await fixture.run()

  const failed = [
    {
      kind: 'car_history_pdf',
      ref: 'b',
      reason: 'the answer is a web page, not a PDF',
    },
    { kind: 'ppsr_pdf', ref: 'c', reason: 'files.example.com is not in links.archive.hosts' },
    { kind: 'ppsr_pdf', ref: 'd', reason: 'the link is dead: the answer is 403' },
  ]
  const bytes = 2 * (aPdf().length + 2)
  expect(ran.code).toBe(1)
  expect(ran.document).toEqual({
    archived: 2,
    alreadyThere: 0,
    expired: 0,
    notRenewed: 0,
    failed,
    bytes,
  })
  expect(again.document).toEqual({
    archived: 0,
    alreadyThere: 2,
    expired: 0,
    notRenewed: 0,
    failed,
    bytes: 0,
  })
  expect((await rowsOf(fixture)).map((row) => row.link_ref)).toEqual(['a', 'e'])
  expect(await filesOf(fixture)).toHaveLength(2)
  expect(outputOf(ran) + outputOf(again)).not.toMatch(/canary|\/page|\/dead|127\.0\.0\.1/)
})

test('a crash between file and row, and a file that is lost, are repaired by the next run', async () => {
  await using server = await startPdfServer(servesByRef)
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  for (const ref of ['a', 'b', 'c']) await fixture.addLink({ ref, url: server.link(`/${ref}`) })
  await fixture.run()
  const [a, b] = await rowsOf(fixture)
  const fileOf = (name: string) => join(fixture.archive, name.slice(0, 2), `${name}.pdf`)
  const before = await stat(fileOf(a!.sha256))

  await fixture.database.pool.query(`delete from pii.archived_pdf where link_ref = 'a'`)
  await rm(fileOf(b!.sha256))
  const { document } = await fixture.run()

  expect(document).toMatchObject({ archived: 2, alreadyThere: 1, failed: [] })
  expect((await rowsOf(fixture)).slice(0, 2)).toEqual([a, b])
  expect((await stat(fileOf(a!.sha256))).ino).toBe(before.ino)
  expect((await stat(fileOf(b!.sha256))).size).toBe(b!.byte_count)
  expect(await filesOf(fixture)).toHaveLength(3)
})

test('a link that died is fetched once more when it was signed again meanwhile', async () => {
  let signAgain = async (): Promise<void> => {}
  await using server = await startPdfServer((request, response) => {
    if (request.url!.startsWith('/old')) void signAgain().then(() => response.writeHead(403).end())
    else servesByRef(request, response)
  })
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  await fixture.addLink({ ref: 'a', url: server.link('/old') })
  signAgain = async () => {
    const { pool } = fixture.database
    await pool.query('update pii.signed_link set url = $1', [server.link('/new')])
  }

  const { document } = await fixture.run()

  expect(document).toMatchObject({ archived: 1, failed: [] })
  expect(server.requests.map((one) => one.split('?')[0])).toEqual(['GET /old', 'GET /new'])
})

test('--rooftop archives the links of that rooftop alone', async () => {
  await using server = await startPdfServer(servesByRef)
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  await fixture.addLink({ ref: 'a', url: server.link('/a') })
  await fixture.addLink({ ref: 'b', rooftop: 'east', url: server.link('/b') })

  const east = await fixture.run(['--rooftop', 'east'])
  const unknown = await fixture.run(['--rooftop', 'west'])

  expect(east.document).toMatchObject({ archived: 1 })
  expect((await rowsOf(fixture)).map((row) => row.link_ref)).toEqual(['b'])
  expect(unknown).toMatchObject({
    code: 2,
    document: { error: expect.stringContaining('--rooftop west is not in the config') },
  })
})

test('without a folder there is no archive, and without hosts the message names what there is', async () => {
  await using none = await archiveFixture({ folder: null })
  await using empty = await archiveFixture({ hosts: [] })
  await using full = await archiveFixture({ hosts: [] })
  await full.addLink({ ref: 'a', url: `https://files.example.com/a?${canary}` })
  await full.addLink({ ref: 'b', url: `https://files.example.com/b?${canary}` })
  await full.addLink({ ref: 'c', url: `http://127.0.0.1:4010/c?${canary}` })
  await full.addLink({ ref: 'd', url: `https://user:word@example.org/d?${canary}` })

  const runs = [await none.run(), await empty.run(), await full.run()]

  expect(runs.map(({ code }) => code)).toEqual([2, 2, 2])
  const errors = runs.map(({ document }) => document['error'])
  expect(errors[0]).toContain('There is no archive: set links.archive.folder in ')
  expect(errors[1]).toContain('run "forecourt sync"')
  expect(errors[2]).toContain('lead to: files.example.com, http://127.0.0.1:4010.')
  expect(runs.map(outputOf).join()).not.toMatch(/canary|word@/)
})

test('a folder that cannot be made is wrong usage', async () => {
  await using fixture = await archiveFixture({
    folder: '/dev/null/archive',
    hosts: ['example.com'],
  })

  const { code, document } = await fixture.run()

  expect(code).toBe(2)
  expect(document['error']).toContain(
    'The archive folder /dev/null/archive cannot be used (ENOTDIR',
  )
})

test('a disk that takes no more ends the run with a sentence, and what was archived stays', async () => {
  await using server = await startPdfServer(servesByRef)
  await using fixture = await archiveFixture({ hosts: [server.origin] })
  await fixture.addLink({ ref: 'a', url: server.link('/a') })
  await fixture.run()
  await fixture.addLink({ ref: 'b', url: server.link('/b') })
  const digest = createHash('sha256').update(aPdf()).update('/b').digest('hex')
  await writeFile(join(fixture.archive, digest.slice(0, 2)), 'where a folder should be')

  const { code, document, stderr } = await fixture.run()

  expect(code).toBe(1)
  expect(document['error']).toContain(`The archive folder ${fixture.archive} cannot be written (E`)
  expect(stderr).not.toContain('canary')
  expect(await unfinishedIn(fixture.archive)).toEqual([])
  expect((await rowsOf(fixture)).map((row) => row.link_ref)).toEqual(['a'])
})
