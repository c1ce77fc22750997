import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { configText, type Json } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { dayMs } from '../../support/fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { morning } from '../../support/pricing-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { paths, vin } from '../../web/links/served.ts'

const goneVin = 'JTMDFREV90D999999'

/** Two dealer groups with a key each; evaluation 1003 vanishes the day after. */
function twoGroups() {
  const createdAt = '2026-03-09T22:00:00Z'
  return worldOf({
    rooftops: [
      aRooftop(),
      aRooftop({ uid: 'other', name: 'Other', groupId: 'group-2', dealerId: 102 }),
    ],
    keys: [
      aKey({ name: 'one', value: 'canary-key-one' }),
      aKey({ name: 'two', value: 'canary-key-two', rooftopUids: ['other'] }),
    ],
    evaluations: [
      anEvaluation({ createdAt, photos: [{ id: 501 }] }),
      anEvaluation({ createdAt, evalId: 2001, rooftopUid: 'other' }),
      anEvaluation({ createdAt, evalId: 1003, vin: goneVin, vanishedAt: '2026-03-11' }),
    ],
  })
}

/** A sandbox with a frozen clock, a warehouse, and a folder whose config is about both. */
async function openFixture() {
  const clock = new VirtualClock({ start: morning, frozen: true })
  const sandbox = await startSandbox({ world: twoGroups(), clock })
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const text = configText(sandbox, database.url, {
    sandbox: { now: morning },
    sync: { start: '2026-03-01' },
  })
  await writeFile(join(folder.path, 'forecourt.yaml'), text)
  const run = (...args: readonly string[]) => runInProcess(args, { cwd: folder.path })
  return {
    sandbox,
    run,
    json: async (...args: readonly string[]) => {
      const { code, stdout } = await run(...args, '--json')
      return { code, document: JSON.parse(stdout) as Json }
    },
    addPpsr: (draft: object = {}) => {
      const subject = { groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1001, vin }
      const searchedAt = new Date('2026-03-09T23:00:00Z')
      return String(sandbox.checks.add({ kind: 'ppsr', ...subject, searchedAt, ...draft }).id)
    },
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('links show prints a live URL, as text and as JSON, signed again where the stored one is dead', async () => {
  await using fixture = await openFixture()
  const id = fixture.addPpsr()
  await fixture.run('sync')
  fixture.sandbox.clock.advance(9 * dayMs)

  const text = await fixture.run('links', 'show', 'ppsr_pdf', id)
  const { code, document } = await fixture.json('links', 'show', 'photo', '501')

  expect(text).toMatchObject({ code: 0, stdout: expect.stringMatching(/^http\S+signature=\S+\n$/) })
  expect((await fetch(text.stdout.trim())).headers.get('content-type')).toBe('application/pdf')
  expect(text.stderr).not.toMatch(/signature=|canary-key/)
  expect(code).toBe(0)
  const url = expect.stringMatching(/^http.*signature=/)
  expect(document).toEqual({ kind: 'photo', id: '501', url, expiresAt: null })
  expect((await fetch(document['url'] as string)).status).toBe(200)
})

test('links show says what is wrong: vanished is 1, unknown and ambiguous are 2', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture()
  const id = fixture.addPpsr()
  const there = { groupId: 'group-2', rooftopUid: 'other', evalId: 2001, ref: 'b' }
  fixture.addPpsr({ id: Number(id), ...there })
  const gone = fixture.addPpsr({ evalId: 1003, vin: goneVin })
  await fixture.run('sync')
  fixture.sandbox.clock.advance(9 * dayMs)
  const show = (...args: string[]) => fixture.run('--quiet', 'links', 'show', ...args)
  const says = (text: string) => expect.stringContaining(text)

  const vanished = await show('ppsr_pdf', gone)
  const unknown = await show('ppsr_pdf', '1')
  const misspelt = await show('ppsr_pfd', id)
  const ambiguous = await show('ppsr_pdf', id)
  const chosen = await show('ppsr_pdf', id, '--rooftop', 'other')

  expect(vanished).toMatchObject({ code: 1, stdout: '', stderr: says(`${gone} has vanished.`) })
  expect(unknown).toMatchObject({ code: 2, stderr: says('core.vehicle_check (check_ref)') })
  expect(misspelt).toMatchObject({ code: 2, stderr: says('(did you mean ppsr_pdf?)') })
  expect(ambiguous).toMatchObject({
    code: 2,
    stderr: says('--rooftop, one of other (Other), rooftop-1 (Rooftop One).'),
  })
  expect(chosen).toMatchObject({ code: 0, stdout: says('/pdf/ppsr/b.pdf?') })
})

test('status misses the objective when links are about to die, and links refresh alone repairs it with one call for each', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture()
  fixture.addPpsr()
  fixture.addPpsr({ searchedAt: new Date('2026-03-08T23:00:00Z') })
  await fixture.run('sync')
  const good = await fixture.json('status')
  // The clock that status goes by is that of the newest run, here one that reads no link.
  fixture.sandbox.clock.advance(6 * dayMs)
  await fixture.run('sync', 'users')
  fixture.sandbox.requests.reset()

  const missed = await fixture.json('status')
  const output = await fixture.run('status')
  const refreshed = await fixture.json('links', 'refresh')
  const calls = fixture.sandbox.requests.counts()
  const repaired = await fixture.json('status')

  const links = { inScope: 2, objective: 0.99, hoursToLive: 48, soonestExpiry: expect.any(String) }
  expect(good.document['links']).toEqual({ ...links, status: 'ok', alive: 2, share: 1 })
  expect(good.document['status']).toBe('ok')
  expect(missed).toMatchObject({ code: 1, document: { status: 'missed' } })
  expect(missed.document['links']).toEqual({ ...links, status: 'missed', alive: 0, share: 0 })
  expect(output.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Links to PDFs: 0 of 2 have 48 h to live (objective: 99 %) Cure: Run "forecourt links refresh".',
  )
  expect(refreshed).toMatchObject({ code: 0, document: { status: 'ok' } })
  const called = Object.entries(calls).filter(([path]) => /past|watch|eval|user|pric/i.test(path))
  expect(called).toEqual([[paths.ppsr, 1]])
  expect(repaired.document['links']).toEqual({ ...links, status: 'ok', alive: 2, share: 1 })
})
