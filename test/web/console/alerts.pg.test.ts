import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { openReceiver } from '../../app/scheduler/alert-receivers.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { openConsole } from './console-fixture.ts'

test('the jobs page shows which receiver of alerts gets nothing, why, and without its address', {
  timeout: 120_000,
}, async () => {
  await using good = await openReceiver()
  await using broken = await openReceiver()
  broken.state.status = 500
  const now = new Date()
  const start = new Date(now.getTime() - dayMs).toISOString()
  const fixture = await openFixture({
    sandbox: { now, rooftops: 1, evaluations: 4, days: 1 },
    sync: { start },
  })
  const targets = [
    { name: 'good', url: good.url },
    { name: 'broken', url: broken.url },
    { name: 'quiet', url: good.url, severity: 'critical' as const },
  ]
  const { alerts } = makeConfig({ alerts: { targets } }, '/nowhere')
  await using console = await openConsole({
    fixture: { ...fixture, config: { ...fixture.config, alerts } },
  })
  await fixture.night()
  await console.rows(
    "insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) values ('evaluations', 1, '1', '[]', 1)",
  )
  const watch = new Alerts(console.context, [], 0)
  const section = async () => {
    const { text } = await console.get('/jobs')
    expect(text).not.toContain('secret-token')
    return /<h2>Alerts<\/h2>(.*?)<h2>/s.exec(text)![1]!
  }
  const stateOf = (html: string, name: string) =>
    new RegExp(`>${name}</t[dh]>.*?<span class="badge (\\w+)">([^<]+)</span><small>([^<]*)<`, 's')
      .exec(html)
      ?.slice(1)

  await watch.reportObjectives()
  const first = await section()
  for (let attempt = 1; attempt < 10; attempt++) {
    await console.rows("update ops.alert_message set retry_at = retry_at - interval '1 hour'")
    await watch.reportObjectives()
  }
  const last = await section()

  expect(stateOf(first, 'good')).toEqual(['ok', 'ok', ''])
  expect(stateOf(first, 'quiet')).toEqual(['quiet', 'nothing sent yet', ''])
  expect(stateOf(first, 'broken')).toEqual(['warn', 'tried again', '1 message: answered with 500'])
  expect(stateOf(last, 'broken')).toEqual(['bad', 'not sent', '1 message: answered with 500'])
  expect(stateOf(last, 'good')).toEqual(['ok', 'ok', ''])
  expect(broken.state.asked).toBe(10)
})
