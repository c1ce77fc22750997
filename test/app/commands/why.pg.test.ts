import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { smallFixture } from './sync-fixture.ts'

test('why shows row, payload, request, window and run of a loaded, a quarantined, a vanished and an unknown id', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { world, clock } = fixture.sandbox
  world.poison(1002, { UpdatedAt: 'never' })
  await warehouse.night(allStreams)
  world.vanish(1003, new Date(clock.now().getTime() + 1000))
  clock.advance(86_400_000)
  await warehouse.night()

  const loaded = await warehouse.json(['why', '1001'])
  const quarantined = await warehouse.json(['why', '1002'])
  const vanished = await warehouse.json(['why', '1003'])
  const unknown = await warehouse.json(['why', '9999'])

  expect(loaded).toMatchObject({
    code: 0,
    document: {
      evalId: 1001,
      found: [
        {
          rooftop: { uid: 'rooftop-1', name: 'Rooftop One' },
          row: { eval_id: 1001, version_no: 1, photo_count: 2, run_id: 1 },
          versions: [{ version_no: 1, valid_to: null, run_id: 1 }],
          payloads: [{ request: 'POST /geteval {"evalid":1001}', run_id: 1 }],
          prices: [
            { request: 'GET /pricingAi/payload/1001', is_current: true, currency_code: 'AUD' },
          ],
          window: { window_from: '2026-03-02T00:00:00.000Z', listed: 1, settled: true, run_id: 2 },
          quarantine: [],
          vanished: null,
          runs: [{ run_id: 1, command: 'sync', status: 'partial' }, { run_id: 2 }],
        },
      ],
    },
  })
  expect(quarantined).toMatchObject({
    code: 0,
    document: {
      found: [
        { row: null, quarantine: [{ attempts: 2, resolved_at: null }], window: { listed: 1 } },
      ],
    },
  })
  expect(JSON.stringify(quarantined.document)).toContain('UpdatedAt')
  expect(vanished).toMatchObject({
    code: 0,
    document: {
      found: [
        {
          row: { gone_at: expect.any(String) },
          vanished: { reason: expect.stringMatching(/^not /) },
        },
      ],
    },
  })
  expect(unknown).toMatchObject({ code: 1, document: { evalId: 9999, found: [] } })
  const unknownText = await warehouse.run(['why', '9999'])
  expect(unknownText.stdout).toMatch(
    /^Evaluation 9999 is in no table: .*\n(.*\n)*.*sync\.start.*\n(.*\n)*"forecourt status" shows/,
  )
  // Personal data stays out.
  expect(JSON.stringify([loaded, quarantined, vanished])).not.toMatch(/Pat Example|pat@example/)
  const text = await warehouse.run(['why', '1001'])
  expect(text.stdout).toMatch(
    /^Evaluation 1001 of Rooftop One \(rooftop-1\)\n {2}row\n( {4}.*\n)+ {2}version\n {4}/,
  )
  // In a pipe nothing is wider than 80 columns, and an instant has one form.
  const all = [text.stdout, (await warehouse.run(['why', '1002'])).stdout].join('')
  expect(all.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(all).not.toMatch(/\d{4}-\d\d-\d\dT\d\d:/)
  expect(all).toMatch(/\n {4}first_loaded_at: 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/)
})

test('why of an evaluation that a list names and that was never read says that it is new each time', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  fixture.sandbox.faults.add({
    match: { path: '/geteval', evalId: 1003 },
    fault: { kind: 'status', status: 400 },
  })
  await warehouse.night()

  const { stdout } = await warehouse.run(['why', '1003'])

  const text = stdout.replaceAll(/\s+/g, ' ')
  expect(text).toContain('because it was new: vanished')
  expect(text).toContain('each time that a list names it')
})
