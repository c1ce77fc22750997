import { expect, test } from 'vitest'
import { openLog, withLogFields } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { applyRetention } from '#src/privacy/retain/apply-retention.ts'
import { openRunLog, readRunLines } from '#src/warehouse/db/run-log.ts'
import { openFixture, runNight } from '../../support/fixture.ts'
import { openConsole } from '../../web/console/console-fixture.ts'

const secret = 'key-that-no-one-may-see'

function openTestLog() {
  return openLog({ level: 'info', human: false, secrets: [secret], write: () => undefined })
}

async function addRun(fixture: Awaited<ReturnType<typeof openFixture>>): Promise<number> {
  const { rows } = await fixture.database.pool.query<{ id: number }>(
    `insert into ops.run (command, arguments, source_started_at, status) values ('sync', '{"mode":"sync","from":0}', now(), 'ok')
     returning run_id::int as id`,
  )
  return rows[0]!.id
}

test('the errors of a run are on its page, masked, and leave with retention', async () => {
  const fixture = await openFixture({
    sandbox: { seed: 7, evaluations: 20, days: 4, now: new Date() },
  })
  await using console = await openConsole({ fixture })
  const [first] = console.config.rooftops
  fixture.sandbox.faults.add({
    match: { rooftopUid: first!.uid },
    fault: { kind: 'status', status: 403 },
  })
  const { runId } = await (async () => {
    await using context = await openContext(fixture.config, openTestLog())
    const report = await runNight(context)
    context.log.warn({ runId: report.runId }, `a link https://x.example/a?sig=1 and ${secret}`)
    return report
  })()

  const lines = await readRunLines(fixture.context.db, runId)
  const { text } = await console.get(`/runs/${runId}`)

  expect(lines.some(({ level, message }) => level === 'error' && message.includes('403'))).toBe(
    true,
  )
  expect(lines.at(-1)).toMatchObject({
    level: 'warn',
    message: 'a link https://x.example/a?[hidden] and [hidden]',
  })
  expect(text).toContain('<h2>Its log</h2>')
  expect(text).toMatch(/badge bad">error<\/span>.*?403/s)
  expect(text).not.toContain('forecourt.log')
  await fixture.database.pool.query("update ops.run_log set at = at - interval '91 days'")
  const { runLines } = await applyRetention(fixture.context)
  expect(runLines).toBe(lines.length)
  expect(await readRunLines(fixture.context.db, runId)).toEqual([])
}, 120_000)

test('a run stores at most 200 lines, of them 40 without a warning; lines of no run are not stored', async () => {
  await using fixture = await openFixture({
    sandbox: { seed: 7, evaluations: 1, days: 1, now: new Date() },
  })
  const { pool } = fixture.database
  const [many, few] = [await addRun(fixture), await addRun(fixture)]
  const log = openTestLog()
  {
    await using _stored = openRunLog(pool, log)
    for (let nth = 0; nth < 60; nth++) log.info({ runId: many }, `info ${nth}`)
    for (let nth = 0; nth < 300; nth++) log.warn({ runId: many }, 'x'.repeat(5_000))
    log.warn({ runId: 999_999 }, 'of a run that is not there')
    log.warn('of no run')
    withLogFields({ runId: few }, () =>
      log.child({ stream: 'users' }).error(new Error('inner'), 'outer'),
    )
    log.warn({ runId: few }, 'a\0b')
  }
  log.warn({ runId: few }, 'after it was closed')

  const { rows } = await pool.query(
    `select run_id::int as run, count(*)::int as lines, count(*) filter (where level = 'info')::int as info, max(length(message)) as longest
     from ops.run_log group by 1 order by 1`,
  )
  expect(rows[0]).toMatchObject({ run: many, info: 40, longest: 1000 })
  expect(rows[0]!.lines).toBeLessThanOrEqual(200)
  expect(rows[0]!.lines).toBeGreaterThan(100)
  expect(await readRunLines(fixture.context.db, few)).toMatchObject([
    { level: 'error', message: 'users: outer: inner' },
    { level: 'warn', message: 'a\uFFFDb' },
  ])
})
