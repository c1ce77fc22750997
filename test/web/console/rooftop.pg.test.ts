import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { leaksIn } from './leaks.ts'
import { statementsOf } from './statements.ts'

let console: ConsoleFixture
let own: { id: number; uid: string; name: string; zone: string; key: string }

beforeAll(async () => {
  // Without a fraction of a second, which the clock of the service does not have.
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const start = new Date(now.getTime() - 8 * dayMs).toISOString()
  const sandbox = { seed: 7, evaluations: 60, days: 8, now }
  const fixture = await openFixture({ sandbox, sync: { start }, streams: allStreams })
  await fixture.night()
  console = await openConsole({ fixture })
  const { uid, name, timezone: zone, key } = console.config.rooftops[2]!
  const [{ id }] = (await console.rows(
    'select rooftop_id as id from core.rooftop where rooftop_uid = $1',
    [uid],
  )) as [{ id: number }]
  own = { id, uid, name, zone, key }
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

test('each stream has its three clocks, in the zone of the rooftop', async () => {
  const { status, title, text } = await console.get(`/rooftops/${own.uid}`, { role: 'viewer' })
  const { states } = await console.json<{ states: { stream: string; lastGoodAt: string }[] }>(
    `/rooftops/${own.uid}`,
  )
  const expected = await console.rows<{ stream: string; at: Date }>(
    'select stream, max(finished_at) as at from ops.run_stream where rooftop_id = $1 group by 1',
    [own.id],
  )

  expect({ status, title }).toEqual({ status: 200, title: own.name })
  expect(text).toContain('How is this rooftop, stream by stream?')
  expect(text).toContain(`Times in ${own.zone}.`)
  expect(states).toHaveLength(5)
  for (const { stream, at } of expected)
    expect(new Date(states.find((one) => one.stream === stream)!.lastGoodAt)).toEqual(at)
  expect(text).toContain('None: everything that was asked for is listed.')
  expect(leaksIn(console.fixture, text)).toEqual([])
})

test('what is wrong is counted by cause, and each number leads to its records', async () => {
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
       select 'evaluations', ${own.id}, 'k' || n, '[{"path": "Odometer", "message": "is text"}]', 1 from generate_series(1, 3) as n;
     insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
       select ${own.id}, 'evaluations', 'k' || n, 'planted-check', 'a detail', 1 from generate_series(1, 4) as n;
     insert into ops.parked values ('${own.key}', 'vehicle-checks', now() + interval '5 hours', 'the daily quota is used up');
     update ops.coverage set wanted = wanted + tstzmultirange(tstzrange(lower(wanted) - interval '2 days', lower(wanted) - interval '1 day'))
       where rooftop_id = ${own.id}`,
  )
  const { text } = await console.get(`/rooftops/${own.uid}`)
  const { quarantine, warnings, gaps, keyState, states } = await console.json<{
    quarantine: { records: number; path: string }[]
    warnings: { cause: string; records: number; path: string }[]
    gaps: { from: string; until: string }[]
    keyState: { parked: { stream: string }[] }
    states: { stream: string; status: string; gaps: number; quarantined: number }[]
  }>(`/rooftops/${own.uid}`)

  expect(quarantine).toMatchObject([{ cause: 'Odometer: is text', records: 3 }])
  expect(quarantine[0]!.path).toMatch(/^\/quarantine\?cause=[0-9a-f]{12}&rooftop=/)
  expect(warnings).toContainEqual(
    expect.objectContaining({
      ...{ cause: 'planted-check', records: 4 },
      path: '/drift?stream=evaluations&check=planted-check',
    }),
  )
  expect(gaps).toHaveLength(1)
  expect(Date.parse(gaps[0]!.until) - Date.parse(gaps[0]!.from)).toBe(dayMs)
  expect(keyState.parked).toMatchObject([{ stream: 'vehicle-checks' }])
  expect(states.find(({ stream }) => stream === 'evaluations')).toMatchObject({
    ...{ status: 'partial', gaps: 1, quarantined: 3 },
  })
  expect(text).toContain('vehicle-checks: its daily quota is used up until')
  expect(text).toContain(`/console/quarantine?stream=evaluations&rooftop=${own.uid}`)
})

test('where only the newest records are grouped their counts say "at least", and each check is counted whole', async () => {
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
       select 'pricing', ${own.id}, 'old' || n, '[{"path": "Price", "message": "is old"}]', 1 from generate_series(1, 20) as n;
     insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
       select 'pricing', ${own.id}, 'new' || n, '[{"path": "Price", "message": "is new"}]', 1 from generate_series(1, 9990) as n;
     insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
       select ${own.id}, 'evaluations', 'a' || n, 'frequent-check', 'a detail', 1 from generate_series(1, 100000) as n;
     insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
       values (${own.id}, 'evaluations', 'z', 'rare-check', 'a detail', 1)`,
  )
  const from = performance.now()
  const { text } = await console.get(`/rooftops/${own.uid}`)
  const seconds = (performance.now() - from) / 1000
  const { warnings } = await console.json<{ warnings: { cause: string; records: number }[] }>(
    `/rooftops/${own.uid}`,
  )
  await console.rows(
    `delete from ops.quarantine where stream = 'pricing' and natural_key ~ '^(old|new)';
     delete from ops.data_quality where check_name in ('frequent-check', 'rare-check')`,
  )

  expect(text).toMatch(/Price: is new.*?>at least 9,990</s)
  expect(text).toMatch(/Price: is old.*?>at least 11</s)
  expect(text).toMatch(/Price: is old.*?<\/time> or before</s)
  expect(warnings).toContainEqual(
    expect.objectContaining({ cause: 'frequent-check', records: 100_000 }),
  )
  expect(warnings).toContainEqual(expect.objectContaining({ cause: 'rare-check', records: 1 }))
  expect(text).toMatch(/frequent-check.*?>100,000</s)
  expect(seconds).toBeLessThan(3)
})

test('today is no missed night before its run has ended', async () => {
  const nights = async () => {
    const { text } = await console.get(`/rooftops/${own.uid}`)
    const [, missed, strip] =
      /users<small>([^<]*(?:missed|ended))<\/small>.*?aria-label="([^"]*)"/s.exec(text)!
    return { missed, strip }
  }
  const move = async (days: number) =>
    await console.rows(
      `update ops.run set started_at = started_at + make_interval(days => ${days}), finished_at = finished_at + make_interval(days => ${days});
       update ops.run_stream set finished_at = finished_at + make_interval(days => ${days})`,
    )
  await move(-1)
  const before = await nights()
  await console.rows(
    `insert into ops.run (command, arguments, lane, is_detached, source_started_at)
       values ('sync', '{"mode": "sync"}', 'foreground', true, now());
     insert into ops.run_stream (run_id, rooftop_id, stream, status)
       select max(run_id), ${own.id}, 'users', 'running' from ops.run`,
  )
  const during = await nights()
  await console.rows(
    `update ops.run_stream set status = 'failed', finished_at = now() where run_id = (select max(run_id) from ops.run);
     update ops.run set status = 'failed', finished_at = now() where run_id = (select max(run_id) from ops.run)`,
  )
  const after = await nights()
  await console.rows(
    `delete from ops.run_stream where run_id = (select max(run_id) from ops.run);
     delete from ops.run where run_id = (select max(run_id) from ops.run)`,
  )
  await move(1)

  const strip = '1 night ok, 28 nights without a run'
  expect([before, during, after]).toEqual([
    { missed: '0 of 1 night missed', strip },
    { missed: '0 of 1 night missed', strip },
    { missed: '1 of 2 nights missed', strip: `1 night failed, ${strip}` },
  ])
})

test('a rooftop that is not in the config is not found', async () => {
  expect((await console.get('/rooftops/no-such-uid')).status).toBe(404)
})

test.each(['/', '/coverage', '/coverage?stream=users', '/coverage/:uid/:day', '/rooftops/:uid'])(
  'the page %s takes at most 12 statements',
  async (path) => {
    const day = new Date(Date.now() - 5 * dayMs).toISOString().slice(0, 10)
    const { answer, statements } = await statementsOf(
      console,
      path.replace(':uid', own.uid).replace(':day', day),
    )

    expect(answer.status).toBe(200)
    expect(statements.length).toBeGreaterThan(0)
    expect(statements.length).toBeLessThanOrEqual(12)
  },
)
