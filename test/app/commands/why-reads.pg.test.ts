import { expect, test, vi } from 'vitest'
import { anEvaluation } from '../../support/build-world.ts'
import { openScheduleFixture, type ScheduleFixture } from '../scheduler/schedule-fixture.ts'
import { smallWorld } from './sync-fixture.ts'

vi.setConfig({ testTimeout: 180_000 })

const dayMs = 86_400_000

async function why({ run }: ScheduleFixture, id: number) {
  const [json, text] = [await run(['why', String(id), '--json']), await run(['why', String(id)])]
  return { found: JSON.parse(json.stdout).found[0], text: text.stdout.replaceAll(/\s+/g, ' ') }
}

async function night({ run, sandbox }: ScheduleFixture, ...streams: string[]): Promise<void> {
  sandbox.clock.advance(dayMs)
  await run(['sync', ...(streams.length > 0 ? streams : ['evaluations'])])
}

test('why says when and why a record was read, and when it is read again, for every reason', async () => {
  const world = smallWorld()
  world.add(anEvaluation({ evalId: 1050, createdAt: '2026-02-25T01:00:00Z' }))
  world.vanish(1003, new Date('2026-03-11T00:00:00Z'))
  world.poison(1002, { UpdatedAt: 'never' })
  await using fixture = await openScheduleFixture({}, { sync: { start: '2026-03-01' } }, world)
  const { pool } = fixture.database
  await fixture.run(['sync', 'evaluations'])
  await fixture.run(['backfill', 'evaluations', '--from', '2026-02-20', '--to', '2026-03-01'])

  const fresh = await why(fixture, 1001)
  const history = await why(fixture, 1050)
  await night(fixture)
  const unchanged = await why(fixture, 1001)
  const quarantined = await why(fixture, 1002)
  const gone = await why(fixture, 1003)
  await pool.query(
    `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_received_at, due_at)
     select 'ON_EXPORT', rooftop_id, 1005, sha256('x'), 'waiting', now(), now() + interval '1 hour' from core.rooftop`,
  )
  const hinted = await why(fixture, 1005)
  await fixture.run(['erase', '--eval', '1004', '--yes'])
  const erased = await why(fixture, 1004)

  expect(fresh.found).toMatchObject({
    lastRead: { runId: 1, reason: 'new', outcome: 'stored' },
    nextListing: { reason: 'recheck' },
    nextRead: { reason: 'reread' },
    lastRun: { runId: 2, command: 'backfill', status: 'ok' },
  })
  expect(fresh.text).toMatch(/last read: 2026-03-10 06:\d\d:\d\d UTC in run 1, because it was new/)
  expect(fresh.text).toMatch(
    /next read: in the first sync from 2026-0\d-\d\d 00:00:00 UTC on, sooner/,
  )
  expect(fresh.text).toMatch(/last run: 2 .*; it did not list the window of this evaluation; see /)
  expect(unchanged.text).toMatch(/last run: 3 .*; its list showed no change, .*; see /)
  expect(history.found).toMatchObject({
    lastRead: { runId: 2, reason: 'backfill' },
    nextListing: { reason: 'recheck' },
  })
  expect(quarantined.found).toMatchObject({
    lastRead: { runId: 3, reason: 'retry', outcome: 'quarantined' },
    nextRead: { reason: 'retry' },
  })
  expect(quarantined.text).toContain('because it is in quarantine; "forecourt quarantine retry"')
  expect(gone.found).toMatchObject({ nextRead: { reason: 'gone' }, rereadBetween: null })
  expect(gone.text).toContain('only if a list shows it again')
  expect(hinted.found.nextRead).toMatchObject({
    reason: 'webhook',
    at: expect.stringMatching(/^2026-03-11T07:/),
  })
  expect(erased.found.customerErasedAt).toMatch(/^20/)
  expect(erased.text).toContain('left out of every read')
})

test('why says that a record is read no more by syncs, and why', async () => {
  const world = smallWorld()
  world.add(anEvaluation({ evalId: 1050, createdAt: '2026-02-25T01:00:00Z' }))
  await using fixture = await openScheduleFixture({}, { sync: { start: '2026-03-01' } }, world)
  const { pool } = fixture.database
  await fixture.run(['backfill', 'evaluations', '--from', '2026-02-20', '--to', '2026-03-01'])
  await pool.query(`delete from ops.window_certificate; update ops.coverage set covered = '{}'`)

  const unlisted = await why(fixture, 1050)
  await pool.query(`update core.rooftop set rooftop_uid = 'removed'`)
  const removed = await why(fixture, 1050)

  expect(unlisted.found).toMatchObject({ nextListing: null, nextRead: { reason: 'not listed' } })
  expect(removed.found).toMatchObject({
    nextRead: { reason: 'not configured', at: null },
    asks: [],
  })
  expect(removed.text).toContain('never: the rooftop is not in the config')
})

test('why says when the other streams ask about a record, and until when their key is parked', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture({}, { sync: { start: '2026-03-01' } })
  const { pool } = fixture.database
  await fixture.run(['sync'])
  const asked = await why(fixture, 1006)
  await pool.query(
    `insert into ops.parked (key_name, stream, until, reason)
     select '${fixture.sandbox.clientConfig().rooftops[0]!.key}', 'pricing', '2026-03-11T00:00:00Z', 'quota'`,
  )

  const parked = await why(fixture, 1006)

  expect(asked.found.asks).toMatchObject([
    {
      stream: 'pricing',
      outcome: 'answered',
      nextAt: '2026-03-11T05:30:00.000Z',
      parkedUntil: null,
    },
    { stream: 'vehicle-checks', outcome: 'answered' },
    { stream: 'vehicle-checks', outcome: 'answered' },
  ])
  expect(parked.text).toMatch(/next ask: pricing .*out of quota until 2026-03-11 00:00:00 UTC/)
})
