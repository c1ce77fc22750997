import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { otherNames } from '#src/sandbox/other-names.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { allStreams } from '#src/streams/all.ts'
import { defaultWire } from '#src/values/wire.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { smallFixture } from './sync-fixture.ts'

/** Without its line breaks. */
const flat = (text: string) => text.replaceAll(/\s+/g, ' ')
const now = new Date('2026-03-10T06:30:00Z')
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)

test('status --json of a good warehouse has the shape of the contract, exit 0', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night(allStreams)

  const { code, document } = await warehouse.json(['status'])

  expect(code).toBe(0)
  const good = { status: 'ok', lastGoodRunAt: iso, quarantined: 0 }
  expect(document).toMatchObject({
    status: 'ok',
    rooftops: {
      'rooftop-1': {
        streams: {
          // By the source's clock, whatever ours says.
          users: { ...good, coveredTo: '2026-03-10T06:30:00.000Z' },
          evaluations: { ...good, coveredTo: '2026-03-10T06:30:00.000Z' },
          pricing: { ...good, coveredTo: '2026-03-10T06:30:00.000Z' },
        },
      },
    },
    running: [],
    missingNames: null,
    jobs: {},
    links: {},
    spend: {},
  })
  // A job that the config gives nothing to do is off, and says why.
  const text = JSON.stringify(document)
  const off = ['lake.to is not set', 'stock.inbox names no folder']
  expect([...text.matchAll(/"error":"([^"]*)"/g)].map(([, reason]) => reason)).toEqual(off)
  expect(text.match(/error/g)).toHaveLength(off.length)
})

test('status says what is missing and why, exit 1', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { world, faults } = fixture.sandbox

  const never = await warehouse.json(['status'])
  world.poison(1002, { UpdatedAt: 'never' })
  const users = faults.add({ match: { path: '/getuserlist' }, fault: { kind: 'html' } })
  await warehouse.night()
  const broken = await warehouse.json(['status'])

  expect(never).toMatchObject({ code: 1, document: { status: 'missed' } })
  const untouched = {
    status: 'never',
    coveredTo: null,
    error: expect.stringContaining('no run has finished yet'),
  }
  expect(never.document['rooftops']!['rooftop-1']!['streams']).toMatchObject({
    users: untouched,
    evaluations: untouched,
  })
  expect(users.hits).toBeGreaterThan(0)
  expect(broken).toMatchObject({ code: 1, document: { status: 'missed' } })
  expect(broken.document['rooftops']!['rooftop-1']!['streams']).toMatchObject({
    users: { status: 'failed', error: expect.stringMatching(/getuserlist.*web page, not JSON/) },
    evaluations: {
      status: 'partial',
      quarantined: 1,
      error: expect.stringContaining('1 in quarantine'),
    },
  })
})

test('before sync.start, nothing is missing and no cure is named', async () => {
  // Past by our clock, and in the future of the source.
  await using fixture = await openChildFixture({ ...smallFixture(), sync: { start: '2026-03-20' } })
  await using warehouse = await fixture.warehouse()
  await warehouse.night(allStreams)

  const { code, document } = await warehouse.json(['status'])

  expect([code, document['status']]).toEqual([0, 'ok'])
  expect(document['rooftops']!['rooftop-1']!['streams']!['evaluations']).toMatchObject({
    ...{ status: 'ok', gaps: 0, coveredTo: null, reasons: [] },
  })
})

test('status names a run that has not ended', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  await warehouse.database.pool.query("update ops.run set status = 'running'")

  const { stdout } = await warehouse.run(['status'])

  expect(stdout).toMatch(/Not ended: run 1 \(sync\), since 20\d\d-.*, process \d+ on /)
})

test('status names a window that is gone from the ledger once it was verified, until it is right again', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night(allStreams)
  await warehouse.database.pool.query(
    `delete from ops.window_certificate where window_from = '2026-03-04T00:00:00Z'`,
  )

  const before = await warehouse.run(['status'])
  const verified = await warehouse.run(['status', '--verify'])
  const { code, stdout } = await warehouse.run(['status'])
  await warehouse.night(allStreams)
  const repaired = await warehouse.run(['status'])
  const after = await warehouse.run(['status', '--verify'])

  expect(before.code).toBe(0)
  expect(flat(before.stdout)).toContain('not verified yet: run "forecourt verify"')
  expect([verified.code, code, repaired.code]).toEqual([1, 1, 1])
  expect(verified.stdout).toBe(stdout)
  expect(stdout).toContain('Not fresh or not complete:')
  expect(flat(stdout)).toContain(
    'evaluations of Rooftop One: the last verification found a fault Rooftop One: the last verification found: 1 certificate cannot be right (see "forecourt verify") Cure: Run "forecourt verify": it names what differs and what sets it right.',
  )
  expect(after.code).toBe(0)
  expect(flat(after.stdout)).toMatch(
    /evaluations: 1 of 1 rooftop fresh, complete to \S+ \S+ UTC, verified at \S+ \S+ UTC/,
  )
})

test('status names a new time zone for a month', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  const changed = (ago: string) =>
    warehouse.database.pool.query(
      `update core.rooftop set previous_time_zone = 'UTC', time_zone_changed_at = now() - interval '${ago}'`,
    )

  await changed('29 days')
  const recent = await warehouse.run(['status'])
  await changed('31 days')
  const old = await warehouse.run(['status'])

  expect(flat(recent.stdout)).toMatch(
    /: time zone changed from UTC to Australia\/Sydney at 20\d\d-.*; its local days and sums were calculated again/,
  )
  expect(old.stdout).not.toContain('time zone')
})

test('a first load names the settings that may have another path, and status the columns that no answer fills, until the config has their names', async () => {
  const { wire: theirs, decoys } = otherNames(10)
  const wire = {
    ...theirs,
    appraisal: { ...theirs.appraisal, evalList: defaultWire.appraisal.evalList },
  }
  const size = { seed: 10, rooftops: 2, evaluations: 60, days: 20, now }
  await using sandbox = await startSandbox({
    ...{ ...size, wire, decoys, clock: new VirtualClock({ start: now, frozen: true }) },
  })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const run = async (words: readonly string[], settings = {}) => {
    const config = {
      ...{ ...sandbox.clientConfig(), warehouse: { url: database.url } },
      ...{ sync: { start: '2026-02-18' }, ...settings },
    }
    await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
    return await runInProcess(words, { cwd: folder.path })
  }

  const first = await run(['sync', 'evaluations'])
  const again = await run(['sync', 'evaluations'])
  const text = await run(['status'])
  const { missingNames } = JSON.parse((await run(['status', '--json'])).stdout)
  const corrected = JSON.parse((await run(['status', '--json'], { wire })).stdout)

  const reported = /1\d of 18 columns of evaluations are empty/
  expect([first.code, again.code]).toEqual([0, 0])
  expect(flat(first.stdout)).toMatch(reported)
  expect(flat(first.stdout)).toMatch(
    /\d+ settings may have another path at this service: wire\.appraisal\.evaluation\.\w+, /,
  )
  expect(again.stdout).not.toContain('columns')
  expect(flat(text.stdout)).toMatch(reported)
  expect(missingNames).toMatchObject({ names: expect.arrayContaining(['make']), configured: 18 })
  expect(corrected.missingNames).toBe(null)
})
