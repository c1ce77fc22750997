import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { planRetry } from '#src/sync/records/retry-quarantined.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import type { AppraisalWire } from '#src/values/wire.ts'
import { eraseIn } from '../privacy/erase/erase-fixture.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { morning, rowsOf } from '../support/pricing-fixture.ts'

const ids = [1000, 1001, 1002]
const other = 1001
const createdAt = morning.getTime() - 20 * 3_600_000

async function openNorth(): Promise<Fixture> {
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: ids.map((evalId) =>
      anEvaluation({ evalId, rooftopUid: 'north', createdAt: new Date(createdAt + evalId) }),
    ),
  })
  return await openFixture({ sandbox: { world, now: morning } })
}

/** Retries all, with other paths in the evaluation; how often the source was asked for one. */
async function retry(
  { context, sandbox }: Fixture,
  paths: Partial<AppraisalWire['evaluation']> = {},
): Promise<number> {
  const { wire } = context.config
  const evaluation = { ...wire.appraisal.evaluation, ...paths }
  const config = {
    ...context.config,
    wire: { ...wire, appraisal: { ...wire.appraisal, evaluation } },
  }
  const asked = () => sandbox.requests.count('/geteval')
  const before = asked()
  const planned = await planRetry(context.db, config, allStreams, {})
  await runStreams({ ...context, config }, planned!.request)
  return asked() - before
}

const makes = async (fixture: Fixture) =>
  await rowsOf<{ make: string | null }>(
    fixture,
    `select make from core.evaluation where eval_id = ${other}`,
  )
const open = async (fixture: Fixture) =>
  (await rowsOf(fixture, 'select from ops.quarantine where resolved_at is null')).length

test('a record that fits after a setting was corrected is loaded as it was stored', async () => {
  await using fixture = await openNorth()
  fixture.sandbox.world.poison(other, { Make: { code: 7 }, Marque: 'Ford' })
  await fixture.night()

  const still = [await retry(fixture), await open(fixture)]
  const asked = await retry(fixture, { make: 'Marque' })

  expect(still).toEqual([1, 1])
  expect([asked, await open(fixture), await makes(fixture)]).toEqual([0, 0, [{ make: 'Ford' }]])
})

test('a record that was loaded before is read from the source: what is in quarantine may be older', async () => {
  await using fixture = await openNorth()
  await fixture.night()
  fixture.sandbox.world.poison(other, { Make: { code: 7 }, Marque: 'Ford' })
  fixture.sandbox.world.edit(other, new Date(morning.getTime() + 3_600_000), { odometer: 9 })
  await fixture.nightAfter(1)
  expect(await open(fixture)).toBe(1)
  fixture.sandbox.world.poison(other, { Make: { code: 7 }, Marque: 'Kia' })

  expect(await retry(fixture, { make: 'Marque' })).toBe(1)
  expect([await open(fixture), await makes(fixture)]).toEqual([0, [{ make: 'Kia' }]])
})

test('a record that Postgres refused is read from the source: it would be refused again', async () => {
  await using fixture = await openNorth()
  await rowsOf(fixture, `alter table core.evaluation add constraint no_odd check (make <> 'Odd')`)
  fixture.sandbox.world.poison(other, { Make: 'Odd' })
  await fixture.night()
  expect(await open(fixture)).toBe(1)
  fixture.sandbox.world.poison(other, { Make: 'Kia' })

  expect(await retry(fixture)).toBe(1)
  expect([await open(fixture), await makes(fixture)]).toEqual([0, [{ make: 'Kia' }]])
})

test('a record that an erasure has changed is read from the source: the mark hides whose contact it was', {
  tags: 'ci',
}, async () => {
  await using fixture = await openNorth()
  fixture.sandbox.world.poison(other, {
    ...{ Make: { code: 7 }, Marque: 'Ford' },
    ...{ Contact: 'Mail to jane@home.example', Party: 'Jane Whartonlake' },
  })
  await fixture.night()
  await eraseIn(fixture, { kind: 'email', value: 'jane@home.example' })

  const paths = { make: 'Marque', customerEmail: 'Contact', customerName: 'Party' }
  expect(await retry(fixture, paths)).toBe(1)
  const stored = await rowsOf<{ text: string }>(
    fixture,
    `select customer::text as text from pii.evaluation_customer as customer
     union all select body::text from raw.payload`,
  )
  expect(stored.filter(({ text }) => /jane|whartonlake/i.test(text))).toEqual([])
})
