import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RequestLog } from '#src/sandbox/request-log.ts'
import { anEvaluation, aRooftop, aUser, worldOf } from '../support/build-world.ts'
import { truthAt } from '../support/truth.ts'

const at = (second: number) => new Date(second * 1000)
const bound = fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined })

test('the list is what a plain comparison of every EntryDate finds', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ second: fc.integer({ min: 1, max: 29 }), rooftop: fc.nat(2) })),
      bound,
      bound,
      (begun, after, before) => {
        const rooftops = [0, 1, 2].map((n) => aRooftop({ uid: `r${n}` }))
        const evaluations = begun.map(({ second, rooftop }, evalId) =>
          anEvaluation({ evalId, rooftopUid: `r${rooftop}`, createdAt: at(second) }),
        )
        const world = worldOf({ rooftops, evaluations })

        const listed = world.listed(['r0', 'r2'], { after, before }, new Date())
        const expected = begun.flatMap(({ second, rooftop }, evalId) =>
          rooftop !== 1 &&
          (after === undefined || second > after) &&
          (before === undefined || second < before)
            ? [evalId]
            : [],
        )
        expect(listed.map(({ evalId }) => evalId).sort((a, b) => a - b)).toEqual(expected)
      },
    ),
  )
})

test('the truth holds every plain value as of the instant', () => {
  const world = worldOf({
    users: [aUser({ userId: 7, name: 'Sam', email: 'sam@example.com' })],
    evaluations: [
      anEvaluation({
        userId: 7,
        createdAt: at(100),
        completedAt: at(200),
        notes: undefined,
        reconditioning: [
          { type: 'a', source: null, cost: 0.1, value: null },
          { type: 'b', source: null, cost: 0.2, value: null },
        ],
        photos: [
          { id: 2, order: 2, angle: 'rear' },
          { id: 1, order: 1 },
        ],
        edits: [{ at: at(300), patch: { finalPrice: 0, customer: { name: 'Kim' } } }],
        vanishedAt: at(400),
      }),
    ],
  })

  expect(truthAt(world, at(199))).toEqual([])
  expect(truthAt(world, at(200))).toMatchObject([
    {
      evalId: 1001,
      rooftopUid: 'rooftop-1',
      dealerId: 101,
      groupId: 'group-1',
      createdAt: at(100),
      completedAt: at(200),
      updatedAt: at(200),
      userName: 'Sam',
      userEmail: 'sam@example.com',
      vin: 'JTMDFREV90D123456',
      notes: null,
      finalPrice: 23_500,
      reconTotal: 0.3,
      reconLineTotal: 0.3,
      heroSource: 'default',
      photos: [
        { id: 1, position: 1, order: 1, hero: true, heroSource: 'default', angle: null },
        { id: 2, position: 2, order: 2, hero: false, heroSource: null, angle: 'rear' },
      ],
      customer: { name: 'Pat Example', phone: '0491 570 006' },
      poisoned: false,
    },
  ])
  expect(truthAt(world, at(300))).toMatchObject([
    { updatedAt: at(300), finalPrice: 0, customer: { name: 'Kim', phone: '0491 570 006' } },
  ])
  expect(truthAt(world, at(400))).toEqual([])
})

test('a live world takes new evaluations, completions and disappearances', () => {
  const world = worldOf()
  const ids = (second: number) => truthAt(world, at(second)).map(({ evalId }) => evalId)

  world.add(anEvaluation({ evalId: 2, createdAt: at(10), completedAt: null }))
  world.add(anEvaluation({ evalId: 1, createdAt: at(5), completedAt: at(6) }))
  expect(ids(20)).toEqual([1])
  world.complete(2, at(15))
  expect([ids(14), ids(15)]).toEqual([[1], [1, 2]])
  world.vanish(1, at(18))
  expect([ids(17), ids(18)]).toEqual([[1, 2], [2]])
})

test('a world refuses invalid changes', () => {
  const world = worldOf({ evaluations: [anEvaluation()] })

  expect(() => world.add(anEvaluation())).toThrow('Evaluation 1001 is there already')
  expect(() => world.add(anEvaluation({ evalId: 2, rooftopUid: 'x' }))).toThrow('rooftop x')
  expect(() => world.edit(9, at(0), {})).toThrow('no evaluation 9')
  expect(() => world.poison(9, {})).toThrow('no evaluation 9')
})

test('the log keeps the latest requests in order and counts all', () => {
  const log = new RequestLog()
  for (let body = 0; body < 20_005; body++) {
    log.add({ path: '/geteval', key: null, rooftopUid: null, body, status: 200, at: at(0) })
  }

  const entries = log.entries()
  expect([log.count(), entries.length, entries[0]?.body, entries.at(-1)?.body]).toEqual([
    20_005, 20_000, 5, 20_004,
  ])
})
