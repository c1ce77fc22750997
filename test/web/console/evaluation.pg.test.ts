import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { byEval, eraseIn } from '../../privacy/erase/erase-fixture.ts'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { leaksIn } from './leaks.ts'
import { addEvaluations, statementsOf, tablesScanned } from './statements.ts'

// 1001 is edited, and its customer replaced; 1002 is quarantined; 1003 vanishes; 1004 is at two groups; the customer of 1005 is erased.
let console: ConsoleFixture

const now = new Date()
const ago = (days: number) => new Date(now.getTime() - days * dayMs)
const planted = { name: 'Pat Planted', phone: '0412 345 678', email: 'pat@planted.example' }
const replaced = { name: 'Sam Second', phone: '0498 765 432', email: 'sam@second.example' }

beforeAll(async () => {
  const photos = [{ id: 71 }, { id: 72 }, { id: 73 }]
  const draft = (evalId: number, more = {}) =>
    anEvaluation({
      evalId,
      createdAt: ago(4),
      customer: { ...planted, address: '1 Plant Way' },
      ...more,
    })
  const world = worldOf({
    rooftops: [
      aRooftop(),
      aRooftop({ uid: 'rooftop-2', groupId: 'group-2', name: 'Rooftop <Two>', dealerId: 202 }),
    ],
    evaluations: [
      draft(1001, { photos, notes: 'Pat Planted rang', finalPrice: 20_000 }),
      ...[1002, 1003, 1004, 1005, 1010].map((id) => draft(id, { vin: `JTMDFREV90D12${id}0` })),
    ],
  })
  world.poison(1002, { UpdatedAt: 'never' })
  const fixture = await openFixture({
    sandbox: { world, now: ago(1) },
    sync: { start: ago(8).toISOString() },
    streams: allStreams,
  })
  await fixture.night()
  world.edit(1001, ago(0.9), {
    finalPrice: 21_500,
    notes: 'Sam Second rang',
    odometer: 51_000,
    customer: { ...planted, ...replaced },
    photos: [photos[1], photos[0], { id: 74 }].map((photo) => ({
      ...{ order: null, takenAt: null, uploadedAt: ago(4), pinned: false, angle: null },
      ...photo!,
    })),
  } as never)
  world.vanish(1003, ago(0.9))
  await fixture.nightAfter(0.5)
  await eraseIn(fixture, byEval(1005))
  await fixture.database.pool.query(
    `insert into raw.payload select r.rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id
     from raw.payload join core.rooftop as r on r.rooftop_uid = 'rooftop-2' where natural_key = '1004'`,
  )
  await fixture.database.pool.query(
    `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_received_at)
     select 'ON_COMPLETE', rooftop_id, 1001, sha256('x'), 'waiting', now() from core.evaluation where eval_id = 1001`,
  )
  console = await openConsole({ fixture })
}, 120_000)

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

interface Known {
  is: 'known'
  payloads: { id: string; endpoint: string }[]
  entry: { versions: unknown[]; prices: unknown[] }
  notes: { name: string; text: string }[]
  changes: {
    count: number
    shown: {
      path: string
      kind: string
      old: string
      new: string
      isHidden: boolean
      column: string | null
    }[]
  } | null
}

const known = async (path: string) => await console.json<Known>(path)

test('an evaluation is shown in the order of its way, by the rooftop’s clock', async () => {
  const { status, title, text } = await console.get('/evaluations/1001')
  const { entry, payloads } = await known('/evaluations/1001')

  const headings = [...text.matchAll(/<h2>([^<]*)<\/h2>/g)].map(([, heading]) => heading)
  expect(headings).toEqual([
    ...['Listed', 'Payloads', 'Row', 'Versions', 'Prices', 'Checks and watches'],
    ...['Webhooks received', 'Quarantine', 'Links', 'Next read'],
  ])
  expect({ status, title }).toEqual({ status: 200, title: 'Evaluation 1001' })
  expect(text).toContain('Where does this row come from, and what changed?')
  expect(text).toMatch(/AE[SD]T<\/time>/)
  expect(text).toMatch(/\d listed = \d loaded \+ 1 quarantined \+ \d vanished/)
  const [counts] = await console.rows<{ versions: number; payloads: number; prices: number }>(
    `select (select count(*)::int from core.evaluation_version where eval_id = 1001) as versions,
       (select count(*)::int from raw.payload where natural_key = '1001' and endpoint like 'get%') as payloads,
       (select count(*)::int from core.price_observation where eval_id = 1001) as prices`,
  )
  expect(counts!.versions).toBe(2)
  expect({
    versions: entry.versions.length,
    payloads: payloads.length,
    prices: entry.prices.length,
  }).toEqual(counts)
  expect(text).toContain('<svg class="chart" role="img" aria-label="Prices of evaluation 1001')
  expect(text).toContain('21,500')
  expect(text).toContain('ON_COMPLETE')
})

describe('what changed', () => {
  test('is shown by element, with the column that it feeds, and without a customer', async () => {
    const { changes } = await known('/evaluations/1001')

    const of = (path: string) => changes!.shown.find((one) => one.path === path)
    expect(of('FinalPrice')).toMatchObject({
      old: '20000',
      new: '21500',
      column: 'core.evaluation.final_price',
    })
    expect(of('Odometer')).toMatchObject({ column: 'core.evaluation.odometer' })
    expect(of('Photos[id 73]')).toMatchObject({ kind: 'removed', column: 'core.photo' })
    expect(of('Photos[id 74]')).toMatchObject({ kind: 'added' })
    expect(of('CustomerName')).toMatchObject({ isHidden: true, old: 'hidden', new: 'hidden' })
    expect(of('Notes')).toMatchObject({ isHidden: true, column: 'pii.evaluation_customer.notes' })
    expect(changes!.count).toBe(changes!.shown.length)
    const { text } = await console.get('/evaluations/1001')
    expect(text).toContain('<em>hidden, changed</em>')
    expect(text).toContain('<del>− ')
    expect(text).not.toMatch(/Photos\[id 7\d\]\.url/)
  })

  test('may be asked of any two payloads of one request', async () => {
    const { payloads } = await known('/evaluations/1001')
    const [first, second] = payloads.filter(({ endpoint }) => endpoint === 'geteval')
    const other = payloads.find(({ endpoint }) => endpoint !== 'geteval')!

    const back = await known(`/evaluations/1001?old=${second!.id}&new=${first!.id}`)
    const mixed = await console.get(`/evaluations/1001?old=${other.id}&new=${first!.id}`)

    expect(back.changes!.shown.find(({ path }) => path === 'FinalPrice')).toMatchObject({
      old: '21500',
      new: '20000',
    })
    expect(mixed.text).toContain('Choose two payloads of the same request')
  })

  test('is nothing where there is one payload', async () => {
    const { text } = await console.get('/evaluations/1010')

    expect(text).toContain('There is one payload of each request')
  })

  test('of more than 500 changes is counted', async () => {
    await console.rows(
      `insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
       select rooftop_id, endpoint, natural_key, fetched_at + interval '1 minute', 'x',
         (select json_agg(json_build_object('EvalID', 1010, 'Photos', photos)) from (
           select json_agg(json_build_object('id', nr, 'url', 'https://a.example/p?signature=abcd' || nr)) as photos from generate_series(1, 700) as nr) as made), run_id
       from raw.payload where natural_key = '1010' and endpoint = 'geteval'`,
    )

    const { changes } = await known('/evaluations/1010')
    const { text } = await console.get('/evaluations/1010')
    await console.rows("delete from raw.payload where content_hash = 'x'")

    expect(changes!.shown).toHaveLength(500)
    expect(changes!.count).toBeGreaterThan(700)
    expect(text).toContain('Only the first 500 of')
    expect(text).not.toContain('signature=')
  })
})

describe('states', () => {
  test('quarantined: listed, but not loaded', async () => {
    const { text } = await console.get('/evaluations/1002')

    expect(text).toContain('<strong>Listed, but not loaded:</strong> its record is in quarantine')
    expect(text).toContain('UpdatedAt')
    expect(text).toMatch(/href="\/console\/quarantine\/\d+"/)
  })

  test('vanished: since when, and why', async () => {
    const { text } = await console.get('/evaluations/1003')

    expect(text).toMatch(
      /<strong>Vanished since <time[^>]*>[^<]+<\/time>:<\/strong> the (service answers|list of its window)/,
    )
  })

  test('at several rooftops: a choice, and each of them', async () => {
    const choice = await console.get('/evaluations/1004')
    const one = await console.get('/evaluations/1004?rooftop=rooftop-1')
    const none = await console.get('/evaluations/1004?rooftop=rooftop-9')

    expect(choice.text).toContain('Several rooftops')
    expect(choice.text).toContain('Rooftop &#60;Two&#62;')
    expect(one.text).toContain('<h2>Listed</h2>')
    expect(one.text).toContain('/console/evaluations/1004?rooftop=rooftop-2')
    expect(none.status).toBe(404)
  })

  test('its customer is erased', async () => {
    const { text } = await console.get('/evaluations/1005')

    expect(text).toContain('<strong>Its customer was erased</strong>')
  })

  test('payloads that retention deleted are missed', async () => {
    await console.rows(
      `insert into core.evaluation_version select rooftop_id, eval_id, version_no - 1, valid_from, valid_from, observed_at, '{}', final_price, recon_total,
         user_id, odometer, condition_score, content_hash, run_id from core.evaluation_version where eval_id = 1010`,
    )

    const { text } = await console.get('/evaluations/1010')

    expect(text).toContain('deleted 90 days after they were read')
    expect(text).toContain('2 versions, 1 payloads left')
  })

  test('unknown: never listed, and the certificates that would hold it', async () => {
    const { status, text } = await console.get('/evaluations/1007')
    const newest = await console.get('/evaluations/999999')
    const oldest = await console.get('/evaluations/5')

    expect(status).toBe(200)
    expect(text).toContain('It was never listed as completed')
    expect(text).toContain('The certificates of that time')
    expect(text).toMatch(/<a href="\/console\/runs\/\d+">/)
    expect(newest.text).toContain('newer than everything that is loaded: the last is 1010')
    expect(oldest.text).toContain('A backfill loads history')
  })

  test.each(['x', '0', '-1', '1e3', '9'.repeat(16), '1001%00'])('no address: %s', async (id) => {
    expect((await console.get(`/evaluations/${id}`)).status).toBe(404)
  })
})

describe('a payload is revealed', () => {
  const reveal = async (role: 'engineer' | 'viewer', payload: string) =>
    await console.post(
      '/evaluations/1001',
      { action: 'reveal', rooftop: 'rooftop-1', payload },
      { role },
    )

  test('to an engineer, once, without signatures; and it is recorded', async () => {
    const { payloads } = await known('/evaluations/1001')
    const id = payloads.findLast(({ endpoint }) => endpoint === 'geteval')!.id

    const answer = await reveal('engineer', id)

    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.text).toContain('Sam Second')
    expect(answer.text).not.toContain('signature=')
    const [row] = await console.rows(
      "select email, outcome, target from ops.console_action where action = 'reveal' order by action_id desc limit 1",
    )
    expect(row).toMatchObject({
      ...{ email: 'kim@example.com', outcome: 'done' },
      target: { id: '1001', payload: id },
    })
    expect((await console.get('/actions')).text).not.toContain('Sam Second')
  })

  test('to no one else, and not when it is gone', async () => {
    const { payloads } = await known('/evaluations/1001')

    const viewer = await reveal('viewer', payloads[0]!.id)
    const gone = await reveal('engineer', 'geteval-1')

    expect(viewer.status).toBe(403)
    expect((await console.get('/evaluations/1001', { role: 'viewer' })).text).not.toContain(
      'Show once',
    )
    expect(gone.status).toBe(409)
    expect(gone.text).toContain('no longer stored')
  })
})

test.each([1001, 1002, 1003, '1004?rooftop=rooftop-1', 1005, 1007, 1010])(
  'neither the page of %s nor its JSON names a customer or has a signed link',
  async (id) => {
    const { text } = await console.get(`/evaluations/${id}`)
    const json = JSON.stringify(await console.json(`/evaluations/${id}`))

    for (const shown of [text, json]) {
      expect(leaksIn(console.fixture, shown)).toEqual([])
      for (const secret of [planted, replaced].flatMap((one) => Object.values(one)))
        expect(shown).not.toContain(secret)
    }
  },
)

test('a page takes at most 12 statements and reads no large table as a whole', async () => {
  await addEvaluations(console, 40_000)

  for (const id of ['1001', '1002', '1007']) {
    const { answer, statements } = await statementsOf(console, `/evaluations/${id}`)

    expect(answer.status).toBe(200)
    expect(statements.length).toBeLessThanOrEqual(12)
    const scanned = await tablesScanned(console, statements)
    expect(scanned).not.toContain('evaluation')
  }
})
