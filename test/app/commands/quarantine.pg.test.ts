import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { until } from '../../support/child.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { smallFixture } from './sync-fixture.ts'

test('quarantine lists, shows and retries what did not fit', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { world } = fixture.sandbox
  world.poison(1002, { UpdatedAt: 'never' })
  world.poison(1004, { UpdatedAt: 'never' })
  expect((await warehouse.night()).status).toBe('partial')

  const list = await warehouse.json(['quarantine', 'list'])
  const show = await warehouse.json(['quarantine', 'show', '1'])
  const tooSoon = await warehouse.json(['quarantine', 'retry', '1'])
  world.removePoison(1002)
  world.removePoison(1004)
  const one = await warehouse.json(['quarantine', 'retry', '1'])
  const rest = await warehouse.json(['quarantine', 'retry'])
  const none = await warehouse.json(['quarantine', 'list'])

  expect(list.code).toBe(0)
  expect([...list.document]).toMatchObject([
    { id: 1, stream: 'evaluations', rooftop: 'rooftop-1', attempts: 1 },
    { id: 2, stream: 'evaluations', rooftop: 'rooftop-1', attempts: 1 },
  ])
  expect(JSON.stringify(list.document)).not.toContain('Pat Example')
  expect(show).toMatchObject({
    code: 0,
    document: {
      id: 1,
      payload: expect.stringContaining('"UpdatedAt":"never"'),
      issues: [{ path: expect.stringContaining('UpdatedAt') }],
    },
  })
  expect(tooSoon).toMatchObject({
    code: 1,
    document: { status: 'partial', streams: { evaluations: { hydrated: 1, quarantined: 1 } } },
  })
  expect(one).toMatchObject({
    code: 0,
    document: { status: 'ok', streams: { evaluations: { hydrated: 1, inserted: 1 } } },
  })
  expect(rest).toMatchObject({
    code: 0,
    document: { status: 'ok', streams: { evaluations: { hydrated: 1, inserted: 1 } } },
  })
  expect([none.code, [...none.document]]).toEqual([0, []])
  const { rows } = await warehouse.database.pool.query(
    'select natural_key, attempts, resolved_at is not null as resolved from ops.quarantine order by attempts desc',
  )
  expect(rows).toMatchObject([
    { attempts: 2, resolved: true },
    { attempts: 1, resolved: true },
  ])
  expect((await warehouse.night(allStreams)).streams['evaluations']).toMatchObject({
    inserted: 0,
    updated: 0,
  })
  expect((await warehouse.json(['verify'])).document).toMatchObject({ status: 'ok', gaps: 0 })
  expect((await warehouse.json(['status'])).code).toBe(0)
})

test('a record that may name an erased customer is shown without a payload, with the reason and what to do', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { world } = fixture.sandbox
  world.poison(1002, { UpdatedAt: 'never' })
  await warehouse.night()
  expect((await warehouse.run(['erase', '--eval', '1001', '--yes'])).code).toBe(0)
  world.poison(1002, { Spare: '0498 700 001 '.repeat(300_000) })
  await warehouse.run(['quarantine', 'retry', '1'])

  const show = await warehouse.run(['quarantine', 'show', '1'])

  expect(show.stdout).toContain('$: has more than 100,000 e-mails and numbers like phone numbers')
  expect(show.stdout).toContain('Its payload was not stored: it may name a customer who was erased')
  expect(show.stdout).toContain('"forecourt quarantine retry 1" reads it again')
  expect(show.stdout).not.toContain('as received')
})

test('quarantine of an id that is not there is wrong usage', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()

  const wrong = [['show', '77'], ['retry', '77'], ['show', 'x'], ['show'], ['sell']]
  const codes = await Promise.all(wrong.map((args) => warehouse.json(['quarantine', ...args])))

  expect(codes.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2])
  expect(codes[0]!.document).toEqual({ error: expect.stringContaining('Quarantine 77') })
})

test('a detached retry is left to the workers', { tags: 'ci' }, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  fixture.sandbox.world.poison(1002, { UpdatedAt: 'never' })
  await warehouse.night()
  fixture.sandbox.world.removePoison(1002)

  const left = await warehouse.json(['quarantine', 'retry', '--detach'])
  const wrong = await warehouse.json(['quarantine', 'list', '--detach'])
  const busy = await warehouse.json(['quarantine', 'retry', '--detach'])
  const worker = warehouse.start(['worker'])
  await until(async () => [...(await warehouse.json(['quarantine', 'list'])).document].length === 0)
  worker.kill('SIGTERM')
  await worker.ended
  const none = await warehouse.json(['quarantine', 'retry', '--detach'])

  expect(left).toMatchObject({ code: 0, document: { detached: true, records: 1 } })
  expect([wrong.code, busy.code]).toEqual([2, 3])
  expect(none).toMatchObject({ code: 0, document: { retried: 0 } })
})
