import { expect, test } from 'vitest'
import { dumpOf, linesWith } from '../../privacy/erase/dump.ts'
import { byEmail, eraseIn, jane, janesTexts } from '../../privacy/erase/erase-fixture.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { openWebhookFixture } from './webhook-fixture.ts'

const drive = '/webhooks/ON_DRIVE_COMPLETED/rooftop-1'

test('an erased customer is removed from the inbox, and no webhook brings them back', async () => {
  const evaluation = anEvaluation({ evalId: 1, customer: jane })
  await using receiver = await openWebhookFixture({ world: worldOf({ evaluations: [evaluation] }) })
  const { fixture } = receiver
  await fixture.night()
  const named = { CustomerName: jane.name, CustomerEmail: jane.email, CustomerPhone: jane.phone }
  const janes = async () => linesWith(await dumpOf(fixture.database.pool), janesTexts)
  await receiver.post({ DriveID: 1, EvalID: 1, ...named }, { path: drive })
  await receiver.post({ DealerID: 999, ...named })
  const before = (await janes()).filter((line) => line.includes('webhook'))

  await eraseIn(fixture, byEmail)
  const after = await janes()
  await receiver.post({ DriveID: 2, EvalID: 1, ...named }, { path: drive })
  await receiver.post({ DriveID: 3, ...named }, { path: drive })
  await receiver.post({ DealerID: 998, ...named })

  expect(before.length).toBe(2)
  expect(after).toEqual([])
  expect(await janes()).toEqual([])
  const bodies = await receiver.rows(
    "select body::text from ops.webhook_delivery where state = 'kept'",
  )
  expect(
    bodies.map(({ body }) => String(body)).filter((body) => /DriveID|withheld/.test(body)),
  ).toHaveLength(3)
})
