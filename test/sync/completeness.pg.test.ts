import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AppraisalClient } from '#src/api/sources/appraisal/client.ts'
import { openServices } from '#src/api/sources/open-services.ts'
import type { FaultRule } from '#src/sandbox/faults.ts'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { coverageFaults } from '../support/coverage-faults.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import {
  begin,
  busyDays,
  type NightPlan,
  type Scenario,
  scenarios,
} from '../support/random-scenario.ts'
import { lastEvent, worldFor } from '../support/random-world.ts'
import { verifyStream } from '../support/verify-stream.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const numRuns = Number(process.env['FORECOURT_WORLDS'] ?? 1)
const seed = process.env['FORECOURT_SEED']

test(
  `after a quiet time the warehouse equals the source, in ${numRuns} random worlds`,
  async () => {
    await fc.assert(fc.asyncProperty(scenarios, proves), {
      numRuns,
      endOnFailure: true,
      ...(seed === undefined ? {} : { seed: Number(seed) }),
    })
  },
  60_000 + numRuns * 60_000,
)

async function proves(scenario: Scenario): Promise<void> {
  const world = worldFor(scenario)
  const firstNight = new Date(begin + scenario.history * dayMs)
  await using fixture = await openFixture({
    sandbox: { world, now: firstNight, listCarriesUpdatedAt: scenario.listCarriesUpdatedAt },
    sync: { start: new Date(begin).toISOString(), ...scenario.sync },
    http: { maxRetries: scenario.maxRetries },
    dealerIds: scenario.dealerIds,
  })
  // A learned rate follows the real clock, which these nights do not wait for.
  await using unpaced = openServices(fixture.config, fixture.context.log, ['read'])
  const nights = { fixture, scenario, appraisal: unpaced.appraisal }
  await busyTime(nights, lastEvent(world, scenario))
  await quietTime(nights)

  const now = fixture.sandbox.clock.now()
  const attribution = scenario.dealerIds ? 'rooftop' : 'group'
  const expected = sourceTruth(world, now, attribution)
  expect(differences(expected, await held(fixture, scenario))).toEqual([])
  // Windows have whole seconds: the current second belongs to the next night.
  const until = new Date(Math.floor(now.getTime() / 1000) * 1000)
  // A window is covered as a whole, so the last one of the grid may not be old enough yet.
  const { settleDays, windowHours } = scenario.sync
  const settled = new Date(until.getTime() - (settleDays + windowHours / 24) * dayMs)
  const bounds = { from: new Date(begin), until, settled }
  expect(await coverageFaults(fixture.database.pool, bounds)).toEqual([])
  expect(await openEnds(fixture)).toEqual([])
  expect(await unproved(fixture)).toEqual([])
}

/** What verify reports about rows that only the product has written. */
async function unproved({ context: { db, config } }: Fixture): Promise<unknown[]> {
  const rooftops = await findRooftops(db, config.rooftops)
  const found = rooftops.map((one) =>
    verifyStream(db, evaluationRecords, one, config.sync, new Date()),
  )
  return (await Promise.all(found)).flatMap(({ brokenSums, notStored, uncertified, overlaps }) =>
    [brokenSums, notStored, uncertified, overlaps].flat(),
  )
}

/** Without dealerIds a rooftop is known by its group, which a config with dealerIds does not name. */
async function held(fixture: Fixture, { dealerIds }: Scenario) {
  return await warehouseTruth(fixture.database.pool, dealerIds ? 'rooftop' : 'group')
}

interface Nights {
  readonly fixture: Fixture
  readonly scenario: Scenario
  readonly appraisal: AppraisalClient
}

/** Nights with faults and interrupted runs while the source changes, until its last change. */
async function busyTime(nights: Nights, last: Date): Promise<void> {
  const { fixture, scenario } = nights
  const { clock } = fixture.sandbox
  await faultyNight(nights, { ...scenario.nights[0]!, after: 0 })
  for (const night of scenario.nights) await faultyNight(nights, night)
  clock.set(new Date(Math.max(clock.now().getTime(), begin + busyDays(scenario) * dayMs)))
  while (clock.now() < last) {
    const days = Math.min(8, (last.getTime() - clock.now().getTime()) / dayMs + 0.01)
    await faultyNight(nights, { ...calm, after: days })
  }
}

const calm: NightPlan = { after: 1, fault: null, path: null, chance: 1, crash: null }

/**
 * Enough nights, by the source's clock. Within `deepRelistNights` every window is listed again. Within 28 more (the longest step
 * of reread.ts) every known record without an update time is read when its window is next listed. After `settleDays` the last
 * window is covered. A skipped night changes nothing, so several nights at a time are enough.
 */
async function quietTime({ fixture, scenario, appraisal }: Nights): Promise<void> {
  const { sync, listCarriesUpdatedAt, sliceLimits } = scenario
  fixture.sandbox.faults.clear()
  if (scenario.cap && !scenario.capEnds) fixture.sandbox.faults.add(capRule(scenario.cap))
  const reread = listCarriesUpdatedAt ? 0 : 28
  const days = sync.deepRelistNights + reread + sync.settleDays + 2
  const stride = listCarriesUpdatedAt ? 1 : 4
  for (let passed = 0; passed < days; passed += stride) {
    const report = await fixture.nightAfter(stride, { appraisal, sliceLimits })
    expect(report.rooftops, 'a quiet night has nothing to complain of').toEqual(
      Object.fromEntries(fixture.config.rooftops.map(({ uid }) => [uid, { status: 'ok' }])),
    )
  }
}

async function faultyNight(
  { fixture, scenario, appraisal }: Nights,
  night: NightPlan,
): Promise<void> {
  const { faults } = fixture.sandbox
  faults.clear()
  if (night.fault) faults.add(ruleOf(night))
  if (scenario.cap) faults.add(capRule(scenario.cap))
  let passed = 0
  const crashPoint = (name: string) => {
    if (name === night.crash?.point && ++passed === night.crash.nth)
      throw new Error(`broken off at ${name}`)
  }
  const { sliceLimits } = scenario
  await fixture.nightAfter(night.after, { appraisal, crashPoint, sliceLimits })
}

function ruleOf({ fault, path, chance }: NightPlan): FaultRule {
  const match = path === null ? {} : { path }
  return { match, probability: chance, fault: faultOf(fault!) }
}

function faultOf(kind: NonNullable<NightPlan['fault']>): FaultRule['fault'] {
  if (kind === 'status') return { kind, status: 500 }
  if (kind === 'tooMany') return { kind, retryAfter: 0 }
  return { kind }
}

function capRule(cap: NonNullable<Scenario['cap']>): FaultRule {
  return { fault: { kind: 'listCap', ...cap } }
}

/** Open quarantine entries, and child rows without an evaluation. */
async function openEnds({ database }: Fixture): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    `select stream, natural_key, issues::text from ops.quarantine where resolved_at is null
     union all
     select 'child', eval_id::text, 'of no evaluation' from (
       select rooftop_id, eval_id from core.evaluation_version union select rooftop_id, eval_id from core.photo
       union select rooftop_id, eval_id from core.reconditioning_item
       union select rooftop_id, eval_id from pii.evaluation_customer
       except select rooftop_id, eval_id from core.evaluation) as orphan`,
  )
  return rows
}
