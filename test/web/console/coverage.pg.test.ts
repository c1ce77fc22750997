import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDays, localDay, startOfDay } from '#src/values/instant.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { openWorker, untilRunsEnded } from './worker.ts'

let console: ConsoleFixture
/** In the order of the config; their zones differ. */
let rooftops: { id: number; uid: string; name: string; zone: string; group: string }[]

beforeAll(async () => {
  console = await openConsole()
  const ids = await console.rows<{ id: number; uid: string }>(
    'select rooftop_id as id, rooftop_uid as uid from core.rooftop',
  )
  rooftops = console.config.rooftops.map(({ uid, name, timezone: zone, group }) => ({
    ...{ uid, name, zone, group },
    id: ids.find((one) => one.uid === uid)!.id,
  }))
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

interface Span {
  readonly uid: string
  readonly state: string
  readonly from: string
  readonly until: string
}

interface Coverage {
  readonly spans: readonly Span[]
  readonly rooftops: readonly { readonly uid: string }[]
  readonly view: { readonly frame: { readonly from: string; readonly to: string } }
}

async function spansOf(uid: string, path = '/coverage'): Promise<string[]> {
  const { spans } = await console.json<Coverage>(path)
  return spans
    .filter((span) => span.uid === uid)
    .map(({ state, from, until }) =>
      [state, ...[from, until].map((at) => new Date(at).toISOString().slice(0, 16))].join(' '),
    )
}

/** The midnight (UTC) of some days ago. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
}

const minute = (day: string) => `${day}T00:00`

test('the spans of each rooftop are those of its certificates', async () => {
  const { title, text } = await console.get('/coverage', { role: 'viewer' })
  const { spans } = await console.json<Coverage>('/coverage')
  const seconds = (uid: string, state: string) =>
    spans
      .filter((span) => span.uid === uid && span.state === state)
      .reduce((sum, { from, until }) => sum + (Date.parse(until) - Date.parse(from)) / 1000, 0)
  const expected = await console.rows<{ uid: string; settled: number; provisional: number }>(
    `select rooftop_uid as uid, sum(extract(epoch from window_until - window_from)) filter (where settled)::float8 as settled,
       sum(extract(epoch from window_until - window_from)) filter (where not settled)::float8 as provisional
     from ops.window_certificate join core.rooftop using (rooftop_id) group by 1`,
  )

  expect(title).toBe('Coverage of evaluations')
  expect(text).toContain('Which days do I have, of every rooftop?')
  expect(expected).toHaveLength(6)
  for (const { uid, settled, provisional } of expected) {
    expect(settled).toBeGreaterThan(0)
    expect(seconds(uid, 'settled')).toBeCloseTo(settled, 0)
    expect(seconds(uid, 'provisional')).toBeCloseTo(provisional, 0)
  }
  expect(text.match(/<svg class="calendar"/g)).toHaveLength(6)
  expect(text).toContain('Nothing: everything that was asked for is loaded.')
})

test('a gap, quarantine, a doubt and the newest days are where they were planted, in any zone and group', async () => {
  const [day, next] = [daysAgo(6), daysAgo(5)]
  const window = (at: number) =>
    `rooftop_id = ${rooftops[at]!.id} and stream = 'evaluations' and window_from = '${day}Z'`
  await console.rows(`
    create table saved as select * from ops.window_certificate;
    create table saved_coverage as select * from ops.coverage;
    delete from ops.window_certificate where ${window(0)};
    update ops.coverage set covered = covered - '{[${day}Z,${next}Z)}' where rooftop_id = ${rooftops[0]!.id};
    insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id, window_from, window_until) values
      ('evaluations', ${rooftops[3]!.id}, 'a', '[]', 1, '${day}Z', '${next}Z'),
      ('evaluations', ${rooftops[3]!.id}, 'b', '[]', 1, '${day}Z', '${next}Z'),
      ('evaluations', ${rooftops[3]!.id}, 'c', '[]', 1, null, null);
    update ops.window_certificate set proof = 'unprovable', settled = false, window_until = window_from + interval '1 second' where ${window(5)};
    update ops.coverage set covered = covered - '{[${day}Z,${next}Z)}' where rooftop_id = ${rooftops[5]!.id}`)
  const [gap, quarantined, doubted] = await Promise.all(
    [0, 3, 5].map((at) => spansOf(rooftops[at]!.uid)),
  )
  const { text } = await console.get('/coverage')
  await console.rows(`
    truncate ops.window_certificate; insert into ops.window_certificate select * from saved;
    truncate ops.coverage; insert into ops.coverage select * from saved_coverage;
    delete from ops.quarantine; drop table saved; drop table saved_coverage`)
  const whole = await spansOf(rooftops[1]!.uid)

  expect(gap).toContain(`gap ${minute(day)} ${minute(next)}`)
  expect(gap!.at(-1)).toMatch(/^provisional /)
  expect(quarantined).toContain(`quarantine ${minute(day)} ${minute(next)}`)
  expect(quarantined!.some((span) => span.startsWith('gap'))).toBe(false)
  expect(doubted).toContain(`unprovable ${minute(day)} ${minute(day)}`)
  expect(doubted!.some((span) => span.startsWith('gap'))).toBe(true)
  expect(whole.map((span) => span.split(' ')[0])).toEqual(['settled', 'provisional'])
  // In words, for those who do not see the chart; the zone is that of the rooftop.
  expect(text).toContain('1 gap of 24 h, ')
  expect(text).toContain('2 in quarantine')
  expect(text).toContain('1 s cannot be proved complete')
  expect(text).toMatch(
    /<a href="\/console\/quarantine\?stream=evaluations">1 record<\/a> in quarantine without a window/,
  )
  const local = localDay(new Date(`${day}T00:00:00Z`), rooftops[0]!.zone)
  expect(text).toContain(`href="/console/coverage/${rooftops[0]!.uid}/${local}?stream=evaluations"`)
})

test('what a living run has still to list is not complete', async () => {
  const { id, uid } = rooftops[1]!
  const [from, until] = [daysAgo(20), daysAgo(18)]
  await console.rows(
    `update ops.coverage set wanted = wanted + '{[${from}Z,${until}Z)}' where rooftop_id = ${id};
     with run as (
       insert into ops.run (command, arguments, lane, source_started_at)
       values ('backfill', jsonb_build_object('mode', 'backfill', 'from', extract(epoch from '${from}Z'::timestamptz)::bigint,
         'until', extract(epoch from '${until}Z'::timestamptz)::bigint), 'background', now()) returning run_id)
     insert into ops.run_stream (run_id, rooftop_id, stream, status) select run_id, ${id}, 'evaluations', 'waiting' from run`,
  )
  const [spans, { text }, whole] = [
    await spansOf(uid),
    await console.get('/coverage'),
    await console.get(`/rooftops/${uid}`),
  ]
  await console.rows(
    `delete from ops.run_stream where run_id = (select max(run_id) from ops.run);
     delete from ops.run where run_id = (select max(run_id) from ops.run);
     update ops.coverage set wanted = wanted - '{[${from}Z,${until}Z)}' where rooftop_id = ${id}`,
  )

  expect(spans[0]).toBe(`unlisted ${minute(from)} ${minute(until)}`)
  expect(spans.some((span) => span.startsWith('gap'))).toBe(false)
  expect(text).toContain('<small>2 days not listed yet, ')
  expect(text).toContain('<span class="badge quiet">not listed yet</span>')
  expect(text).not.toContain('Nothing: everything that was asked for is loaded.')
  expect(whole.text).toContain('<span class="badge quiet">not listed yet</span>')
})

test('a group, another stream and another time can be chosen', async () => {
  const { group } = rooftops.at(-1)!
  const own = rooftops.filter((one) => one.group === group)
  const chosen = await console.json<Coverage>(`/coverage?group=${group}`)
  const [from, to] = [daysAgo(5), daysAgo(4)]
  const short = await spansOf(rooftops[0]!.uid, `/coverage?from=${from}&to=${to}`)
  const year = await console.json<Coverage>('/coverage?from=x&to=2026-99-99')
  const { text } = await console.get('/coverage?stream=users')

  expect(own.length).toBeLessThan(6)
  expect(chosen.rooftops.map(({ uid }) => uid)).toEqual(own.map(({ uid }) => uid))
  expect(short).toEqual([`settled ${minute(from)} ${minute(to)}`])
  expect(Date.parse(year.view.frame.to) - Date.parse(year.view.frame.from)).toBeGreaterThanOrEqual(
    365 * 86_400_000,
  )
  expect(text).toContain('users lists no windows of time')
  expect(text).toContain('1 night ok, 13 nights without a run')
})

test('the links of a zoom lead to the frame that they name', async () => {
  const { text } = await console.get('/coverage?from=2026-01-01&to=2027-01-01')
  const links = [...text.matchAll(/<a href="\/console\/coverage\?([^"]*)">(\w+)<\/a>/g)].map(
    ([, query, word]) =>
      `${word} ${new URLSearchParams(query!.replaceAll('&#38;', '&')).toString()}`,
  )

  expect(text).toContain('January 2026 to December 2026')
  expect(links).toEqual([
    'Earlier stream=evaluations&from=2025-01-01&to=2026-01-01',
    'Later stream=evaluations&from=2027-01-01&to=2028-01-01',
    'quarter stream=evaluations&from=2026-10-01&to=2027-01-01',
    'month stream=evaluations&from=2026-12-01&to=2027-01-01',
  ])
})

test('a day that is typed in leads to its page', async () => {
  const { status, location } = await console.get(
    `/coverage?uid=${rooftops[0]!.uid}&day=2026-03-01&stream=evaluations`,
  )

  expect({ status, location }).toEqual({
    ...{ status: 303 },
    location: `/console/coverage/${rooftops[0]!.uid}/2026-03-01?stream=evaluations`,
  })
})

test.each([0, 3, 5])(
  'the page of a day has the certificates of the local day of rooftop %i',
  async (at) => {
    const { id, uid, name, zone } = rooftops[at]!
    const day = localDay(new Date(Date.now() - 5 * 86_400_000), zone)
    const [from, until] = [startOfDay(day, zone), startOfDay(addDays(day, 1), zone)]
    const { title, text } = await console.get(`/coverage/${uid}/${day}`)
    const { certificates } = await console.json<{ certificates: Record<string, number>[] }>(
      `/coverage/${uid}/${day}`,
    )
    const expected = await console.rows(
      `select listed, loaded, quarantined, vanished, run_id::int as "runId" from ops.window_certificate
     where rooftop_id = $1 and tstzrange(window_from, window_until) && tstzrange($2, $3) order by window_from`,
      [id, from, until],
    )

    expect(title).toContain(name)
    expect(text).toContain(`Times in ${zone}.`)
    expect(expected.length).toBeGreaterThan(0)
    expect(certificates).toMatchObject(expected)
    expect(text.match(/<span class="badge ok">yes<\/span>/g)).toHaveLength(expected.length)
  },
)

test('a day, a rooftop or a stream that is not there is not found', async () => {
  const { uid } = rooftops[0]!
  const paths = [
    `/coverage/${uid}/2026-02-30`,
    '/coverage/no-such-uid/2026-02-01',
    `/coverage/${uid}/2026-02-01?stream=users`,
  ]

  for (const path of paths) expect((await console.get(path)).status).toBe(404)
})

test('a day is read again by a worker: its windows are listed again, and no span is lost meanwhile', async () => {
  const { id, uid, zone } = rooftops[3]!
  const day = localDay(new Date(Date.now() - 5 * 86_400_000), zone)
  const path = `/coverage/${uid}/${day}`
  const before = await console.rows(
    'select window_from, window_until, listed, run_id from ops.window_certificate where rooftop_id = $1 order by 1',
    [id],
  )
  const spans = await spansOf(uid)
  const offered = await console.get(path)
  const viewed = await console.get(path, { role: 'viewer' })
  const form = { action: 'read-again', stream: 'evaluations' }

  const forbidden = await console.post(path, form, { role: 'viewer' })
  const { status, location } = await console.post(path, form)
  const meanwhile = await spansOf(uid)
  const busy = await console.post(path, form)
  {
    await using _ = await openWorker(console.fixture)
    await untilRunsEnded(console.fixture)
  }

  const runId = Number(/^\/console\/runs\/(\d+)$/.exec(location!)![1])
  const after = await console.rows(
    'select window_from, window_until, listed, run_id from ops.window_certificate where rooftop_id = $1 order by 1',
    [id],
  )
  const touched = await console.rows<{ n: number }>(
    `select count(*)::int as n from ops.window_certificate where rooftop_id = $1 and run_id = $2
       and tstzrange(window_from, window_until) && tstzrange($3, $4)`,
    [id, runId, startOfDay(day, zone), startOfDay(addDays(day, 1), zone)],
  )
  const actions = await console.rows(
    `select email, action, outcome, run_id::int as run from ops.console_action order by action_id`,
  )
  expect(offered.text).toContain('No worker is alive')
  expect(viewed.text).not.toContain('read-again')
  expect(forbidden.status).toBe(403)
  expect(status).toBe(303)
  expect({ status: busy.status, says: /at work on evaluations/.test(busy.text) }).toEqual({
    status: 409,
    says: true,
  })
  expect(meanwhile).toEqual(spans)
  expect(await spansOf(uid)).toEqual(spans)
  expect(after.map(({ run_id: _, ...row }) => row)).toEqual(
    before.map(({ run_id: _, ...row }) => row),
  )
  expect(touched[0]!.n).toBe(2)
  expect(after.filter(({ run_id: run }) => Number(run) === runId)).toHaveLength(2)
  expect(actions).toEqual([
    { email: 'vic@example.com', action: 'read-again', outcome: 'refused', run: null },
    { email: 'kim@example.com', action: 'read-again', outcome: 'done', run: runId },
    { email: 'kim@example.com', action: 'read-again', outcome: 'refused', run: null },
  ])
})

test('before the first load the calendar says how to begin', async () => {
  await console.rows('create table saved as select * from ops.coverage; truncate ops.coverage')
  const { text } = await console.get('/coverage')
  await console.rows('insert into ops.coverage select * from saved; drop table saved')

  expect(text).toContain('nothing was asked for')
  expect(text).toContain(
    'Nothing was asked for in this time yet. Load it with <code>forecourt sync</code>',
  )
})
