import { expect, test } from 'vitest'
import { erase } from '#src/privacy/erase/erase.ts'
import { LinkOpener } from '#src/web/links/link-opener.ts'
import { addCheck, checkedFixture, paths, permalink, serveFixture } from './served.ts'

const bob = { name: 'Bob Other', phone: '0498 765 432', email: 'bob@example.org' }
const otherVin = 'JTMDFREV90D123457'

test('a link to a check of an erased customer says that it was erased, and asks the source for nothing', async () => {
  await using fixture = await checkedFixture([{}, { evalId: 1002, customer: bob, vin: otherVin }])
  const id = addCheck(fixture)
  const other = addCheck(fixture, { evalId: 1002, vin: otherVin })
  await fixture.night()
  await using server = await serveFixture(fixture)
  expect((await server.click(permalink('ppsr_pdf', id))).status).toBe(302)
  const subject = { kind: 'eval', evalId: 1001, rooftopUid: null } as const
  const request = { subject, reason: null, requestedBy: 'test', dryRun: false }
  await erase(fixture.database.pool, fixture.context.config.wire.appraisal, request)
  const asked = fixture.sandbox.requests.count(paths.ppsr)

  const page = await server.click(permalink('ppsr_pdf', id))
  const json = await server.click(permalink('ppsr_pdf', id), {
    headers: { accept: 'application/json' },
  })
  const opened = await new LinkOpener(fixture.context).open({
    kind: 'ppsr_pdf',
    id,
    rooftopUid: null,
  })

  expect(page.status).toBe(410)
  expect(await page.text()).toContain('This PPSR certificate was erased')
  expect(await json.json()).toMatchObject({ error: 'erased' })
  expect(opened).toEqual({ is: 'vanished', reason: 'erased', archived: null })
  expect(fixture.sandbox.requests.count(paths.ppsr)).toBe(asked)
  expect((await server.click(permalink('ppsr_pdf', other))).status).toBe(302)
})
