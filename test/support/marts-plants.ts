import type { Edit, ReconLine, Rooftop } from '#src/sandbox/world-types.ts'
import type { Planting } from './marts-world.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Adds to each rooftop every case that the reports distinguish. */
export function plantAll(planting: Planting): void {
  planting.world.rooftops.forEach((rooftop, index) => {
    plantSalespeople(planting, rooftop)
    plantPrices(planting, rooftop)
    plantWork(planting, rooftop)
    plantBatteries(planting, rooftop)
    plantOddities(planting, rooftop, index)
    plantEnds(planting, rooftop)
  })
  plantRepeats(planting)
}

const tyres: ReconLine = { type: 'tyres', source: 'workshop', cost: 640.5, value: '4' }

function edit(at: Date, patch: Edit['patch']): Edit {
  return { at, patch }
}

/** Handed over, and then without a salesperson; and captured through a link, without a mileage. */
function plantSalespeople(planting: Planting, { uid, groupId }: Rooftop): void {
  const members = planting.world.users.filter((user) => user.groupId === groupId)
  const [first, second] = members.filter((user) => !user.generated)
  const captured = members.find((user) => user.rooftopUid === uid && user.generated)!
  planting.add(uid, {
    userId: first!.userId,
    edits: [
      edit(planting.after(0, 2), { userId: second!.userId }),
      edit(planting.after(1, 1), { userId: null }),
    ],
  })
  planting.add(uid, { userId: captured.userId, odometer: null })
}

/** Up, down, new and gone; twice in a day, and where one month ends at the rooftop and not yet, or no longer, in UTC. */
function plantPrices(planting: Planting, rooftop: Rooftop): void {
  const { uid } = rooftop
  planting.add(uid, {
    finalPrice: 21_500,
    edits: [
      edit(planting.after(0, 3), { finalPrice: 22_750.5, reconditioning: [tyres, tyres] }),
      edit(planting.after(1, 2), { finalPrice: null, reconditioning: null, reconTotal: 99 }),
    ],
  })
  planting.add(uid, {
    finalPrice: null,
    edits: [
      edit(planting.after(0, 4), { finalPrice: 18_000 }),
      edit(planting.after(1, 3), { finalPrice: 17_666.75, odometer: 199_999 }),
    ],
  })
  planting.add(uid, {
    userId: null,
    edits: [
      edit(planting.after(1, -0.01), { finalPrice: 9_100 }),
      edit(planting.after(1, 0.01), { finalPrice: 9_200 }),
    ],
  })
  planting.add(uid, { edits: [edit(nearEndOfMonth(planting, rooftop), { finalPrice: 7_700 })] })
  planting.add(uid, { finalPrice: 99_999_999 })
}

function nearEndOfMonth({ nights }: Planting, { region }: Rooftop): Date {
  const last = nights[2]
  const thisMonth = Date.UTC(last.getUTCFullYear(), last.getUTCMonth())
  const isRecent = last.getTime() - thisMonth < 24 * hourMs
  const end = isRecent ? Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - 1) : thisMonth
  return new Date(end + (region === 'US' ? 2 : -2) * hourMs)
}

/** Work that costs far more than was thought, some that no one thought of, and lines without type and cost. */
function plantWork(planting: Planting, { uid }: Rooftop): void {
  const glass: ReconLine = { type: 'glass', source: 'dealer', cost: 410, value: '1' }
  const roof = (cost: number): ReconLine => ({ type: 'roof', source: 'dealer', cost, value: null })
  planting.add(uid, {
    reconditioning: [roof(0.125)],
    edits: [edit(planting.after(1, 5), { reconditioning: [roof(9000), glass] })],
  })
  planting.add(uid, {
    reconditioning: [tyres, { type: null, source: null, cost: null, value: 2 }],
    edits: [edit(planting.after(0, 6), { reconTotal: 1300 })],
  })
}

/** Readings of a battery: none, an unreadable one, several, one that is lost later; and a type in capitals. */
function plantBatteries(planting: Planting, { uid }: Rooftop): void {
  const info = (type: string, source: string | null, value: string | number | null): ReconLine => ({
    ...{ type, source, value },
    cost: 0,
  })
  planting.add(uid, { reconditioning: [info('info', 'Maker', 'no answer'), tyres] })
  planting.add(uid, { reconditioning: [info('INFO', 'Maker', '77%')], reconTotal: null })
  planting.add(uid, {
    reconditioning: [info('Info', null, null), info('info', 'B', '88.5%'), info('info', 'C', '7%')],
  })
  planting.add(uid, {
    reconditioning: [info('info', 'A', '91%')],
    edits: [edit(planting.after(1, 4), { reconditioning: [info('info', 'A', '?'), tyres] })],
  })
}

function plantOddities(planting: Planting, { uid }: Rooftop, index: number): void {
  const { oddities } = planting
  oddities.withoutCreatedAt.add(planting.add(uid).evalId)
  const blank = { order: null, takenAt: null, pinned: false, angle: null }
  const photo = { ...blank, id: 90_000_000 + index, uploadedAt: planting.after(0, -3) }
  oddities.withoutHero.add(planting.add(uid, { photos: [photo] }).evalId)
  const why = (['skipped', 'rejected', 'failed'] as const)[index % 3]!
  oddities.unpriced.set(planting.add(uid).evalId, why)
  oddities.unpriced.set(planting.add(uid).evalId, 'lapsed')
  if (index === 2) oddities.unfit.add(planting.add(uid).evalId)
}

/** Complete before it began, complete twice, and vanished once it was edited. */
function plantEnds(planting: Planting, { uid }: Rooftop): void {
  const begun = planting.after(0, -4)
  planting.add(uid, {
    createdAt: begun,
    completedAt: new Date(begun.getTime() - 10 * minuteMs),
  })
  const again = planting.add(uid, {
    edits: [edit(planting.after(0, 1), { finalPrice: 6_600 })],
  })
  planting.oddities.completedAgain.set(again.evalId, planting.after(0, 7))
  planting.add(uid, { vanishedAt: planting.after(0, 5) })
  planting.add(uid, {
    userId: null,
    edits: [edit(planting.after(1, -1), { finalPrice: 5_500 })],
    vanishedAt: planting.after(1, 5),
  })
}

/** Of each group a vehicle that evaluations of its rooftops name in other letters, and one of these has vanished; one whose
 *  number is not a VIN; and one that every group has seen. */
function plantRepeats(planting: Planting): void {
  const groups = Map.groupBy(planting.world.rooftops, (one) => one.groupId)
  for (const members of groups.values()) {
    const [first, last] = [members[0]!.uid, members.at(-1)!.uid]
    const { vin } = planting.add(first)
    planting.add(last, { vin: vin!.toLowerCase() })
    planting.add(last, { vin, vanishedAt: planting.after(0, 8), finalPrice: 1 })
    for (const uid of [first, last])
      for (const number of ['CHASSIS-1', sharedVin]) planting.add(uid, { vin: number })
  }
}

/** The vehicle that each group has appraised twice. */
export const sharedVin = 'JTDBR32E000000007'
