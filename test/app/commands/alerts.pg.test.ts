import { expect, test } from 'vitest'
import { openMailServer, openReceiver } from '../scheduler/alert-receivers.ts'
import { openScheduleFixture } from '../scheduler/schedule-fixture.ts'

test('alerts test sends to every receiver, names those that failed, and shows no address', async () => {
  await using receiver = await openReceiver()
  await using broken = await openReceiver()
  await using server = await openMailServer()
  broken.state.status = 500
  server.refused.add('gone@example.com')
  const targets = [
    { name: 'broken', format: 'slack' as const, url: broken.url },
    { name: 'mail', format: 'email' as const, to: ['kim@example.com', 'gone@example.com'] },
  ]
  const alerts = { url: receiver.url, targets, smtp: server.smtp }
  await using fixture = await openScheduleFixture({}, { alerts })

  const { code, stdout, stderr } = await fixture.run(['alerts', 'test'])
  const one = await fixture.run(['alerts', 'test', 'default', '--json'])

  expect(code).toBe(1)
  expect(stdout.trimEnd().split('\n')).toEqual([
    'default (json): the receiver took the message',
    'broken (slack): answered with 500',
    'mail (email, address 1): the receiver took the message',
    'mail (email, address 2): the mail server refused the sender or an address (550)',
  ])
  expect(stdout + stderr).not.toMatch(/secret-token|mail-password|gone@/)
  expect(receiver.got).toMatchObject([{ state: 'test' }, { state: 'test' }])
  expect(server.got.map(({ to }) => to)).toEqual([['kim@example.com']])
  expect(one.code).toBe(0)
  expect(JSON.parse(one.stdout)).toEqual({
    tests: [{ target: 'default', format: 'json', address: null, failure: null }],
  })
})

test('alerts test of a receiver that the config does not have is wrong usage', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await using none = await openScheduleFixture({})

  const unknown = await fixture.run(['alerts', 'test', 'defualt'])
  const off = await none.run(['alerts', 'test'])

  expect(unknown).toMatchObject({ code: 2, stdout: '' })
  expect(unknown.stderr).toContain('"defualt" is not one of alerts.targets (did you mean default?)')
  expect(off).toMatchObject({ code: 2, stdout: '' })
  expect(off.stderr).toContain('set alerts.url or alerts.targets')
  expect(receiver.got).toEqual([])
})
