import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WrongAggregate } from '#src/sync/verify/verify-aggregates.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { configText, openChildFixture } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { smallFixture } from './sync-fixture.ts'

const day = { from: '2026-03-04T00:00:00.000Z', until: '2026-03-05T00:00:00.000Z' }

/** The commands of `forecourt` that an output names, in order. */
function printedCommands(stdout: string): string[] {
  return [...stdout.matchAll(/(?:run|then) "forecourt ([^"]+)"/g)].map(([, text]) => text!)
}

test('verify --json proves a good warehouse and counts what it proved', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()

  const { code, document } = await warehouse.json(['verify'])

  expect(code).toBe(0)
  expect(document).toStrictEqual({
    status: 'ok',
    gaps: 0,
    unlisted: 0,
    overlaps: 0,
    rooftops: [
      {
        rooftop: 'rooftop-1',
        stream: 'evaluations',
        ...{ windows: 10, listed: 6, loaded: 6, quarantined: 0, vanished: 0 },
        ...{
          gaps: [],
          unlisted: [],
          overlaps: [],
          brokenSums: [],
          uncertified: [],
          unprovable: [],
        },
        ...{ notStored: [], orphans: 0 },
      },
    ],
    duplicates: [],
    aggregates: [],
    values: { compared: 0, since: null, restBy: expect.any(String), differences: [] },
    deep: null,
    rows: null,
  })
})

test('the command that verify prints for a gap before sync.start closes it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  // What a backfill leaves that was stopped.
  await warehouse.database.pool.query(
    "update ops.coverage set wanted = wanted + tstzmultirange(tstzrange('2026-02-20Z', '2026-02-22Z'))",
  )

  const { stdout } = await warehouse.run(['verify'])
  const [command] = printedCommands(stdout)
  const status = await warehouse.run(['status'])

  expect(command).toBe(
    'backfill evaluations --from 2026-02-20T00:00:00.000Z --to 2026-02-22T00:00:00.000Z --rooftop rooftop-1',
  )
  expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Cure: No sync reads before sync.start. Run "forecourt backfill --resume" where a backfill was stopped, else the commands that "forecourt verify" prints.',
  )
  expect(await warehouse.run(command!.split(' '))).toMatchObject({ code: 0 })
  expect(await warehouse.run(['verify'])).toMatchObject({ code: 0 })
})

test('verify names an evaluation of two dealer groups, and a config that puts them into one is refused until it is set back', async () => {
  const uids = ['one', 'two']
  const world = worldOf({
    rooftops: uids.map((uid, index) => aRooftop({ uid, dealerId: 101 + index, groupId: uid })),
    evaluations: uids.map((uid, index) => anEvaluation({ evalId: 1001 + index, rooftopUid: uid })),
    keys: uids.map((uid) => aKey({ name: uid, value: uid, rooftopUids: [uid] })),
  })
  const options = smallFixture(world)
  await using fixture = await openChildFixture(options)
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  const { database } = warehouse
  // As where both rooftops are of one group at the service, which lists an evaluation for each.
  await database.pool.query(
    'update core.evaluation set eval_id = 1001, created_at = (select created_at from core.evaluation where eval_id = 1001) where eval_id = 1002',
  )
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const config = JSON.parse(configText(fixture.sandbox, database.url, options))
  const syncWith = async (groups: readonly string[]) => {
    const rooftops = (config.rooftops as object[]).map((one, at) => ({
      ...one,
      group: groups[at]!,
    }))
    await writeFile(file, JSON.stringify({ ...config, rooftops }))
    return await runInProcess(['--config', file, 'sync'], { cwd: folder.path })
  }
  const groupsNow = async () =>
    (
      await database.pool.query<{ code: string }>(
        'select group_code as code from core.rooftop join core.rooftop_group using (group_id) order by rooftop_uid',
      )
    ).rows.map(({ code }) => code)
  const [one, two] = await groupsNow()

  const { stdout } = await warehouse.run(['verify'])
  const joined = await syncWith([two!, two!])
  const checked = await runInProcess(['--config', file, 'check'], { cwd: folder.path })
  const renamed = await syncWith(['another', 'another'])

  expect(stdout).toContain(
    'evaluation 1001 is stored under rooftops one and two, which are of one dealer group: load both into a new warehouse (warehouse.url) with the same group:, as group: cannot change here',
  )
  expect(joined).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `Rooftop one cannot move to dealer group ${two}: two has one evaluation of it too (e.g. 1001), and a group stores an evaluation once. Set its group: back to ${one}, or load both rooftops into a new warehouse`,
    ),
  })
  expect(checked.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Rooftop one cannot move to dealer group',
  )
  expect(renamed).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot move') })
  expect(await groupsNow()).toEqual([one, two])
  expect(await syncWith([one!, two!])).not.toMatchObject({ code: 2 })
})

test('of evaluations that two groups have, verify prints the first ones and how many more there are', {
  tags: 'ci',
}, async () => {
  const rooftops = ['one', 'two'].map((uid) => aRooftop({ uid, groupId: uid }))
  const keys = rooftops.map(({ uid }) => aKey({ name: uid, value: uid, rooftopUids: [uid] }))
  const ids = Array.from({ length: 60 }, (_, at) => 1001 + at)
  const evaluations = ids.map((evalId) =>
    anEvaluation({ evalId, rooftopUid: 'one', createdAt: '2026-03-02T01:00:00Z' }),
  )
  await using fixture = await openChildFixture(
    smallFixture(worldOf({ rooftops, keys, evaluations })),
  )
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  const { pool } = warehouse.database
  const { rows } = await pool.query<{ names: string }>(
    `select string_agg('e.' || attname, ', ') as names from pg_attribute
     where attrelid = 'core.evaluation'::regclass and attnum > 0 and attgenerated = '' and attname not in ('rooftop_id', 'group_id')`,
  )
  const { names } = rows[0]!
  await pool.query(
    `insert into core.evaluation (rooftop_id, group_id, ${names.replaceAll('e.', '')})
     select r.rooftop_id, r.group_id, ${names} from core.evaluation as e join core.rooftop as r on rooftop_uid = 'two'`,
  )

  const { stdout } = await warehouse.run(['verify'])
  const { document } = await warehouse.json(['verify'])

  expect(stdout.match(/evaluation \d+ is stored under rooftops one and two/g)).toHaveLength(50)
  expect(stdout).toContain('\n  and 10 more (--json lists them)\n')
  expect(document['duplicates']).toHaveLength(60)
})

test('verify finds every hole that is made behind its back', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await warehouse.night()
  // A lost record, a lost certificate, a certificate that reaches into the next window, a child without its record.
  await pool.query(`delete from core.evaluation where eval_id = 1003`)
  await pool.query(`delete from ops.window_certificate where window_from = '2026-03-06T00:00:00Z'`)
  await pool.query(`update ops.window_certificate set window_until = '2026-03-03T12:00:00Z'
    where window_from = '2026-03-02T00:00:00Z'`)

  const { code, document } = await warehouse.json(['verify'])

  expect(code).toBe(1)
  expect(document).toMatchObject({
    status: 'failed',
    gaps: 1,
    overlaps: 1,
    rooftops: [
      {
        gaps: [{ from: '2026-03-06T00:00:00.000Z', until: '2026-03-07T00:00:00.000Z' }],
        overlaps: [{ from: '2026-03-03T00:00:00.000Z', until: '2026-03-03T12:00:00.000Z' }],
        uncertified: [{ from: '2026-03-06T00:00:00.000Z', until: '2026-03-07T00:00:00.000Z' }],
      },
    ],
  })
  const mismatch = { ...day, isCertified: true, missing: [1003], unexpected: [] }
  expect([...document['rooftops']![0]!['notStored']!]).toContainEqual(mismatch)
  expect(document['rooftops']![0]!['orphans']).toBeGreaterThan(0)
  const { stdout } = await warehouse.run(['verify'])
  expect(stdout).toMatch(/^NOT PROVED: 1 gaps, 1 overlaps/)
  expect(stdout).toContain(
    '2026-03-04 00:00:00 UTC to 2026-03-05 00:00:00 UTC: rows differ from the certificate (missing: 1003): run "forecourt sync", which reads this window again, then "forecourt verify"',
  )
  expect(stdout).toContain('covered without a certificate: run "forecourt sync"')
  expect(stdout).toMatch(
    /child rows without their record: run "forecourt sync", then "forecourt replay evaluations --rooftop rooftop-1", then "forecourt verify"\. What is left then .*delete it \(.*core\.photo.*; ids 1003\)/,
  )

  const before = await warehouse.run(['status'])
  const commands = printedCommands(stdout)
  // What lists comes before what reads the payloads, and that before the proof.
  const order = ['sync', 'replay evaluations --rooftop rooftop-1', 'verify']
  const codes = []
  for (const command of order) codes.push((await warehouse.run(command.split(' '))).code)
  const after = await warehouse.run(['status'])

  expect(commands).toEqual(expect.arrayContaining(order))
  expect(codes).toEqual([0, 0, 0])
  expect(before.stdout).toContain('the last verification found')
  expect(after.stdout).not.toContain('the last verification found')
})

test('verify proves nothing while a run has spans left to list', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const held = fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 120_000 },
  })

  const night = warehouse.night()
  await expect.poll(() => held.hits).toBeGreaterThan(0)
  const { code, stdout } = await warehouse.run(['verify'])
  const { document } = await warehouse.json(['verify'])
  held.remove()
  await night

  expect(code).toBe(1)
  expect(stdout).toMatch(/^NOT COMPLETE YET: 0 gaps, 0 overlaps, 1 span not listed yet; listed =/)
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'evaluations: 2026-03-01 00:00:00 UTC to 2026-03-10 06:30:00 UTC: not listed yet: a run is at work on it',
  )
  expect(document).toMatchObject({ status: 'incomplete', gaps: 0, unlisted: 1 })
  expect(await warehouse.json(['verify'])).toMatchObject({ code: 0, document: { status: 'ok' } })
})

test('verify does not claim sums that do not add up', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  await warehouse.database.pool.query(
    "update ops.window_certificate set listed = listed + 1 where window_from = '2026-03-04T00:00:00Z'",
  )

  const { stdout } = await warehouse.run(['verify'])

  expect(stdout).toMatch(/^NOT PROVED: 0 gaps, 0 overlaps\.\n/)
})

test('verify names the sums that differ from the facts, and replay makes them right', {
  tags: 'ci',
}, async () => {
  const rooftops = ['one', 'two', 'three'].map((uid, index) =>
    aRooftop({ uid, dealerId: 101 + index, groupId: uid === 'three' ? 'other' : 'group-1' }),
  )
  const evaluations = rooftops.flatMap(({ uid }, index) =>
    [1, 2, 3].map((day) =>
      anEvaluation({
        ...{ evalId: 1000 * (index + 1) + day, rooftopUid: uid },
        createdAt: `2026-03-0${day + 1}T01:00:00Z`,
        reconditioning: [{ type: 'tyres', source: null, cost: 400, value: '4' }],
      }),
    ),
  )
  const keys = [
    aKey({ name: 'first', value: 'key-of-the-first', rooftopUids: ['one', 'two'] }),
    aKey({ name: 'second', value: 'key-of-the-second', rooftopUids: ['three'] }),
  ]
  await using fixture = await openChildFixture(
    smallFixture(worldOf({ rooftops, evaluations, keys })),
  )
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await warehouse.night()
  await pool.query(`
    insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at)
    select rooftop_id, min(eval_id), 'ppsr', 'C', min(group_id), min(vin), now() from core.evaluation where rooftop_id = 3 group by 1;
    insert into pii.signed_link values (3, (select eval_id from core.vehicle_check), 'ppsr_pdf', 'C', 'https://pdf.example.com/', now(), now() + interval '7 days')`)
  await pool.query('update pii.signed_link set is_in_scope = false')
  await pool.query('update core.agg_evaluation_day set photos = photos + 1')
  await pool.query('delete from core.agg_recon_day where rooftop_id = 1')
  await pool.query('update core.agg_appraisal set appraised_price = 1 where rooftop_id = 3')
  await pool.query(
    `insert into core.agg_repeat_vehicle
     select distinct group_id, 'WBA00000000000000', 'AUD', 2, 1, date '2026-03-01', date '2026-03-01' from core.rooftop`,
  )
  await pool.query(`
    update core.vehicle set evaluations = evaluations + 1 where group_id = 1;
    delete from core.vehicle where group_id = 2`)
  await pool.query(`
    delete from ops.new_to_pricing where rooftop_id = 2;
    insert into ops.new_to_pricing values (3, 5)`)
  const facts = 'select * from core.evaluation order by rooftop_id, eval_id'
  const before = (await pool.query(facts)).rows

  const { code, document } = await warehouse.json(['verify'])
  const { stdout } = await warehouse.run(['verify'])
  const wrong = document['aggregates'] as unknown as readonly WrongAggregate[]
  const commands = [...new Set(printedCommands(stdout))]
  const codes = []
  for (const command of commands) codes.push((await warehouse.run(command.split(' '))).code)
  const repaired = await warehouse.json(['verify'])

  expect(code).toBe(1)
  expect(wrong.map(({ aggregate, of }) => `${aggregate} ${of}`).sort()).toEqual([
    'agg_appraisal three',
    ...['one', 'three', 'two'].map((uid) => `agg_evaluation_day ${uid}`),
    'agg_recon_day one',
    ...['agg_repeat_vehicle key:first', 'agg_repeat_vehicle key:second'],
    ...['new_to_pricing three', 'new_to_pricing two'],
    'signed_link key:second',
    ...['vehicle key:first', 'vehicle key:second'],
  ])
  expect(stdout).not.toContain('select')
  expect(stdout).toContain(
    `What is due for Pricing AI differs from the facts of 3 evaluations: run "forecourt replay evaluations --rooftop two", then "forecourt verify --rooftop two"`,
  )
  expect(stdout).toMatch(/ids and sums of 30 windows: not equal; values of no rows yet/)
  // The values first: a sum that differs may be right, and its row wrong.
  expect(commands.slice(0, 3)).toEqual([
    expect.stringMatching(/^verify --rows --rooftop one --from 2026-03-0\d --to 2026-03-0\d$/),
    'replay evaluations pricing --rooftop one',
    'verify --rooftop one',
  ])
  expect(commands).toContain('verify --rows --rooftop one --rooftop two')
  expect(codes).not.toContain(2)
  expect(repaired).toMatchObject({ code: 0, document: { status: 'ok', aggregates: [] } })
  expect((await pool.query(facts)).rows).toEqual(before)
})

test('verify reports rooftops that no sync has seen as gaps, and stores what it found at the others', {
  tags: 'ci',
}, async () => {
  const rooftops = ['one', 'two', 'three'].map((uid, index) =>
    aRooftop({ uid, dealerId: 101 + index, groupId: uid === 'three' ? 'other' : 'group-1' }),
  )
  const evaluations = rooftops.map(({ uid }, index) =>
    anEvaluation({ evalId: 1001 + index, rooftopUid: uid }),
  )
  const keys = [
    aKey({ name: 'first', value: 'key-of-the-first', rooftopUids: ['one', 'two'] }),
    aKey({ name: 'second', value: 'key-of-the-second', rooftopUids: ['three'] }),
  ]
  const world = worldOf({ rooftops, evaluations, keys })
  await using fixture = await openChildFixture(smallFixture(world))
  await using warehouse = await fixture.warehouse()
  const gap = { from: '2026-03-01T00:00:00.000Z', until: expect.any(String) }

  for (const options of [[], ['--rows'], ['--deep']]) {
    const before = await warehouse.json(['verify', ...options])
    expect(before).toMatchObject({ code: 1, document: { status: 'failed', gaps: 3 } })
  }
  // A registered rooftop, in a database in which the others were never seen.
  await warehouse.night()
  const { pool } = warehouse.database
  await pool.query(
    `update core.rooftop set rooftop_uid = 'former-' || rooftop_uid where rooftop_uid in ('two', 'three')`,
  )
  for (const options of [[], ['--rows'], ['--deep'], ['--rooftop', 'three']]) {
    const { code, document } = await warehouse.json(['verify', ...options])
    expect(code).toBe(1)
    expect(document['rooftops']).toMatchObject(
      options[0] === '--rooftop'
        ? [{ rooftop: 'three', gaps: [gap] }]
        : [
            { rooftop: 'one', gaps: [] },
            { rooftop: 'two', gaps: [gap] },
            { rooftop: 'three', gaps: [gap] },
          ],
    )
  }
  const { rows } = await pool.query('select rooftop_id, fault from ops.verification')
  expect(rows).toEqual([{ rooftop_id: 1, fault: null }])
})

test('verify with a read-only login reports what it found, and says that coverage was left as it is', async () => {
  const { sandbox, sync } = smallFixture()
  await using fixture = await openFixture({ sandbox, sync })
  const { pool, url } = fixture.database
  await fixture.night()
  await pool.query(`delete from core.evaluation where eval_id = 1003`)
  const login = `reader_${randomBytes(4).toString('hex')}`
  await pool.query(
    `create role ${login} login password 'canary-password'; grant pg_read_all_data to ${login}`,
  )
  await using folder = await temporaryFolder()
  const readerUrl = Object.assign(new URL(url), {
    username: login,
    password: 'canary-password',
  }).href
  const { sandbox: source } = fixture
  const config = configText(source, readerUrl, { sandbox, sync })
  await writeFile(join(folder.path, 'forecourt.yaml'), config)

  const json = await runInProcess(['verify', '--json'], { cwd: folder.path })
  const { code, stdout, stderr } = await runInProcess(['verify'], { cwd: folder.path })
  const { rows } = await pool.query(
    `select covered @> '2026-03-04T12:00:00Z'::timestamptz as covered from ops.coverage`,
  )
  await pool.query(`drop role ${login}`)

  expect(json.code).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject({
    status: 'failed',
    rooftops: [{ notStored: [{ missing: [1003] }] }],
    coverageRefused: { login, reason: expect.stringContaining('permission denied') },
  })
  expect(JSON.parse(json.stdout).coverageRefused.logins).not.toHaveLength(0)
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/1003.*it was not taken out of coverage, see below/)
  expect(stdout).toContain(`NOT taken out of coverage: login ${login} cannot write`)
  expect(rows).toEqual([{ covered: true }])
})

test('a wrong price is not hidden by a rebuild of the sums, and the commands that are printed set it right', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await warehouse.night()
  const truth = (await pool.query('select final_price from core.evaluation where eval_id = 1003'))
    .rows
  await pool.query('update core.evaluation set final_price = 1 where eval_id = 1003')

  const atOnce = await warehouse.run(['verify'])
  await pool.query('select core.agg_rebuild(1), core.vehicle_rebuild(1)')
  await warehouse.run(['verify', '--rows', '--json'])
  const afterwards = await warehouse.run(['verify'])
  const status = await warehouse.run(['status'])
  const cure = printedCommands(afterwards.stdout)
  const codes = []
  for (const command of cure) codes.push((await warehouse.run(command.split(' '))).code)
  const { stdout } = await warehouse.run(['verify'])

  expect(atOnce.stdout).toMatch(
    /Sums differ from the rows: core\.agg_appraisal of rooftop-1 \(1 day\), .* A row may be wrong, or the sum: run "forecourt verify --rows/,
  )
  expect([afterwards.code, status.code]).toEqual([1, 1])
  expect(afterwards.stdout).toMatch(
    /Rooftop One \(rooftop-1\) evaluations: the values of 1 record differ .* \(1003: core\.evaluation \(final_price\)\)/,
  )
  expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'the values of 1 record differ from the payloads',
  )
  expect(cure).toEqual([
    'verify --rows --rooftop rooftop-1',
    'replay evaluations --rooftop rooftop-1',
    'verify --rooftop rooftop-1',
  ])
  expect(codes).toEqual([1, 0, 0])
  expect(stdout).toMatch(
    /ids and sums of 10 windows: equal; values of all rows compared since 20[0-9-]+ [0-9:]+ UTC/,
  )
  expect(
    (await pool.query('select final_price from core.evaluation where eval_id = 1003')).rows,
  ).toEqual(truth)
})

test('a price changed by hand leads from the sum to the row and to the right value by the commands that are printed', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await warehouse.night()
  await pool.query('update core.evaluation set final_price = 1 where eval_id = 1003')

  const wrong = await warehouse.run(['verify'])
  const results = []
  for (const command of printedCommands(wrong.stdout))
    results.push(await warehouse.run(command.split(' ')))
  const { code, document } = await warehouse.json(['verify'])

  expect(results.map((result) => result.code)).toEqual([1, 0, 0])
  expect(results[0]!.stdout).toMatch(
    /payloads of \d records: 1 differ\.\n.*eval_id 1003; final_price is 1\.000, not /,
  )
  expect({ code, document }).toMatchObject({ code: 0, document: { status: 'ok', aggregates: [] } })
})

test.each([
  [['--from', '2026-03-01', '--to', '2026-03-02'], '--from and --to need --rows.'],
  [['--rows', '--from', '2026-03-01'], '--from and --to need each other.'],
  [
    ['--rows', '--from', '2026-02-30', '--to', '2026-03-02'],
    '--from 2026-02-30 is not a day, e.g. 2026-03-01.',
  ],
])('verify %j is refused with what to do', async (options, message) => {
  await using folder = await temporaryFolder()

  const { code, stderr } = await runInProcess(['verify', ...options], { cwd: folder.path })

  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
})

test('verify --rows with a read-only login names what differs without personal data, and replay sets it right', {
  tags: 'ci',
}, async () => {
  const { sandbox, sync } = smallFixture()
  await using fixture = await openFixture({ sandbox, sync })
  const { pool, url } = fixture.database
  await fixture.night()
  await pool.query(`update core.evaluation set final_price = 1 where eval_id = 1003;
    update pii.evaluation_customer set phone = '0491 570 999' where eval_id = 1003;
    delete from pii.evaluation_customer where eval_id = 1004`)
  const login = `reader_${randomBytes(4).toString('hex')}`
  await pool.query(
    `create role ${login} login password 'canary-password'; grant pg_read_all_data to ${login}`,
  )
  await using folder = await temporaryFolder()
  const readerUrl = Object.assign(new URL(url), {
    username: login,
    password: 'canary-password',
  }).href
  const { sandbox: source } = fixture
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, configText(source, readerUrl, { sandbox, sync }))
  const run = async (...args: string[]) => await runInProcess(args, { cwd: folder.path })

  const all = await run('verify', '--rows', '--json')
  const { code, stdout, stderr } = await run('verify', '--rows')
  const sampled = await run('verify', '--rows', '--sample', '100')
  await pool.query(`drop role ${login}`)
  await writeFile(file, configText(source, url, { sandbox, sync }))
  const replayed = await run('replay')
  const repaired = await run('verify', '--rows')

  expect([all.code, code, stderr, sampled.code]).toEqual([1, 1, '', 1])
  const document = JSON.parse(all.stdout)
  expect(document).toMatchObject({ status: 'failed', rows: { sample: null, differing: 3 } })
  expect(document.rows.rows[0]).toMatchObject({
    ...{ stream: 'evaluations', table: 'core.evaluation', kind: 'changed' },
    key: { eval_id: 1003 },
    columns: [{ column: 'final_price', stored: '1.000' }],
  })
  expect(stdout).toContain('3 differ')
  expect(stdout).toMatch(/core\.evaluation eval_id 1003; final_price is 1\.000, not \d+\.000/)
  expect(stdout).toContain('pii.evaluation_customer eval_id 1003; phone is (hidden), not (hidden)')
  expect(stdout).toContain('pii.evaluation_customer eval_id 1004 is missing')
  expect(stdout).toContain(
    'Run "forecourt replay evaluations" to set them right, then "forecourt verify".',
  )
  expect(`${all.stdout}${stdout}`).not.toContain('0491')
  expect(sampled.stdout).toMatch(/taken at random with --seed [0-9a-f]{8}: 3 differ/)
  expect([replayed.code, repaired.code]).toEqual([0, 0])
  expect(repaired.stdout).toContain(': 0 differ.')
})

test('verify --rows counts by column the records that differ, where they are many, and prints a few', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  const { pool } = warehouse.database
  await pool.query(`update core.evaluation set make = null, colour = 'x', model = 'x', variant = 'x';
    update core.evaluation set final_price = 1 where eval_id < 1003; delete from core.photo where eval_id = 1004`)

  const { code, stdout } = await warehouse.run(['verify', '--rows'])
  const { document } = await warehouse.json(['verify', '--rows'])

  expect(code).toBe(1)
  const [, text] = stdout.split(': 8 differ.\n') as [string, string]
  const lines = text.split('\n').map((line) => line.trim().split(/ {2,}/))
  const column = (name: string, records: string) => [`core.evaluation.${name}`, records, '6']
  expect(lines[0]).toEqual(['column', 'records', 'of'])
  expect(lines.slice(1, 5).sort()).toEqual(
    ['colour', 'make', 'model', 'variant'].map((name) => column(name, '6')),
  )
  expect(lines.slice(5, 8)).toEqual([
    column('final_price', '2'),
    ['core.photo: is missing', '1', '6'],
    ['The first rows:'],
  ])
  expect(lines[8]).toEqual([
    expect.stringMatching(/ evaluations: core\.evaluation eval_id 1001; .*; and 2 more$/),
  ])
  expect(lines.slice(13, 15)).toEqual([
    ['and 3 more (--json lists them)'],
    [expect.stringMatching(/^Run "forecourt replay evaluations" to set them right, then/)],
  ])
  expect(document['rows']!['rows']).toHaveLength(8)
  expect(document['rows']!['columns']).toContainEqual({
    ...{ stream: 'evaluations', table: 'core.evaluation', kind: 'changed' },
    ...{ column: 'final_price', records: 2, compared: 6 },
  })
})

test('verify --deep finds an evaluation that the source has and the warehouse lacks', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()
  fixture.sandbox.world.add(anEvaluation({ evalId: 1050, createdAt: '2026-03-04T05:00:00Z' }))

  const shallow = await warehouse.json(['verify'])
  const reads = fixture.sandbox.requests.count('/geteval')
  const deep = await warehouse.json(['verify', '--deep'])

  expect(shallow.code).toBe(0)
  expect(deep).toMatchObject({
    code: 1,
    document: {
      status: 'failed',
      gaps: 0,
      deep: [
        {
          rooftop: 'rooftop-1',
          stream: 'evaluations',
          windows: 10,
          missing: ['1050'],
          notConserved: [],
        },
      ],
    },
  })
  expect(fixture.sandbox.requests.count('/geteval')).toBe(reads)
  await warehouse.night()
  expect((await warehouse.json(['verify', '--deep'])).document['status']).toBe('ok')
})

test('verify --deep finds a window whose list the source now cuts', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  for (const [evalId, hour] of [
    [1050, 15],
    [1051, 16],
  ] as const)
    fixture.sandbox.world.add(anEvaluation({ evalId, createdAt: `2026-03-04T${hour}:00:00Z` }))
  await warehouse.night()
  fixture.sandbox.faults.add({ fault: { kind: 'listCap', cap: 2, order: 'newest' } })

  const { code, document } = await warehouse.json(['verify', '--deep'])

  expect(code).toBe(1)
  expect(document['deep']).toMatchObject([{ missing: [], notConserved: [day] }])
})
