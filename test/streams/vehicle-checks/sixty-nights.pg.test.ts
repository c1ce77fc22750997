import { expect, test } from 'vitest'
import type { VehicleCheck } from '#src/sandbox/checks.ts'
import { seededRandom } from '#src/sandbox/seeded-random.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { aRooftop, type EvaluationDraft } from '../../support/build-world.ts'
import {
  addCheck,
  checkedFixture,
  checkRequests,
  dayMs,
  paths,
} from '../../support/checks-fixture.ts'
import { type Fixture, runNight } from '../../support/fixture.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'
import { LeastCalls, type Rules, Subject } from './least-calls.ts'

/** Sixty runs take half a minute, and longer on a busy machine. */
const timeoutMs = 300_000
const hourMs = 3_600_000

interface Stored {
  readonly ref: string
  readonly kind: VehicleCheck['kind']
  readonly status: string
  readonly vin: string
}

/** 24 evaluations of 18 vehicles at two rooftops of a group, from a month before the first night to the fiftieth. */
function draftsOf(random: ReturnType<typeof seededRandom>): EvaluationDraft[] {
  return Array.from({ length: 24 }, (_, index) => {
    const createdAt = new Date(morning.getTime() + random.int(-30 * 24, 50 * 24) * hourMs)
    return {
      evalId: 1001 + index,
      rooftopUid: index % 3 === 0 ? 'rooftop-2' : 'rooftop-1',
      vin: `JTMDFREV90D1${String(10_000 + (index % 18))}`,
      createdAt,
      vanishedAt: index === 7 ? new Date(createdAt.getTime() + 25 * dayMs) : null,
    }
  })
}

/** One to three searches on most vehicles, some again once the watch is over, some with a report. */
function runChecks(fixture: Fixture, drafts: readonly EvaluationDraft[]): VehicleCheck[] {
  const random = seededRandom(4, 'checks of sixty nights')
  return drafts.flatMap((draft) => {
    if (random.chance(0.2)) return []
    const { evalId = 0, rooftopUid = '' } = draft
    const vin = draft.vin ?? ''
    const born = (new Date(draft.createdAt!).getTime() - morning.getTime()) / dayMs
    const first = born + random.int(1, 6 * 24) / 24
    const again = random.chance(0.4) ? [first + random.int(15, 30)] : []
    const about = { evalId, rooftopUid, vin }
    return [
      ...[first, ...again].map((days) => addCheck(fixture, days, about)),
      ...(random.chance(0.4)
        ? [addCheck(fixture, first + 0.1, { ...about, kind: 'car_history' as const })]
        : []),
    ]
  })
}

function subjectsOf(fixture: Fixture, checks: readonly VehicleCheck[]): Subject[] {
  const all = [...fixture.sandbox.world.evaluations()]
  return [...new Set(all.map(({ vin }) => vin!))].map(
    (vin) =>
      new Subject(
        checks.filter((one) => one.vin === vin),
        (now) => {
          const seen = all
            .filter((one) => one.vin === vin && one.completedAt!.getTime() <= now)
            .filter(({ vanishedAt }) => vanishedAt === null || vanishedAt.getTime() > now)
            .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || b.evalId - a.evalId)
          return seen[0]?.completedAt?.getTime() ?? null
        },
      ),
  )
}

async function stored(fixture: Fixture): Promise<Stored[]> {
  return await rowsOf<Stored>(
    fixture,
    'select check_ref as ref, check_kind as kind, watch_status as status, vin from core.vehicle_check order by check_ref::int',
  )
}

/** Hours until the first link expires, of vehicles that can still be asked about. */
async function hoursToLive(fixture: Fixture): Promise<number> {
  const [row] = await rowsOf<{ first: Date | null }>(
    fixture,
    `select min(expires_at) as first from pii.signed_link join core.vehicle_check as c using (rooftop_id, eval_id)
     where link_ref = check_ref and exists (
       select from core.evaluation as e where e.group_id = c.group_id and e.vin = c.vin and e.gone_at is null)`,
  )
  const now = fixture.sandbox.clock.now().getTime()
  return row?.first ? (row.first.getTime() - now) / hourMs : Number.POSITIVE_INFINITY
}

/** Polls of the night for vehicles whose searches could no longer change, by what was stored before it. */
async function needlessPolls(fixture: Fixture, before: readonly Stored[], since: number) {
  const now = fixture.sandbox.clock.now().getTime()
  const polls = fixture.sandbox.requests
    .entries(paths.watch)
    .filter(({ at }) => at.getTime() > since)
    .map(({ body }) => (body as { evalid: number }).evalid)
  return polls.filter((evalId) => {
    const { vin } = fixture.sandbox.world.evaluation(evalId)!
    return !before.some((one) => {
      const real = [...fixture.sandbox.checks.all()].find(({ id }) => String(id) === one.ref)!
      const isWatched = real.searchedAt.getTime() + 14 * dayMs > now
      return (
        one.vin === vin &&
        one.kind === 'ppsr' &&
        isWatched &&
        !['changed', 'expired'].includes(one.status)
      )
    })
  })
}

/** Whether no evaluation is new or has gone since the night before: then only its checks can be new. */
function isQuiet(drafts: readonly EvaluationDraft[], now: number): boolean {
  const isRecent = (at: unknown) =>
    at instanceof Date && at.getTime() <= now && at.getTime() > now - 2 * dayMs
  return !drafts.some(({ createdAt, vanishedAt }) => isRecent(createdAt) || isRecent(vanishedAt))
}

/** Rows that differ from what the stored payloads make of them. */
async function differingRows({ context, config }: Fixture) {
  const rooftops = await findRooftops(context.db, config.rooftops)
  return (await verifyRows(context, [vehicleChecks], rooftops, null, context.signal)).rows
}

async function play(nights: number, rules: Rules): Promise<{ asked: number; least: number }> {
  const drafts = draftsOf(seededRandom(3, 'sixty nights'))
  await using fixture = await checkedFixture(drafts, {
    rooftopsOfWorld: [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })],
    checks: rules,
    sync: {
      start: new Date(morning.getTime() - 40 * dayMs).toISOString(),
      windowHours: 744,
      recheckDays: 40,
    },
  })
  const checks = runChecks(fixture, drafts)
  const subjects = subjectsOf(fixture, checks)
  const least = new LeastCalls(rules)
  let before: Stored[] = []
  for (let night = 0; night < nights; night++) {
    if (night > 0) {
      fixture.sandbox.clock.advance(dayMs)
      expect(await hoursToLive(fixture), `night ${night}`).toBeGreaterThanOrEqual(48)
    }
    const now = fixture.sandbox.clock.now().getTime()
    const run =
      isQuiet(drafts, now) && night > 0
        ? await runNight(fixture.context, [vehicleChecks])
        : await fixture.night()
    least.night(subjects, now)

    expect(run.status, `night ${night}`).toBe('ok')
    expect(await needlessPolls(fixture, before, now - 1), `night ${night}`).toEqual([])
    before = await stored(fixture)
    const truth = subjects
      .flatMap((subject) => [...subject.seen.keys()].map((one) => ({ subject, one })))
      .map(({ subject, one }) => ({
        ref: String(one.id),
        kind: one.kind,
        status:
          subject.completedAt(now) === null ? subject.seen.get(one) : subject.statusAt(one, now),
        vin: one.vin,
      }))
      .sort((a, b) => Number(a.ref) - Number(b.ref))
    expect(before, `night ${night}`).toEqual(truth)
  }
  expect(await differingRows(fixture)).toEqual([])
  const { ppsr, history, watch } = checkRequests(fixture)
  return { asked: ppsr + history + watch, least: least.total }
}

test('thirty nights with a poll every night: each morning holds every check, with the status that it has', {
  tags: 'ci',
  timeout: timeoutMs,
}, async () => {
  const calls = await play(30, { dailyForDays: 3, lookEveryDays: 1, lookForNewDays: 90 })

  expect(calls.asked).toBeLessThanOrEqual(calls.least * 1.1)
})

test('sixty nights as the config has it: no link dies, no watch that ended is polled, no call is wasted', {
  tags: 'ci',
  timeout: timeoutMs,
}, async () => {
  const calls = await play(60, { dailyForDays: 3, lookEveryDays: 7, lookForNewDays: 90 })

  expect(calls.asked).toBeLessThanOrEqual(calls.least * 1.1)
})
