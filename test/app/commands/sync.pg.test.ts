import { expect, test } from 'vitest'
import { aKey, aRooftop, worldOf } from '../../support/build-world.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { counts, smallFixture } from './sync-fixture.ts'

const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('sync --json prints one document in the shape of the contract', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()

  const { code, document } = await warehouse.json(['sync'])

  expect(code).toBe(0)
  expect(document).toStrictEqual({
    runId: 1,
    status: 'ok',
    startedAt: iso,
    finishedAt: iso,
    streams: {
      evaluations: counts({
        listed: 6,
        hydrated: 6,
        inserted: 6,
        windows: 10,
        requests: expect.any(Number),
      }),
      pricing: counts({ listed: 6, hydrated: 6, inserted: 6, requests: 6 }),
      users: counts({ hydrated: 2, requests: 2 }),
      'vehicle-checks': counts({
        listed: expect.any(Number),
        hydrated: expect.any(Number),
        unchanged: expect.any(Number),
        requests: expect.any(Number),
        saved: expect.any(Number),
      }),
      'stock-prices': counts({}),
    },
    rooftops: { 'rooftop-1': { status: 'ok' } },
  })
})

test('sync without --json prints a table for people', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()

  const { code, stdout } = await warehouse.run(['sync', 'evaluations'])

  expect(code).toBe(0)
  expect(stdout).toMatch(/^Run 1: ok in [\d.]+ s\n/)
  expect(stdout).toMatch(/evaluations +6 +6 +6 +0/)
})

test('sync of one stream reads no other', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()

  const { document } = await warehouse.json(['sync', 'users', '--rooftop', 'rooftop-1'])

  expect(Object.keys(document['streams']!)).toEqual(['users'])
  expect(fixture.sandbox.requests.count('/getevallist')).toBe(0)
})

test('sync --dry-run prints the plan, calls nothing and writes no run', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()

  const { code, document } = await warehouse.json(['sync', '--dry-run'])

  expect(code).toBe(0)
  expect(document).toMatchObject({ dryRun: true, mode: 'sync', plan: expect.any(Array) })
  const plan = [...document['plan']!].find(({ stream }) => String(stream) === 'evaluations')
  expect(plan!['gap']).toBeGreaterThanOrEqual(10)
  expect(fixture.sandbox.requests.count()).toBe(0)
  const { rows } = await warehouse.database.pool.query('select from ops.run')
  expect(rows).toHaveLength(0)
})

test('a record that does not fit makes a sync partial, exit 1, and the rest lands', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  fixture.sandbox.world.poison(1003, { UpdatedAt: 'never' })

  const { code, document } = await warehouse.json(['sync'])

  expect([code, document['status']]).toEqual([1, 'partial'])
  expect(document['streams']!['evaluations']).toMatchObject({ inserted: 5, quarantined: 1 })
  expect(document['rooftops']).toEqual({
    'rooftop-1': {
      status: 'partial',
      error: 'evaluations: 1 in quarantine: see "forecourt quarantine list"',
    },
  })
})

test('a rooftop that the source refuses makes a sync of it alone fail with its reason', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  fixture.sandbox.faults.add({
    match: { rooftopUid: 'rooftop-1' },
    fault: { kind: 'status', status: 403 },
  })

  const { code, document } = await warehouse.json(['sync'])

  expect([code, document['status']]).toEqual([1, 'failed'])
  expect(document['rooftops']!['rooftop-1']).toEqual({
    status: 'failed',
    error: expect.stringMatching(/evaluations: .*403.*users: .*403/),
  })
})

test('a refused key of many rooftops is one cause in what a sync prints, in its text and in its log', {
  tags: 'ci',
}, async () => {
  const all = [1, 2, 3, 4, 5].map((number) =>
    aRooftop({ uid: `rooftop-${number}`, dealerId: 100 + number, name: `Rooftop ${number}` }),
  )
  const keys = [aKey({ name: 'au', value: '0f3a9c', rooftopUids: all.map(({ uid }) => uid) })]
  await using fixture = await openChildFixture(smallFixture(worldOf({ rooftops: all, keys })))
  await using warehouse = await fixture.warehouse()
  fixture.sandbox.faults.add({
    fault: { kind: 'status', status: 401, body: { error: 'Invalid API key' } },
  })

  const { code, stdout, stderr } = await warehouse.run(['sync'])
  const { document } = await warehouse.json(['sync'])

  expect(code).toBe(1)
  const flat = stdout.replaceAll(/\s+/g, ' ')
  expect(flat.match(/Invalid API key/g)).toHaveLength(1)
  expect(stderr.match(/Invalid API key/g)).toHaveLength(1)
  expect(flat).toContain(
    'at all 5 rooftops Stops evaluations, users of Rooftop 1, Rooftop 2, Rooftop 3, Rooftop 4 and Rooftop 5 The service answered 401',
  )
  // In the words of status: the setting, its file and the page.
  const { stdout: status } = await warehouse.run(['status'])
  const cure = /Cure: Correct the value of key au \(.*?README\.md\./
  expect(flat).toMatch(/Not complete: Key au is refused since 20[0-9 :-]+ UTC, at all 5 rooftops/)
  expect(flat.match(cure)?.[0]).toBe(status.replaceAll(/\s+/g, ' ').match(cure)?.[0])
  expect(flat).toMatch(cure)
  const missing = [...document['missing']!]
  expect(missing).toHaveLength(10)
  expect(new Set(missing.map(({ refusedKey }) => refusedKey))).toEqual(new Set(['appraisal/au']))
})

test('--log-level debug logs one line for each request, without keys and bodies', async () => {
  await using fixture = await openChildFixture(smallFixture(worldOf({ keys: [aKey()] })))
  await using warehouse = await fixture.warehouse()

  const { stderr } = await warehouse.run(['sync', 'users', '--log-level', 'debug'])

  const lines = stderr.split('\n').filter((line) => line.includes('"method"'))
  expect(lines).toHaveLength(fixture.sandbox.requests.count())
  const { level: _, time: __, ...logged } = JSON.parse(lines.at(-1)!)
  expect(logged).toEqual({
    method: 'POST',
    path: '/getuserlist',
    status: 200,
    ms: expect.any(Number),
    attempt: 1,
    keyName: 'partner',
    rooftopUid: 'rooftop-1',
    runId: 1,
    msg: 'POST /getuserlist',
  })
})
