import { expect, test, vi } from 'vitest'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { type Provenance, readProvenance } from '#src/sync/explain/provenance.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { readSourceNow } from '#src/warehouse/db/source-now.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { someOf } from '../support/cases.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'

vi.setConfig({ testTimeout: 300_000 })

const now = new Date('2026-03-20T02:00:00Z')
const ages = [0.2, 1, 2, 4, 6, 9, 13, 16, 20, 30, 47, 61]
const ids = ages.map((_, index) => 1000 + index)

/** A rooftop with an evaluation of each age in days; windows are listed every night for 6 days, then every fifth night. */
async function openAges(listCarriesUpdatedAt: boolean): Promise<Fixture> {
  const drafts = ages.map((days, index) =>
    anEvaluation({ evalId: ids[index]!, createdAt: new Date(now.getTime() - days * dayMs - 1) }),
  )
  const start = new Date(now.getTime() - 70 * dayMs).toISOString()
  return await openFixture({
    sandbox: { world: worldOf({ evaluations: drafts }), now, listCarriesUpdatedAt },
    sync: { start, settleDays: 2, recheckDays: 6, deepRelistNights: 5 },
  })
}

async function explain({ context, config }: Fixture, id: number): Promise<Provenance> {
  const { db } = context
  const rooftops = await findRooftops(db, config.rooftops)
  const scope = {
    config,
    rooftops,
    streams: [],
    stream: evaluationRecords,
    now: await readSourceNow(db),
  }
  return (await readProvenance(db, id, scope))[0]!
}

function readIds({ sandbox }: Fixture, after: number): number[] {
  return sandbox.requests
    .entries('/geteval')
    .slice(after)
    .map(({ body }) => Number((body as { evalid: unknown }).evalid))
}

test.each(someOf([false, true], 1))(
  'every record is read again on the night that was foretold (list with update times: %s)',
  async (listCarriesUpdatedAt) => {
    await using fixture = await openAges(listCarriesUpdatedAt)
    await fixture.night()
    const first = await explain(fixture, 1000)
    // Predicted before the night begins, as a person would ask in the morning.
    fixture.sandbox.clock.advance(dayMs)
    await fixture.night()
    const foretold = new Map<number, string>()
    const today = fixture.sandbox.clock.now()
    for (const id of ids) {
      const { nextRead, nextReadWithoutListTimes } = await explain(fixture, id)
      const at = listCarriesUpdatedAt ? nextRead.at! : (nextReadWithoutListTimes ?? nextRead.at!)
      // The next sync of this test is tomorrow's.
      const next = new Date(today.getTime() + dayMs)
      foretold.set(id, new Date(Math.max(at.getTime(), next.getTime())).toISOString().slice(0, 10))
    }

    const read = new Map<number, string>()
    for (let night = 0; night < 34 && read.size < ids.length; night++) {
      const before = fixture.sandbox.requests.count('/geteval')
      await fixture.nightAfter(1)
      const day = fixture.sandbox.clock.now().toISOString().slice(0, 10)
      for (const id of readIds(fixture, before)) if (!read.has(id)) read.set(id, day)
    }

    expect([...read].sort()).toEqual([...foretold].sort())
    if (listCarriesUpdatedAt) await expectKnownByWindow(fixture, first)
  },
)

/** A re-read that changed nothing is known by the certificate of the window. */
async function expectKnownByWindow(fixture: Fixture, first: Provenance): Promise<void> {
  const later = await explain(fixture, 1000)
  expect(first).toMatchObject({
    lastRead: { reason: 'new', runId: 1, outcome: 'stored' },
    rereadBetween: null,
    withinNights: 33,
    isPutOff: false,
    lastRun: { runId: 1, command: 'sync', status: 'ok', error: null },
  })
  expect(first.lastRead!.at.getTime() - now.getTime()).toBeLessThan(60_000)
  expect(later.lastRead).toEqual(first.lastRead)
  const { after, before } = later.rereadBetween!
  expect(before.getTime() - after.getTime()).toBeLessThanOrEqual(28 * dayMs)
  expect(after.getTime()).toBeGreaterThan(now.getTime())
}

test('a stored record whose later read was not answered is not a new record', {
  tags: 'ci',
}, async () => {
  await using fixture = await openAges(true)
  await fixture.night()
  fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 503, body: {} },
  })

  const isQuarantined = async () => {
    const query = "select from ops.quarantine where natural_key = '1000'"
    return (await fixture.database.pool.query(query)).rowCount === 1
  }
  while (!(await isQuarantined())) await fixture.nightAfter(1)

  const { lastRead } = await explain(fixture, 1000)
  expect(lastRead).toMatchObject({ outcome: 'quarantined', reason: 'again' })
})
