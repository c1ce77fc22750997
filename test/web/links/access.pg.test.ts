import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { dayMs, type Fixture } from '../../support/fixture.ts'
import { addCheck, checkedFixture, paths, permalink, serveFixture, token } from './served.ts'

/** Status, headers except the time, and body, byte for byte. */
async function bytesOf(answer: Response) {
  const { date: _date, ...headers } = Object.fromEntries(answer.headers)
  return { status: answer.status, headers, body: await answer.text() }
}

async function openOne(): Promise<{ fixture: Fixture; id: string }> {
  const fixture = await checkedFixture([{ photos: [{ id: 501 }] }])
  const id = addCheck(fixture)
  await fixture.night()
  return { fixture, id }
}

test.each(someOf(['text/html', 'application/json'], 1))(
  'a wrong token gets 401 and the same bytes (%s), whether the link exists, is not a link at all, or the token is missing',
  async (accept) => {
    const { fixture: opened, id } = await openOne()
    await using fixture = opened
    await using server = await serveFixture(fixture)
    const known = `/links/ppsr_pdf/${id}`
    const wrong = [
      `${known}?token=wrong`,
      `${known}?token=${token}x`,
      `${known}?token=${token}&token=${token}`,
      `${known}?token=`,
      known,
      '/links/ppsr_pdf/nothing?token=wrong',
      '/links/photo/501?token=wrong',
      '/links/kind-unknown/1?token=wrong',
    ]

    const answers = await Promise.all(
      wrong.map(async (path) => await bytesOf(await server.click(path, { headers: { accept } }))),
    )

    expect(answers[0]).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]!.body).not.toContain(id)
  },
)

test('the token may also come as a bearer, and a wrong bearer fails even with the right token in the address', {
  tags: 'ci',
}, async () => {
  const { fixture: opened, id } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)
  const path = `/links/ppsr_pdf/${id}`
  const bearer = (value: string) => ({ headers: { authorization: value } })

  const right = await server.click(path, bearer(`Bearer ${token}`))
  const lower = await server.click(path, bearer(`bearer ${token}`))
  const wrong = await server.click(permalink('ppsr_pdf', id), bearer('Bearer wrong'))
  const basic = await server.click(path, bearer(`Basic ${token}`))

  expect([right, lower, wrong, basic].map(({ status }) => status)).toEqual([302, 302, 401, 401])
})

test('a wrong token causes no query and no call', { tags: 'ci' }, async () => {
  const { fixture: opened, id } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)
  await fixture.database.pool.query('alter table core.vehicle_check rename to moved')
  const before = fixture.sandbox.requests.count()

  const wrong = await server.click(`/links/ppsr_pdf/${id}?token=wrong`)
  const asked = fixture.sandbox.requests.count() - before
  const right = await server.click(permalink('ppsr_pdf', id))

  expect({ wrong: wrong.status, asked, right: right.status }).toEqual({
    wrong: 401,
    asked: 0,
    right: 503,
  })
})

test('HEAD answers as GET does, without a body', { tags: 'ci' }, async () => {
  const { fixture: opened, id } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)

  const live = await server.click(permalink('ppsr_pdf', id), { method: 'HEAD' })
  const unknown = await server.click(permalink('ppsr_pdf', 'x'), { method: 'HEAD' })

  expect(live.status).toBe(302)
  expect(live.headers.get('location')).toContain('/pdf/ppsr/')
  expect({ status: unknown.status, body: await unknown.text() }).toEqual({ status: 404, body: '' })
})

test('an id that is not known is a page, and nothing of the address is echoed', async () => {
  const { fixture: opened } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)
  const script = encodeURIComponent('<script>alert(1)</script>')

  const answers = await Promise.all(
    [
      permalink('ppsr_pdf', script),
      permalink('photo', script),
      permalink('photo', '99999999999999999999'),
      permalink(script, '1'),
      permalink('ppsr_pdf', '1', `&rooftop=${script}`),
      permalink('ppsr_pdf', '1', '&rooftop=a&rooftop=b'),
      permalink('ppsr_pdf', '%00'),
      `/${script}`,
    ].map(async (path) => {
      const answer = await server.click(path)
      return { status: answer.status, echo: (await answer.text()).includes('alert') }
    }),
  )

  for (const answer of answers) expect(answer).toEqual({ status: 404, echo: false })
})

test('/health needs no token', async () => {
  const { fixture: opened } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)

  const answer = await server.click('/health')

  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 200,
    body: { status: 'ok' },
  })
})

test('a flood of wrong tokens is answered 429 and counted in one line; the right one still opens', {
  tags: 'ci',
}, async () => {
  const { fixture: opened, id } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)
  const click = (path: string, from = '203.0.113.7') =>
    server.click(path, { headers: { 'x-forwarded-for': from } })

  const wrong = await Promise.all(
    Array.from({ length: 300 }, (_, index) => click(`/links/ppsr_pdf/${id}?token=wrong${index}`)),
  )
  const right = await click(permalink('ppsr_pdf', id))

  const answered = wrong.filter(({ status }) => status === 401)
  const limited = wrong.find(({ status }) => status === 429)
  expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([401, 429]))
  expect(answered.length).toBeLessThanOrEqual(30)
  expect(limited!.headers.get('retry-after')).toBe('60')
  expect(right.status).toBe(302)
  const lines = server.logged.filter((line) => line.includes('refused'))
  expect(lines.length).toBeLessThan(5)
  expect(server.logged.join()).not.toContain('wrong7')
})

test('a wrong request is the fault of the caller, and leaves no log line', {
  tags: 'ci',
}, async () => {
  const { fixture: opened } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)
  const post = (type: string, body: string) =>
    server.click('/links/ppsr_pdf/1', { method: 'POST', headers: { 'content-type': type }, body })

  const answers = [
    await post('text/strange', 'x'),
    await post('application/json', '{"broken'),
    await post('application/json', JSON.stringify('x'.repeat(2 * 1024 * 1024))).catch(() => null),
  ]

  for (const answer of answers)
    if (answer !== null) expect([400, 404, 413, 415]).toContain(answer.status)
  expect(server.logged).toEqual([])
})

test('a click leaves one line with kind, outcome and time, and no line holds the token, a signature or a key', async () => {
  const { fixture: opened, id } = await openOne()
  await using fixture = opened
  await using server = await serveFixture(fixture)
  await server.click(permalink('ppsr_pdf', id))
  fixture.sandbox.clock.advance(8 * dayMs)
  const live = await server.click(permalink('ppsr_pdf', id))
  const photo = await server.click(permalink('photo', '501'))
  await server.click(`/links/${token}/${token}`)
  await server.click(permalink('ppsr_pdf', token))
  fixture.sandbox.clock.advance(8 * dayMs)
  const { search } = new URL(live.headers.get('location')!)
  fixture.sandbox.faults.add({
    match: { path: paths.ppsr },
    fault: { kind: 'status', status: 500, body: { error: `see https://files.example/x${search}` } },
  })
  await server.click(permalink('ppsr_pdf', id))

  const lines = server.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'link')
  const ms = expect.any(Number)
  expect(lines).toEqual([
    expect.objectContaining({ kind: 'ppsr_pdf', outcome: 'live', ms, id }),
    expect.objectContaining({ kind: 'ppsr_pdf', outcome: 'live', ms, id }),
    expect.objectContaining({ kind: 'photo', outcome: 'live', ms, id: '501' }),
    expect.objectContaining({ kind: 'ppsr_pdf', outcome: 'unknown', ms }),
    expect.objectContaining({ kind: 'ppsr_pdf', outcome: 'unavailable', ms, id }),
  ])
  const text = server.logged.join('')
  const secrets = [live, photo].map(({ headers }) => new URL(headers.get('location')!).search)
  for (const secret of [token, ...secrets, 'signature=']) expect(text).not.toContain(secret)
})
