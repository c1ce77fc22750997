import { erase } from '#src/privacy/erase/erase.ts'
import type { Receipt } from '#src/privacy/erase/receipt.ts'
import type { Subject } from '#src/privacy/erase/subject.ts'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { allStreams } from '#src/streams/all.ts'
import type { Stream } from '#src/sync/run/stream.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { type Fixture, type FixtureOptions, openFixture } from '../../support/fixture.ts'

export const now = new Date('2026-03-10T06:30:00Z')

/** Texts that the dump must not have after she is erased. */
export const jane = {
  name: 'Jane Ann Citizen',
  phone: '0412 345 678',
  email: 'Jane.Citizen@Example.org',
  postcode: '3121',
  state: 'VIC',
  address: '12 Station Street',
  suburb: 'Richmond',
}
export const janesTexts = [
  ...['Jane Ann Citizen', 'Jane Citizen', 'jane.citizen@example.org', '12 Station Street'],
  ...['0412 345 678', '0412345678', '+61 412 345 678', '+61412345678', '412-345-678', 'JAN412'],
]

/** Three evaluations of Jane, one of them edited, and five of others. */
export function janesWorld(): readonly Evaluation[] {
  const at = (day: number) => `2026-03-0${day}T01:00:00Z`
  return [
    anEvaluation({
      evalId: 1001,
      createdAt: at(2),
      customer: jane,
      registration: 'JAN412',
      notes: 'Jane rang from +61 412 345 678.',
      reconditioning: [
        { type: 'tyres', source: null, cost: 400, value: '4' },
        { type: 'note', source: null, cost: 0, value: 'JANE ANN CITIZEN wants tyres' },
      ],
      customFields: {
        Partner: { type: 'text', options: null, value: 'Bob Citizen, 0412345678' },
      },
      userPrices: [{ amount: 21000, currency: 'AUD', note: 'quoted to jane.citizen@example.org' }],
      extra: { Contact: { FirstName: 'Jane', line: '12 Station Street' }, spare: 412345678 },
      edits: [
        { at: '2026-03-04T03:00:00Z', patch: { customer: { phone: '+61412345678' } } },
        { at: '2026-03-05T03:00:00Z', patch: { finalPrice: 19500, notes: 'Citizen, Jane Ann' } },
      ],
    }),
    anEvaluation({ evalId: 1002, createdAt: at(3), customer: jane }),
    anEvaluation({
      evalId: 1003,
      createdAt: at(4),
      customer: { ...jane, name: 'J. Citizen', email: null, phone: '+61 (0)412 345-678' },
    }),
    anEvaluation({
      evalId: 1004,
      createdAt: at(5),
      customer: { name: 'Bob Other', phone: '0498 765 432', email: 'bob@example.org' },
      notes: 'Friend of Jane Ann Citizen (jane.citizen@example.org)',
    }),
    ...[1005, 1006, 1007, 1008].map((evalId, index) =>
      anEvaluation({
        evalId,
        createdAt: at(6 + Math.floor(index / 2)),
        customer: {
          name: `Sam Number${index}`,
          phone: `0498 111 00${index}`,
          email: `sam${index}@example.org`,
          suburb: 'Richmond',
          address: `${index} Example Street`,
        },
        notes: 'Citizen of Richmond',
      }),
    ),
  ]
}

/** A warehouse for Jane's world, with nothing loaded yet. */
export async function openJanesFixture(
  evaluations: readonly Evaluation[] = janesWorld(),
  streams: readonly Stream[] = allStreams.filter(({ name }) => name !== 'stock-prices'),
): Promise<Fixture> {
  return await openFixture(janesOptions(evaluations, streams))
}

export function janesOptions(
  evaluations: readonly Evaluation[],
  streams: readonly Stream[],
): FixtureOptions {
  return {
    ...{ sandbox: { world: worldOf({ evaluations }), now }, streams },
    sync: { start: '2026-03-01' },
  }
}

export async function eraseIn(
  { context, config }: Fixture,
  subject: Subject,
  dryRun = false,
  allPeople = false,
): Promise<Receipt> {
  return await erase(context.pool, config.wire.appraisal, {
    subject,
    reason: null,
    requestedBy: 'test@host',
    dryRun,
    allPeople,
  })
}

export const byEmail: Subject = { kind: 'email', value: ' JANE.citizen@example.org' }
export const byPhone: Subject = { kind: 'phone', value: '0412 345 678' }
export const byEval = (evalId: number): Subject => ({ kind: 'eval', evalId, rooftopUid: null })
