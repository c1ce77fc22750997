import { expect, test } from 'vitest'
import type { World } from '#src/sandbox/world.ts'
import { allStreams } from '#src/streams/all.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import {
  type ChildFixture,
  type ChildWarehouse,
  openChildFixture,
} from '../../support/child-fixture.ts'
import { smallFixture, smallWorld } from './sync-fixture.ts'

// What a person reads in the morning: what is wrong first with its cure, the rest in a line each, at 80 columns in a pipe.

/** A warehouse of some rooftops after its first night, if it had one. */
interface Place {
  readonly warehouse: ChildWarehouse
  readonly fixture: ChildFixture
}

interface Case {
  readonly name: string
  readonly world?: () => World
  readonly hasNight?: boolean
  readonly plant?: (place: Place) => Promise<unknown>
  readonly code: number
  /** Parts of the text, without its line breaks, in their order. */
  readonly shows: readonly (string | RegExp)[]
  readonly hides?: readonly string[]
}

const rooftops = (count: number) => () => {
  const all = Array.from({ length: count }, (_, at) =>
    aRooftop({
      ...{ uid: `rooftop-${at + 1}`, dealerId: 101 + at },
      name: `Dealership with a name of some length, number ${at + 1}`,
    }),
  )
  return worldOf({
    rooftops: all,
    keys: [aKey({ name: 'group-au', value: '0f3a9c', rooftopUids: all.map(({ uid }) => uid) })],
    evaluations: [anEvaluation({ evalId: 1001, createdAt: '2026-03-02T01:00:00Z' })],
  })
}

const many = 12

const query = async ({ warehouse }: Place, text: string) =>
  await warehouse.database.pool.query(text)

const cases: readonly Case[] = [
  {
    name: 'all well',
    code: 0,
    shows: [
      /^All objectives are met\. users: 1 of 1 rooftop fresh, complete to 2026-03-10 06:30:00 UTC evaluations: 1 of 1/,
      'Keys: 2 of 2 open',
      'Links to PDFs: none yet',
    ],
    hides: ['Cure:', 'Well:', 'nights', 'Spent'],
  },
  {
    name: 'a proof that is old',
    plant: async (place) =>
      await query(
        place,
        `insert into ops.verification (rooftop_id, stream, verified_at) values (1, 'evaluations', now() - interval '3 days')`,
      ),
    code: 0,
    shows: [
      /^All objectives are met\. .* verified at \S+ \S+ UTC, more than 2 days ago: run "forecourt verify"/,
    ],
  },
  {
    name: 'many rooftops that are well',
    world: rooftops(many),
    code: 0,
    shows: [`evaluations: ${many} of ${many} rooftops fresh, complete to 2026-03-10 06:30:00 UTC`],
    hides: ['Dealership'],
  },
  {
    name: 'a dead key at many rooftops',
    world: rooftops(many),
    plant: async ({ fixture, warehouse }) => {
      fixture.sandbox.faults.add({
        fault: { kind: 'status', status: 401, body: { error: 'Invalid API key' } },
      })
      await warehouse.night(allStreams)
    },
    code: 1,
    shows: [
      `Not fresh or not complete: ${many} of ${many} rooftops, 1 cause. Key group-au is refused since 20`,
      `UTC, at all ${many} rooftops`,
      `and ${many - 4} more`,
      'The service answered 401: "Invalid API key"',
      'the last good answer: 20',
      'Cure: Correct the value of key group-au (keys.group-au.value of warehouse-1.yaml), then run "forecourt check".',
      '"Change a key" in src/web/operations/README.md.',
      'Keys: 1 of 2 open',
    ],
    hides: ['Run "forecourt sync"'],
  },
  {
    name: 'a rooftop that is late',
    world: rooftops(3),
    plant: async (place) =>
      await query(
        place,
        `update ops.run_stream set finished_at = finished_at - interval '27 hours' where rooftop_id = 1`,
      ),
    code: 1,
    shows: [
      'Not fresh or not complete: 1 of 3 rooftops, 1 cause.',
      /of Dealership with a name of some length, number \d: late no good run within 26 h; the last good run ended 20[0-9 :-]+ UTC Cure: Run "forecourt sync"/,
      'Well: users: 2 of 3 rooftops fresh',
    ],
  },
  {
    name: 'gaps',
    plant: async (place) =>
      await query(
        place,
        `with gone as (
           delete from ops.window_certificate where window_from in ('2026-03-04T00:00:00Z', '2026-03-06T00:00:00Z') returning *)
         update ops.coverage as o set covered = covered - (
           select range_agg(tstzrange(window_from, window_until)) from gone where rooftop_id = o.rooftop_id and stream = o.stream)
         where (rooftop_id, stream) in (select rooftop_id, stream from gone)`,
      ),
    code: 1,
    shows: [
      'evaluations of Rooftop One: not listed Rooftop One: not listed: 2026-03-04 00:00:00 UTC to 2026-03-05 00:00:00 UTC',
      'Cure: Run "forecourt sync", then "forecourt verify".',
      'Well: users: 1 of 1',
    ],
  },
  {
    name: 'records in quarantine',
    hasNight: false,
    plant: async ({ fixture, warehouse }) => {
      fixture.sandbox.world.poison(1002, { UpdatedAt: 'never' })
      fixture.sandbox.world.poison(1003, { UpdatedAt: 'never' })
      await warehouse.night(allStreams)
    },
    code: 1,
    shows: [
      'evaluations of Rooftop One: 2 records in quarantine Cure: See "forecourt quarantine list"',
    ],
  },
  {
    name: 'a source that answers with a page',
    plant: async ({ fixture, warehouse }) => {
      fixture.sandbox.faults.add({ match: { path: '/getuserlist' }, fault: { kind: 'html' } })
      await warehouse.night(allStreams)
    },
    code: 1,
    shows: [
      /users of Rooftop One: failed .*getuserlist.*web page, not JSON.* Cure: Do what the cause says, then run "forecourt sync"\./,
    ],
  },
  {
    name: 'nothing ran yet',
    hasNight: false,
    code: 1,
    shows: [
      'users, evaluations, pricing, vehicle-checks, stock-prices of Rooftop One: never loaded Cure: Run "forecourt sync".',
    ],
    hides: ['fresh, complete'],
  },
  {
    name: 'a rooftop that has left the config',
    plant: async (place) => {
      await query(
        place,
        `insert into core.rooftop overriding system value select (json_populate_record(r, json_build_object('rooftop_id', 99, 'rooftop_uid', 'retired', 'rooftop_name', 'Retired', 'dealer_id', 999))).* from core.rooftop as r`,
      )
      await query(
        place,
        `insert into ops.key_state (key_name, rooftop_uid, operation, refused_since, refused_at) values ('appraisal/partner-au', 'retired', 'getevallist', now(), now())`,
      )
    },
    code: 0,
    shows: ['All objectives are met.', 'Keys: 2 of 2 open'],
    hides: ['etired'],
  },
]

test.for(someOf(cases, 3))('status: $name', { timeout: 120_000 }, async (one) => {
  const { world = smallWorld, hasNight = true, plant, code, shows, hides = [] } = one
  await using fixture = await openChildFixture(smallFixture(world()))
  await using warehouse = await fixture.warehouse()
  if (hasNight) await warehouse.night(allStreams)
  await plant?.({ warehouse, fixture })

  const short = await warehouse.run(['status'])
  const all = await warehouse.run(['status', '--all'])

  expect([short.code, all.code]).toEqual([code, code])
  const lines = `${short.stdout}\n${all.stdout}`.split('\n')
  expect(lines.filter((line) => line.length > 80)).toEqual([])
  expect(lines.filter((line) => /\d{4}-\d\d-\d\dT/.test(line))).toEqual([])
  const text = short.stdout.replaceAll(/\s+/g, ' ')
  for (const part of shows) expect(text).toMatch(part)
  for (const part of hides) expect(text).not.toContain(part)
})

test('status --all also shows every row, and when deletions are found', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night(allStreams)

  const { stdout } = await warehouse.run(['status', '--all'])

  expect(stdout).toMatch(/stream: vehicle-checks, status: ok|vehicle-checks +ok/)
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Each evaluation is read again at least once in 56 nights (28 + sync.deepRelistNights)',
  )
})
