import { samples } from '#src/sandbox/samples.ts'
import type { World } from '#src/sandbox/world.ts'
import {
  aKey,
  anEvaluation,
  aRooftop,
  aUser,
  type EvaluationDraft,
  worldOf,
} from '../support/build-world.ts'
import type { Who } from './row.ts'

/** When every row begins; the clock is frozen there. */
export const now = '2026-03-10T00:00:00.000Z'

type Caller = 'one' | 'two' | 'three' | 'us' | 'gcc' | 'wrong'

/** Who may ask: an AU partner key over three rooftops of two groups, a dedicated US key, a GCC key without a user. */
export const who: Readonly<Record<Caller, Who>> = {
  one: { key: 'au-key', rooftop: 'au-one' },
  /** Same dealer group as `one`. */
  two: { key: 'au-key', rooftop: 'au-two' },
  /** Another dealer group, without Car History. */
  three: { key: 'au-key', rooftop: 'au-three' },
  us: { key: 'us-key', rooftop: null },
  gcc: { key: 'gcc-key', rooftop: 'gcc-one' },
  wrong: { key: 'wrong-key', rooftop: 'au-one' },
}

/** The VIN of evaluations 1001 to 1003. */
export const sharedVin = 'JTMDFREV90D123456'

/** Evaluations by what they are for. */
export const evals = {
  /** Complete, photos 11, 12, 13 with order 1, 2, 3, plate ABC123 of NSW, salesperson Alex. */
  done: 1001,
  /** Complete, at the second rooftop of the group: the same VIN, plate ABC123 of QLD, no photo. */
  sameCar: 1002,
  /** Complete, of another dealer group: the same VIN and plate, photo 31. */
  otherGroup: 1003,
  /** In progress, photos 41 and 42 without an order. */
  open: 1004,
  withoutVin: 1005,
  withoutMileage: 1006,
  shortVin: 1007,
  watchChanges: 1008,
  searchFails: 1009,
  historyFails: 1010,
  watchDisabled: 1011,
  reasoningUnavailable: 1012,
  us: 2001,
  gcc: 3001,
  unknown: 9_999_999,
} as const

/** The world of every row; nothing in it is shared between rows. */
export function conformanceWorld(): World {
  return worldOf({ rooftops, users, keys, evaluations: evaluations() })
}

const rooftops = [
  aRooftop({ uid: 'au-one', groupId: 'harbour', dealerId: 101 }),
  aRooftop({ uid: 'au-two', groupId: 'harbour', dealerId: 102 }),
  { ...aRooftop({ uid: 'au-three', groupId: 'outback', dealerId: 103 }), carHistory: false },
  aRooftop({ uid: 'au-foreign', groupId: 'foreign', dealerId: 104 }),
  aRooftop({ uid: 'us-one', groupId: 'us', dealerId: 201, region: 'US', currency: 'USD' }),
  aRooftop({ uid: 'gcc-one', groupId: 'gcc', dealerId: 301, region: 'GCC', currency: 'AED' }),
]

const harbour = { groupId: 'harbour', rooftopUid: 'au-one' }
const users = [
  aUser({ ...harbour, userId: 1, name: 'Alex Example', email: 'alex@example.com' }),
  aUser({ ...harbour, userId: 2, name: 'Bea Example', email: 'bea@example.com' }),
  aUser({ ...harbour, userId: 3, name: 'Aaron Away', email: 'aaron@example.com', active: false }),
  aUser({
    ...harbour,
    userId: 4,
    name: 'Link Capture 4',
    email: 'link-4@link-capture.invalid',
    generated: true,
  }),
  aUser({
    ...harbour,
    rooftopUid: 'au-two',
    userId: 5,
    name: 'Aba Second',
    email: 'aba@example.com',
  }),
  aUser({
    groupId: 'outback',
    rooftopUid: 'au-three',
    userId: 6,
    name: 'Otto Outback',
    email: 'otto@example.com',
  }),
  aUser({
    groupId: 'us',
    rooftopUid: 'us-one',
    userId: 7,
    name: 'Uma State',
    email: 'uma@example.com',
  }),
  aUser({
    groupId: 'gcc',
    rooftopUid: 'gcc-one',
    userId: 8,
    name: 'Gala Gulf',
    email: 'gala@example.com',
  }),
]

const keys = [
  aKey({ name: 'au', value: 'au-key', rooftopUids: ['au-one', 'au-two', 'au-three'] }),
  aKey({
    name: 'us',
    value: 'us-key',
    kind: 'dedicated',
    region: 'US',
    rooftopUids: ['us-one'],
    linkedUserId: 7,
  }),
  aKey({
    name: 'gcc',
    value: 'gcc-key',
    region: 'GCC',
    rooftopUids: ['gcc-one'],
    linkedUserId: null,
    user: 'gala@example.com',
  }),
]

const plainCar = { vin: 'JTMDFREV90D000001', registration: 'PLAIN1' }

function evaluations() {
  const drafts: readonly EvaluationDraft[] = [
    done,
    { ...same, evalId: evals.sameCar, rooftopUid: 'au-two', registrationState: 'QLD' },
    { ...same, evalId: evals.otherGroup, rooftopUid: 'au-three', photos: [{ id: 31 }], userId: 6 },
    {
      ...plainCar,
      evalId: evals.open,
      completedAt: null,
      photos: [{ id: 41 }, { id: 42 }],
    },
    { ...plainCar, evalId: evals.withoutVin, vin: null },
    { ...plainCar, evalId: evals.withoutMileage, odometer: null },
    { ...plainCar, evalId: evals.shortVin, vin: 'JTMDFREV9' },
    { ...plainCar, evalId: evals.watchChanges, vin: samples.auWatchChanges.vin },
    { ...plainCar, evalId: evals.searchFails, vin: samples.auSearchFails.vin },
    { ...plainCar, evalId: evals.historyFails, vin: samples.auHistoryFails.vin },
    { ...plainCar, evalId: evals.watchDisabled, userId: 4, vin: samples.auWatchDisabled.vin },
    { ...plainCar, evalId: evals.reasoningUnavailable, vin: samples.reasoningUnavailable.vin },
    { evalId: evals.us, rooftopUid: 'us-one', make: 'Honda', model: 'Accord', userId: 7 },
    { evalId: evals.gcc, rooftopUid: 'gcc-one', make: 'Toyota', model: 'RAV4', userId: 8 },
  ]
  return drafts.map((draft, index) =>
    anEvaluation({
      rooftopUid: 'au-one',
      userId: 1,
      createdAt: `2026-03-02T0${Math.floor(index / 2)}:${index % 2 === 0 ? '00' : '30'}:00Z`,
      ...draft,
    }),
  )
}

const same = { vin: sharedVin, registration: 'ABC123', userId: 5 }

const done: EvaluationDraft = {
  evalId: evals.done,
  rooftopUid: 'au-one',
  vin: sharedVin,
  userId: 1,
  registration: 'ABC123',
  registrationState: 'NSW',
  createdAt: '2026-03-02T01:00:00Z',
  completedAt: '2026-03-02T01:30:00Z',
  reconditioning: [
    { type: 'paint', source: null, cost: 400, value: null },
    { type: 'tyres', source: null, cost: 250.5, value: 2 },
    { type: 'info', source: 'maker-x', cost: 0, value: '93%' },
  ],
  customFields: {
    Lane: { type: 'select', options: ['A', 'B'], value: 'A' },
    Remark: { type: 'text', options: null, value: null },
  },
  photos: [
    { id: 11, order: 1, angle: 'front' },
    { id: 12, order: 2 },
    { id: 13, order: 3 },
  ],
}
