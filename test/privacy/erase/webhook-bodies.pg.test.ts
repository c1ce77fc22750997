import { expect, test } from 'vitest'
import type { Receipt } from '#src/privacy/erase/receipt.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { Inbox } from '#src/web/webhook/inbox.ts'
import type { Fixture } from '../../support/fixture.ts'
import { byEmail, byEval, eraseIn, jane, openJanesFixture } from './erase-fixture.ts'

/** Of fields that nothing names, as the documents do not show the body of a drive. */
const unnamed = {
  ...{ First: 'Jane', Last: 'Citizen', Suburb: 'Richmond', Licence: 'VIC 0123 4567' },
  ...{ Birth: '1980-02-03', Signature: 'data:image/png;base64,AAAA' },
}
const own = { EvalID: 1001, DealerID: 101, Customer: unnamed }
const contact = { DealerID: 101, Customer: unnamed, Email: jane.email }

interface Delivery {
  readonly what: string
  readonly body: object
  /** Whether its address names a rooftop. */
  readonly addressed: boolean
  readonly event?: 'ON_COMPLETE'
}

const hers: readonly Delivery[] = [
  { what: 'a drive', body: { ...own, Email: jane.email }, addressed: true },
  { what: 'a drive without a contact', body: own, addressed: true },
  { what: 'a drive without an evaluation', body: contact, addressed: true },
  { what: "a drive of another's evaluation", body: { EvalID: 1005, ...contact }, addressed: true },
  { what: 'a drive of an unknown dealer', body: { ...own, DealerID: 999 }, addressed: false },
  {
    what: 'an evaluation of an unknown dealer',
    body: { ...own, DealerID: 999, CustomerPhone: jane.phone, CustomerAddress: jane.address },
    addressed: false,
    event: 'ON_COMPLETE',
  },
]
const anothers: readonly Delivery[] = [
  { what: "another's drive", body: { EvalID: 1005, Customer: { First: 'Sam' } }, addressed: true },
  { what: 'a namesake', body: { Customer: { First: 'Jane' } }, addressed: true },
]

async function deliver(fixture: Fixture, deliveries: readonly Delivery[], round: number) {
  const rooftops = await registerRooftops(fixture.context.db, fixture.config.rooftops)
  const { context } = fixture
  const inbox = new Inbox({ context, rooftops, secret: 'x'.repeat(16), debounceMs: 0 })
  for (const { what, body: given, addressed, event = 'ON_DRIVE_COMPLETED' } of deliveries) {
    const body = { What: what, Round: round, ...given }
    await inbox.store({
      ...{ event, body, bytes: Buffer.from(JSON.stringify(body)) },
      rooftopUid: addressed ? 'rooftop-1' : undefined,
    })
  }
}

async function bodies({ database }: Fixture): Promise<string[]> {
  const { rows } = await database.pool.query<{ body: string }>(
    'select body::text from ops.webhook_delivery order by delivery_id',
  )
  return rows.map(({ body }) => body)
}

function deliveriesIn(counts: Receipt['tables']): number | undefined {
  return Object.entries(counts).find(([table]) => table.endsWith('webhook_delivery'))?.[1]
}

const withheld = '{"withheld":"names a customer that was erased"}'

test.for([
  { subject: byEmail, round: 1 },
  { subject: byEval(1001), round: 2 },
])(
  'nothing of a body about the customer is left, whatever its fields: by $subject.kind',
  async ({ subject, round }) => {
    await using fixture = await openJanesFixture()
    await fixture.night()
    await deliver(fixture, [...hers, ...anothers], round)
    const before = await bodies(fixture)

    const receipt = await eraseIn(fixture, subject, false, true)

    const kept = before.slice(hers.length)
    expect(await bodies(fixture)).toEqual([...hers.map(() => withheld), ...kept])
    expect(deliveriesIn(receipt.tables)).toBe(hers.length)
    expect(receipt.rescan.left).toEqual({})

    await deliver(fixture, [...hers, ...anothers], round + 10)
    const later = (await bodies(fixture)).slice(hers.length + kept.length)
    expect(later.slice(0, hers.length)).toEqual(hers.map(() => withheld))
    expect(later.slice(hers.length)).toHaveLength(anothers.length)
    expect(later.slice(hers.length)).not.toContain(withheld)

    const again = await eraseIn(fixture, subject, false, true)
    expect(again.tables).toEqual({})
  },
)

test('the search that proves an erasure finds a body that is left, also of no known rooftop', async () => {
  await using fixture = await openJanesFixture()
  const { pool } = fixture.database
  await fixture.night()
  await deliver(fixture, hers.slice(1, 5), 1)
  await pool.query(`create function refuse() returns trigger language plpgsql as 'begin return null; end';
    create trigger refuse before update on ops.webhook_delivery for each row execute function refuse()`)

  const receipt = await eraseIn(fixture, byEmail, false, true)

  expect(deliveriesIn(receipt.rescan.left)).toBe(4)
})

test('an evaluation that only a webhook has brought is erased by its number', async () => {
  await using fixture = await openJanesFixture()
  await fixture.night()
  const before = { what: 'before sync.start', body: { ...own, EvalID: 7 }, addressed: true }
  await deliver(fixture, [before], 1)

  const receipt = await eraseIn(fixture, byEval(7))
  await deliver(fixture, [before], 2)

  expect(await bodies(fixture)).toEqual([withheld, withheld])
  expect(receipt).toMatchObject({ matched: 1, rescan: { left: {} } })
  await expect(eraseIn(fixture, byEval(8))).rejects.toThrow('Evaluation 8 is in no table')
})
