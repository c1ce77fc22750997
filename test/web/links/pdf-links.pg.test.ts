import { expect, test } from 'vitest'
import { aRooftop } from '../../support/build-world.ts'
import { dayMs } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'
import { addCheck, checkedFixture, follow, paths, permalink, serveFixture } from './served.ts'

test('a valid link is used as it is, with no call', async () => {
  await using fixture = await checkedFixture([{}])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  const asked = fixture.sandbox.requests.count(paths.ppsr)

  const answer = await server.click(permalink('ppsr_pdf', id))

  expect(answer.status).toBe(302)
  expect(await follow(answer)).toEqual({ status: 200, start: '%PDF-' })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
  expect(fixture.sandbox.requests.count(paths.ppsr)).toBe(asked)
})

test.each(['ppsr', 'car_history'] as const)(
  'a %s link that has expired opens on the first click, and the warehouse stores the new one',
  async (kind) => {
    await using fixture = await checkedFixture([{}])
    const id = addCheck(fixture, { kind })
    await fixture.night()
    await using server = await serveFixture(fixture)
    await server.click(permalink(`${kind}_pdf`, id))
    const asked = fixture.sandbox.requests.count(paths[kind])
    fixture.sandbox.clock.advance(30 * dayMs)

    const first = await server.click(permalink(`${kind}_pdf`, id))
    const second = await server.click(permalink(`${kind}_pdf`, id))

    expect(await follow(first)).toEqual({ status: 200, start: '%PDF-' })
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    expect(fixture.sandbox.requests.count(paths[kind]) - asked).toBe(1)
    const stored = await rowsOf(fixture, 'select url, expires_at from pii.signed_link')
    const expires_at = new Date(fixture.sandbox.clock.now().getTime() + 7 * dayMs)
    expect(stored).toEqual([{ url: first.headers.get('location'), expires_at }])
  },
)

test('a link that is valid for five minutes or less is signed again', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{}])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  const asked = () => fixture.sandbox.requests.count(paths.ppsr)
  const before = asked()

  fixture.sandbox.clock.advance(7 * dayMs - 302_000)
  await server.click(permalink('ppsr_pdf', id))
  const early = asked() - before
  fixture.sandbox.clock.advance(3000)
  const answer = await server.click(permalink('ppsr_pdf', id))

  expect({ early, later: asked() - before }).toEqual({ early: 0, later: 1 })
  fixture.sandbox.clock.advance(6 * dayMs)
  expect(await follow(answer)).toMatchObject({ status: 200 })
})

test('200 clicks at once on two servers of one warehouse are one call, whichever certificates of the vehicle they name', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}, { evalId: 1002 }])
  const searchedAt = new Date('2026-03-08T23:00:00Z')
  const ids = [addCheck(fixture), addCheck(fixture, { evalId: 1002, searchedAt })]
  await fixture.night()
  await using one = await serveFixture(fixture)
  await using other = await serveFixture(fixture, { alone: true })
  const asked = fixture.sandbox.requests.count(paths.ppsr)
  fixture.sandbox.clock.advance(8 * dayMs)

  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? one : other).click(permalink('ppsr_pdf', ids[(index >> 1) % 2]!)),
    ),
  )

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
  expect(new Set(answers.map(({ headers }) => headers.get('location'))).size).toBe(2)
  expect(fixture.sandbox.requests.count(paths.ppsr) - asked).toBe(1)
  expect(await follow(answers[0]!)).toEqual({ status: 200, start: '%PDF-' })
})

test('clicks on many vehicles at once all end, though each holds a connection while it is signed', {
  tags: 'ci',
}, async () => {
  const vinOf = (index: number) => `JTMDFREV90D1${String(index).padStart(5, '0')}`
  const drafts = Array.from({ length: 40 }, (_, index) => ({
    evalId: 1 + index,
    vin: vinOf(index),
  }))
  await using fixture = await checkedFixture(drafts)
  const ids = drafts.map(({ evalId, vin }) => addCheck(fixture, { evalId, vin }))
  await fixture.night()
  await using server = await serveFixture(fixture)
  const asked = fixture.sandbox.requests.count(paths.ppsr)
  fixture.sandbox.clock.advance(8 * dayMs)

  const answers = await Promise.all(ids.map((id) => server.click(permalink('ppsr_pdf', id))))

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
  expect(fixture.sandbox.requests.count(paths.ppsr) - asked).toBe(40)
})

test('an evaluation that has vanished since is skipped for another one of the vehicle', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([
    {},
    { evalId: 1002, createdAt: '2026-03-09T23:00:00Z', vanishedAt: '2026-03-11T00:00:00Z' },
  ])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(8 * dayMs)

  const answer = await server.click(permalink('ppsr_pdf', id))

  expect(await follow(answer)).toEqual({ status: 200, start: '%PDF-' })
  const marked = await rowsOf(fixture, 'select from core.evaluation where gone_at is not null')
  expect(marked).toEqual([])
})

test('a link to a vanished evaluation gets a page that says so', async () => {
  await using fixture = await checkedFixture([{ vanishedAt: '2026-03-11T00:00:00Z' }])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(8 * dayMs)

  const page = await server.click(permalink('ppsr_pdf', id))
  const json = await server.click(permalink('ppsr_pdf', id), {
    headers: { accept: 'application/json' },
  })

  expect(page.status).toBe(410)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const text = await page.text()
  expect(text).toContain('This PPSR certificate is no longer available')
  expect(text).toContain('the appraisal that it belongs to is not there any more')
  expect(json.status).toBe(410)
  expect(await json.json()).toMatchObject({ error: 'vanished' })
})

test('a certificate that the source no longer lists is a page that says so, and is marked in the warehouse', async () => {
  await using fixture = await checkedFixture([{}])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(8 * dayMs)
  fixture.sandbox.faults.add({
    match: { path: paths.ppsr },
    fault: { kind: 'status', status: 200, body: [] },
  })

  const page = await server.click(permalink('ppsr_pdf', id))

  expect(page.status).toBe(410)
  expect(await page.text()).toContain('it is not listed for the vehicle any more')
  const gone = await rowsOf(fixture, 'select gone_at from core.vehicle_check')
  expect(gone).toEqual([{ gone_at: fixture.sandbox.clock.now() }])
})

test('a source that is down gives a 503 with Retry-After, and the next click after the outage opens', async () => {
  await using fixture = await checkedFixture([{}])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(8 * dayMs)
  const fault = fixture.sandbox.faults.add({
    match: { path: paths.ppsr },
    fault: { kind: 'reset' },
  })

  const page = await server.click(permalink('ppsr_pdf', id))
  fault.remove()
  const later = await server.click(permalink('ppsr_pdf', id))

  expect(page.status).toBe(503)
  expect(page.headers.get('retry-after')).toBe('60')
  expect(await page.text()).toContain('This cannot be opened just now')
  expect(later.status).toBe(302)
})

test('a source that is down does not stop a valid link, however soon it expires', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(7 * dayMs - 60_000)
  fixture.sandbox.faults.add({ match: { path: paths.ppsr }, fault: { kind: 'reset' } })

  const answer = await server.click(permalink('ppsr_pdf', id))

  expect(await follow(answer)).toEqual({ status: 200, start: '%PDF-' })
})

test('a source that cannot be reached does not stop a valid link', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{}])
  const id = addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)
  const before = await server.click(permalink('ppsr_pdf', id))
  await fixture.sandbox.close()

  const answer = await server.click(permalink('ppsr_pdf', id))

  expect(answer.status).toBe(302)
  expect(answer.headers.get('location')).toBe(before.headers.get('location'))
})

test('an id of two dealer groups needs the rooftop, and any rooftop of the group will do', {
  tags: 'ci',
}, async () => {
  const other = { groupId: 'group-2', dealerId: 102, region: 'AU' } as const
  await using fixture = await checkedFixture([{}, { evalId: 2001, rooftopUid: 'other' }], {
    rooftopsOfWorld: [
      aRooftop(),
      aRooftop({ uid: 'sister', dealerId: 103 }),
      aRooftop({ uid: 'other', name: 'A <b>& Co', ...other }),
    ],
    dealerIds: false,
  })
  const id = addCheck(fixture)
  addCheck(fixture, {
    id: Number(id),
    ref: 'b',
    groupId: 'group-2',
    rooftopUid: 'other',
    evalId: 2001,
  })
  await fixture.night()
  await using server = await serveFixture(fixture)

  const page = await server.click(permalink('ppsr_pdf', id))
  const text = await page.text()
  const chosen = await Promise.all(
    ['rooftop-1', 'sister', 'other', 'nowhere'].map(async (uid) => {
      const answer = await server.click(permalink('ppsr_pdf', id, `&rooftop=${uid}`))
      return answer.headers.get('location')?.replace(/\?.*/, '') ?? answer.status
    }),
  )

  expect(page.status).toBe(409)
  expect(text).toContain('rooftop=other')
  expect(text).toContain('A &#60;b&#62;&#38; Co')
  expect(chosen[0]).toMatch(/\/pdf\/ppsr\//)
  expect(chosen[1]).toBe(chosen[0])
  expect(chosen[2]).toMatch(/\/pdf\/ppsr\/b\.pdf$/)
  expect(chosen[3]).toBe(404)
})
