import { expect, test } from 'vitest'
import type { Fixture } from '../../support/fixture.ts'
import { addCheck, checkedFixture, permalink, serveFixture, token } from './served.ts'

const tenPhotos = Array.from({ length: 10 }, (_, index) => ({ id: 501 + index }))

const listed = ({ sandbox }: Fixture) => sandbox.requests.count('/imagelist')

test('50 clicks on the ten photos of an evaluation are one call, and each opens its own image', async () => {
  await using fixture = await checkedFixture([{ photos: tenPhotos }])
  await fixture.night()
  await using server = await serveFixture(fixture)

  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      server.click(permalink('photo', `${501 + (index % 10)}`)),
    ),
  )

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
  expect(listed(fixture)).toBe(1)
  const images = await Promise.all(
    answers.slice(0, 10).map(async ({ headers }) => {
      const image = await fetch(headers.get('location')!)
      return [image.headers.get('content-type'), (await image.text()).match(/photo \d+/)?.[0]]
    }),
  )
  expect(images).toEqual(tenPhotos.map(({ id }) => ['image/svg+xml', `photo ${id}`]))
})

test('an answer is used for five minutes of the source’s time, and no link for longer', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{ photos: tenPhotos }])
  await fixture.night()
  await using server = await serveFixture(fixture)
  const calls: number[] = []
  for (const seconds of [0, 290, 20]) {
    fixture.sandbox.clock.advance(seconds * 1000)
    await server.click(permalink('photo', '501'))
    calls.push(listed(fixture))
  }
  fixture.sandbox.clock.advance(3 * 86_400_000)

  const answer = await server.click(permalink('photo', '501'))

  expect(calls).toEqual([1, 1, 2])
  expect((await fetch(answer.headers.get('location')!)).status).toBe(200)
})

test('a removed photo and one of a vanished evaluation get pages that say so', {
  tags: 'ci',
}, async () => {
  const draft = { photos: [{ id: 501 }] }
  await using fixture = await checkedFixture([
    { ...draft, edits: [{ at: '2026-03-11T00:00:00Z', patch: { photos: [] } }] },
    { evalId: 1002, photos: [{ id: 601 }], vanishedAt: '2026-03-11T00:00:00Z' },
  ])
  await fixture.night()
  await using server = await serveFixture(fixture)
  fixture.sandbox.clock.advance(2 * 86_400_000)

  const removed = await server.click(permalink('photo', '501'))
  const vanished = await server.click(permalink('photo', '601'))

  expect({ removed: removed.status, vanished: vanished.status }).toEqual({
    removed: 410,
    vanished: 410,
  })
  expect(await removed.text()).toContain('it is not listed for the vehicle any more')
  expect(await vanished.text()).toContain('the appraisal that it belongs to is not there any more')
})

test('a 403 for a photo of an evaluation that still exists is about the key, and no proof that it vanished', async () => {
  await using fixture = await checkedFixture([{ photos: tenPhotos }])
  await fixture.night()
  await using server = await serveFixture(fixture)
  const refuse = (path: string) =>
    fixture.sandbox.faults.add({ match: { path }, fault: { kind: 'status', status: 403 } })

  refuse('/imagelist')
  const onePath = await server.click(permalink('photo', '501'))
  refuse('/geteval')
  const deadKey = await server.click(permalink('photo', '501'))

  expect([onePath.status, deadKey.status]).toEqual([503, 503])
})

test('photo URLs are nowhere in the warehouse', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{ photos: tenPhotos }])
  addCheck(fixture)
  await fixture.night()
  await using server = await serveFixture(fixture)

  const answer = await server.click(permalink('photo', '501'))

  const { search } = new URL(answer.headers.get('location')!)
  const { rows } = await fixture.database.pool.query(
    'select url from pii.signed_link where position($1 in url) > 0',
    [search],
  )
  expect(rows).toEqual([])
  expect(search).toMatch(/signature=/)
  expect(answer.headers.get('location')).not.toContain(token)
})
