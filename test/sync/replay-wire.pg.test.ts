import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { startDetached } from '#src/sync/run/run-streams.ts'
import { runWorker } from '#src/sync/run/run-worker.ts'
import type { WireSettings } from '#src/values/wire.ts'
import { until } from '../support/child.ts'
import { openFixture } from '../support/fixture.ts'

test('a replay is not done by a process that reads other names', async () => {
  const sandbox = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 2, evaluations: 40, days: 9 }
  await using fixture = await openFixture({ sandbox })
  await fixture.night()
  const makes = async () =>
    (await fixture.database.pool.query('select count(make)::int as n from core.evaluation')).rows[0]
  const before = await makes()
  const runs = async () =>
    (
      await fixture.database.pool.query(
        "select run_id, status from ops.run where command = 'replay'",
      )
    ).rows
  const logged: string[] = []
  const write = (line: string) => void (line.includes('wire settings') && logged.push(line))
  const log = openLog({ level: 'warn', human: false, secrets: [], write })
  const startWorker = async (wire: WireSettings) => {
    const stop = new AbortController()
    const context = await openContext({ ...fixture.config, wire }, log, { signal: stop.signal })
    const worked = runWorker(context, { streams: [evaluations], concurrency: 2 })
    return {
      [Symbol.asyncDispose]: async () => {
        stop.abort()
        await worked
        await context[Symbol.asyncDispose]()
      },
    }
  }
  const outdated = structuredClone(fixture.config.wire)
  Object.assign(outdated.appraisal.evaluation, { make: 'NotThere' })

  await using _outdated = await startWorker(outdated)
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  const { rooftops } = fixture.config
  await startDetached(fixture.context, { plan, streams: [evaluations], rooftops })
  await until(async () => logged.length > 0 || (await runs())[0].status !== 'running')
  const left = await runs()
  await using _current = await startWorker(fixture.config.wire)
  await until(async () => (await runs())[0].status !== 'running')

  expect(before.n).toBeGreaterThan(30)
  expect(left).toMatchObject([{ status: 'running' }])
  expect(logged).toEqual([
    expect.stringMatching(
      /process \d+ of .* was started with other wire settings than run \d+ \(replay\), and leaves its work to others: restart this process/,
    ),
  ])
  expect(await runs()).toMatchObject([{ status: 'ok' }])
  expect(await makes()).toEqual(before)
})
