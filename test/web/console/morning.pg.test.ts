import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { recordVerification, verifyWarehouse } from '#src/sync/verify/verify-warehouse.ts'
import { dayMs, type Fixture, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { statementsOf } from './statements.ts'

// Without a fraction of a second, which the clock of the service does not have.
const now = new Date(Math.floor(Date.now() / 1000) * 1000)

async function openLoaded(nights: number): Promise<Fixture> {
  const start = new Date(now.getTime() - 8 * dayMs).toISOString()
  const fixture = await openFixture({
    sandbox: { seed: 7, evaluations: 40, days: 8, now },
    ...{ sync: { start }, streams: allStreams },
  })
  for (let night = 0; night < nights; night++) await fixture.night()
  return fixture
}

let console: ConsoleFixture

/** As cron runs a job. */
const jobByHand = `insert into ops.job_fire (job_name, cause, status, claimed_at, finished_at, host, process_id)
  values ('verify', 'manual', 'ok', now(), now(), 'a', 1)`

let rooftops: { id: number; name: string }[]

beforeAll(async () => {
  console = await openConsole({ fixture: await openLoaded(1) })
  await console.rows(jobByHand)
  const found = await console.rows<{ id: number; name: string; uid: string }>(
    'select rooftop_id as id, rooftop_name as name, rooftop_uid as uid from core.rooftop',
  )
  rooftops = console.config.rooftops.map(({ uid }) => found.find((one) => one.uid === uid)!)
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

/** Changes the warehouse for the time of a test. */
async function plant(change: string, undo: string): Promise<AsyncDisposable> {
  await console.rows(change)
  return { [Symbol.asyncDispose]: async () => void (await console.rows(undo)) }
}

/** A page without its tags. */
function words(text: string): string {
  return text
    .replaceAll(/<svg.*?<\/svg>/gs, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll(/\s+/g, ' ')
    .replaceAll(' .', '.')
}

/** The first sentences of the page. */
async function summary(): Promise<{ tone: string; head: string; more: string }> {
  const { status, text } = await console.get('/')
  expect(status).toBe(200)
  const [, tone, inside] = /<section class="summary sentence (\w+)">(.*?)<\/section>/s.exec(text)!
  const [, head, more] = /<h1>(.*?)<\/h1>\s*<p>(.*?)<\/p>/s.exec(inside!)!
  return { tone: tone!, head: words(head!).trim(), more: words(more!).trim() }
}

interface Problem {
  readonly word: string
  readonly what: string
  readonly detail: string
  readonly why: string
  readonly since: string | null
  readonly link: { readonly label: string; readonly path: string }
}

async function problems(path = '/'): Promise<readonly Problem[]> {
  return (await console.json<{ problems: Problem[] }>(path)).problems
}

const failed = `status = 'failed', error = '403 at /getevallist: key not valid'`
const well = `status = 'ok', error = null`
const instantPattern = /(\d+ \w+ \d{4}, )?\d\d:\d\d [A-Z][A-Z\d:+-]*/

test('when all is good, one sentence says so, and nothing needs attention', async () => {
  const { title, text } = await console.get('/', { role: 'viewer' })
  const { tone, head, more } = await summary()

  expect(title).toBe('Morning')
  expect({ tone, head }).toEqual({ tone: 'ok', head: 'All 6 rooftops are fresh and complete.' })
  expect(more.replace(instantPattern, 'T')).toMatch(
    /^Evaluations are complete up to T\. (Stored rows|Ids and sums) /,
  )
  expect(await problems()).toEqual([])
  expect(words(text)).toContain('Nothing: every stream of every rooftop is fresh')
})

test('the page reads with at most 12 statements', async () => {
  const { statements } = await statementsOf(console, '/')

  expect(statements.length).toBeGreaterThan(5)
  expect(statements.length).toBeLessThanOrEqual(12)
})

test('jobs that nothing starts are a row, unless cron or the demo does', async () => {
  const found = async () =>
    (await problems()).filter(({ word }) => word === 'No scheduler').map(({ what }) => what)
  const byHand = await found()
  await using _ = await plant('delete from ops.job_fire', jobByHand)
  const never = await found()
  await console.rows(jobByHand.replaceAll('now()', "now() - interval '10 days'"))
  const longAgo = await found()
  await console.rows(
    `insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, finished_at, host, process_id)
     values ('nightly', 'schedule', now() - interval '2 hours', 'ok', now() - interval '2 hours', now() - interval '1 hour', 'a', 1)`,
  )
  const schedulerDied = await found()
  const { head, more } = await summary()
  const { openContext } = await import('#src/open-context.ts')
  const { sessionName } = await import('#src/warehouse/db/processes.ts')
  const { openLog } = await import('#src/log.ts')
  const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
  const { config } = console.fixture
  const moved = { ...config, appraisal: { ...config.appraisal, baseUrl: 'http://127.0.0.1:9/v1' } }
  const ofOtherServices = await (async () => {
    const applicationName = sessionName('schedule', moved)
    await using _context = await openContext(moved, log, { applicationName })
    return await found()
  })()
  const whileAlive = []
  for (const command of ['schedule', 'demo'] as const) {
    await using _context = await openContext(console.fixture.config, log, {
      applicationName: sessionName(command, console.fixture.config),
    })
    whileAlive.push(...(await found()))
  }
  await console.rows('delete from ops.job_fire')

  expect(byHand).toEqual([])
  expect([never, longAgo, schedulerDied, ofOtherServices]).toEqual(
    Array(4).fill(['No job starts by itself']),
  )
  expect(whileAlive).toEqual([])
  expect(head).toBe('All 6 rooftops are fresh and complete.')
  expect(more).toMatch(/ 1 other cause below\.$/)
})

test('before the first load it says so, and how to begin', async () => {
  await using other = await openConsole({ fixture: await openLoaded(0) })
  await other.rows(jobByHand)
  const { text } = await other.get('/')

  expect(words(text)).toContain('Nothing has been loaded yet. Start the first load with')
  expect((await other.json<{ problems: Problem[] }>('/')).problems).toMatchObject([
    { word: 'Never', detail: 'all streams' },
  ])
})

test('a rooftop whose streams are all late is one row, with the time since it is late', async () => {
  const { id, name } = rooftops[2]!
  await using _ = await plant(
    `update ops.run_stream set finished_at = finished_at - interval '30 hours' where rooftop_id = ${id}`,
    `update ops.run_stream set finished_at = finished_at + interval '30 hours' where rooftop_id = ${id}`,
  )
  const [own, ...others] = await problems()
  const { tone, head, more } = await summary()
  const [{ since }] = (await console.rows<{ since: Date }>(
    `select min(finished_at) + interval '26 hours' as since from ops.run_stream where rooftop_id = ${id}`,
  )) as [{ since: Date }]

  expect(others).toEqual([])
  expect(own).toMatchObject({ word: 'Late', what: name, detail: 'all streams' })
  expect(new Date(own!.since!)).toEqual(since)
  expect(tone).toBe('bad')
  expect(head.replace(instantPattern, 'T')).toBe(
    `5 of 6 rooftops are fresh and complete. ${name} is late since T.`,
  )
  expect(more.replace(instantPattern, 'T')).toBe(
    'No good run within 26 hours. Nothing is lost: what was not loaded stays due. Everything else is complete up to T.',
  )
})

test('rooftops with the same cause are one row, and the run that failed is linked', async () => {
  const of = `stream in ('users', 'evaluations') and rooftop_id in (${rooftops[0]!.id}, ${rooftops[1]!.id})`
  await using _ = await plant(
    `update ops.run_stream set ${failed} where ${of}`,
    `update ops.run_stream set ${well} where ${of}`,
  )
  const found = await problems()
  const { head, more } = await summary()

  expect(found).toHaveLength(1)
  expect(found[0]).toMatchObject({
    ...{ word: 'Failed', what: `${rooftops[0]!.name} and ${rooftops[1]!.name}` },
    detail: expect.stringContaining('users, evaluations'),
    link: { label: 'Show run 1', path: '/runs/1' },
  })
  expect(head).toMatch(/^4 of 6 rooftops are fresh and complete\. .* and .* have failed since /)
  expect(more).toMatch(/^403 at \/getevallist: key not valid\. Nothing is lost/)
})

test('when every rooftop has failed, none is fresh, and nothing else is claimed', async () => {
  await using _ = await plant(
    `update ops.run_stream set ${failed}`,
    `update ops.run_stream set ${well}`,
  )
  const { tone, head, more } = await summary()

  expect(tone).toBe('bad')
  expect(head).toMatch(
    /^None of 6 rooftops is fresh and complete\. .* and 4 more have failed since /,
  )
  expect(more).not.toContain('Everything else')
})

test('a failure that a later run fixed is gone, from the list and from the nights', async () => {
  await using _ = await plant(
    `insert into ops.run (command, arguments, status, started_at, source_started_at, finished_at)
       select 'sync', arguments, 'failed', started_at - interval '1 minute', source_started_at, started_at from ops.run where run_id = 1;
     -- The ledger goes by the order of the runs.
     update ops.run_stream set run_id = 2 where run_id = 1;
     insert into ops.run_stream (run_id, rooftop_id, stream, status, error, finished_at)
       select 1, rooftop_id, stream, 'failed', 'a 403', finished_at - interval '1 second' from ops.run_stream where run_id = 2`,
    `delete from ops.run_stream where run_id = 1; update ops.run_stream set run_id = 1 where run_id = 2; delete from ops.run where run_id = 2`,
  )
  const { nights } = await console.json<{ nights: { streams: object }[] }>('/')

  expect(await problems()).toEqual([])
  expect(nights).toHaveLength(14)
  expect(nights.at(-1)!.streams).toEqual({ ok: 30 })
})

test('rows that differ from their lists make a rooftop incomplete, from the next verification on', {
  tags: 'ci',
}, async () => {
  await using other = await openConsole({ fixture: await openLoaded(1) })
  await other.rows(jobByHand)
  const { context, config } = other.fixture
  const known = await findRooftops(context.db, config.rooftops)
  const verify = async () => {
    const found = await verifyWarehouse(context, allStreams, known, config.sync)
    await recordVerification(context.db, known, found)
  }
  const head = async () => words(/<h1>(.*?)<\/section>/s.exec((await other.get('/')).text)![1]!)
  const never = await head()
  await verify()
  const good = await head()
  await other.rows(`update ops.verification set verified_at = now() - interval '3 days'`)
  const old = await head()
  const [{ name }] = (await other.rows<{ name: string }>(
    `delete from core.evaluation where (rooftop_id, eval_id) in (select rooftop_id, min(eval_id) from core.evaluation group by 1 order by 1 limit 1)
     returning (select rooftop_name from core.rooftop where rooftop_id = evaluation.rooftop_id) as name`,
  )) as [{ name: string }]
  const before = await head()
  await verify()
  const found = await other.json<{ problems: Problem[] }>('/')

  expect(never).toContain('Stored rows have not been compared with the lists yet')
  expect(good).toMatch(
    /^ ?All 6 rooftops .* Ids and sums were compared with the lists at .*: no difference\. No values were compared yet/,
  )
  expect(old).toMatch(
    /no difference\. That was more than 2 days ago: ?forecourt verify ?does it again\./,
  )
  expect(good).not.toContain('2 days ago')
  expect(before).toContain('All 6 rooftops')
  expect(await head()).toMatch(
    new RegExp(
      `^ ?5 of 6 rooftops are fresh and complete\\. ${name} \\(evaluations\\) is incomplete since `,
    ),
  )
  expect(found.problems).toMatchObject([
    {
      ...{ word: 'Incomplete', what: name, detail: 'evaluations' },
      why: expect.stringMatching(
        /^The last verification found: the stored rows of 1 window differ /,
      ),
    },
  ])
})

test('records in quarantine are a row for each cause, and the sentence counts them', async () => {
  const issue = (path: string) => `'[{"path": "${path}", "message": "is text"}]'`
  const row = (at: number, key: string, path: string) =>
    `('evaluations', ${rooftops[at]!.id}, '${key}', ${issue(path)}, 1, now() - interval '3 days')`
  await using _ = await plant(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id, first_seen_at)
     values ${row(0, 'a', 'Reconditioning[2].cost')}, ${row(0, 'b', 'Reconditioning[2].cost')}, ${row(3, 'c', 'Odometer')}`,
    'delete from ops.quarantine',
  )
  const found = await problems()
  const { tone, head, more } = await summary()

  expect(found).toMatchObject([
    {
      ...{ word: 'Quarantined', what: '2 records of evaluations' },
      ...{ detail: `${rooftops[0]!.name}, one cause`, why: 'Reconditioning[*].cost: is text' },
    },
    { what: '1 record of evaluations', detail: `${rooftops[3]!.name}, one cause` },
  ])
  expect(tone).toBe('warn')
  expect(head).toMatch(
    /^4 of 6 rooftops are fresh and complete\. .* have 3 records in quarantine\.$/,
  )
  expect(more).toMatch(/^The records that fit are loaded\. Everything else is complete up to /)
})

test('work without a worker, paused backfills, keys and links need attention, the worst first', async () => {
  await using _ = await plant(
    `insert into ops.run (command, arguments, status, source_started_at, is_detached, lane, heartbeat_at, finished_at) values
       ('backfill', '{"mode": "backfill", "from": 0}', 'running', now(), true, 'background', now() - interval '5 minutes', null),
       ('backfill', '{"mode": "backfill", "from": 0}', 'paused', now(), true, 'background', now(), now() - interval '1 hour');
     insert into ops.parked values ('au', 'pricing', '2999-01-01', 'a 429'), ('au', 'vehicle-checks', '2999-01-02', 'the daily quota is used up');
     insert into ops.rate_budget (key_name, blocked_until, throttled_at) values ('appraisal/us', now() + interval '1 hour', now())
       on conflict (key_name) do update set blocked_until = excluded.blocked_until;
     insert into ops.job (job_name, schedule, time_zone, known_since) values ('nightly', '0 2 * * *', 'Australia/Sydney', now() - interval '9 days')`,
    `delete from ops.run where run_id > 1; delete from ops.parked; update ops.rate_budget set blocked_until = null; delete from ops.job`,
  )
  const found = await problems()

  expect(found.map(({ word, what }) => `${word}: ${what.replace(/\d+/, 'N')}`)).toEqual([
    ...['Late: Job nightly', 'No worker: Run N (backfill) waits', 'Blocked: Key us'],
    ...['Parked: Key au', 'Paused: Run N (backfill)'],
  ])
  expect(found.find(({ word }) => word === 'Parked')).toMatchObject({
    detail: 'pricing, vehicle-checks',
    why: 'a 429; the daily quota is used up; nothing is sent before 2999-01-02 00:00 UTC.',
  })
  expect(found.at(-1)!.why).toMatch(
    /^It was paused: resume it with "forecourt backfill --resume --run \d+"\.$/,
  )
})

test('what is quarantined or paused at a rooftop that has left the config needs no attention: no command reads it', async () => {
  await using _ = await plant(
    `insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit, left_config_at)
       select 'retired', group_id, 'Retired', region, time_zone, currency_code, odometer_unit, now() from core.rooftop limit 1;
     insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
       select 'evaluations', rooftop_id, 'a', '[{"path": "Odometer", "message": "is text"}]', 1 from core.rooftop where rooftop_uid = 'retired';
     insert into ops.run (command, arguments, status, source_started_at, is_detached, lane, heartbeat_at, finished_at)
       values ('backfill', '{"mode": "backfill", "from": 0, "rooftops": ["retired"]}', 'paused', now(), true, 'background', now(), now())`,
    'delete from ops.run where run_id > 1; delete from ops.quarantine',
  )

  expect(await problems()).toEqual([])
})

test('at most 10 problems are shown, and a link shows the others', async () => {
  const values = Array.from(
    { length: 13 },
    (_, at) =>
      `('users', ${rooftops[0]!.id}, 'k${at}', '[{"path": "field${at}", "message": "is missing"}]', 1)`,
  )
  await using _ = await plant(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) values ${values.join()}`,
    'delete from ops.quarantine',
  )
  const { text } = await console.get('/')

  expect(await problems()).toHaveLength(10)
  expect(await problems('/?show=all')).toHaveLength(13)
  expect(text).toContain('<a href="/console/?show=all">Show 3 more problems</a>')
})

test('the three clocks are those of the warehouse', async () => {
  const { states } = await console.json<{
    states: { stream: string; lastGoodAt: string; coveredTo: string; newestAt: string | null }[]
  }>('/')
  const own = states.filter(({ stream }) => stream === 'evaluations')
  const expected = await console.rows<{ good: Date; covered: Date; newest: Date | null }>(
    `select (select max(finished_at) from ops.run_stream as p where p.rooftop_id = r.rooftop_id and stream = 'evaluations') as good,
       (select max(window_until) from ops.window_certificate as c where c.rooftop_id = r.rooftop_id) as covered,
       (select max(completed_at) from core.evaluation as e where e.rooftop_id = r.rooftop_id and gone_at is null) as newest
     from unnest(array[${rooftops.map(({ id }) => id).join()}]) with ordinality as r (rooftop_id, at) order by at`,
  )
  const iso = (text: string | null) => (text === null ? null : new Date(text))

  expect(
    own.map(({ lastGoodAt, coveredTo, newestAt }) => [
      iso(lastGoodAt),
      iso(coveredTo),
      iso(newestAt),
    ]),
  ).toEqual(expected.map(({ good, covered, newest }) => [good, covered, newest]))
})

test('a run at work is shown with what it has done, and the page follows it', async () => {
  await using _ = await plant(
    `insert into ops.run (command, arguments, source_started_at) values ('nightly', '{"mode": "sync", "from": 0}', now());
     insert into ops.run_stream (run_id, rooftop_id, stream, status, listed, inserted)
       select max(run_id), ${rooftops[0]!.id}, 'users', 'running', 4182, 37 from ops.run`,
    `delete from ops.run_stream where status = 'running'; delete from ops.run where status = 'running'`,
  )
  const { text } = await console.get('/')

  expect(words(text)).toMatch(/\d+ nightly running users · 4,182 listed · 37 changed/)
  expect(text).toContain('data-live')
})
