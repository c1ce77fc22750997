import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { readFieldNews } from '#src/web/console/drift/fields.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type Answer, type ConsoleFixture, openConsole } from './console-fixture.ts'
import { leaksIn } from './leaks.ts'

let console: ConsoleFixture

beforeAll(async () => {
  const now = new Date()
  const start = new Date(now.getTime() - 8 * dayMs).toISOString()
  const sandbox = { seed: 7, evaluations: 400, days: 8, now }
  const fixture = await openFixture({ sandbox, sync: { start }, streams: allStreams })
  await fixture.night()
  console = await openConsole({ fixture })
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

const numberOf = async (query: string) => Number(Object.values((await console.rows(query))[0]!)[0])

describe('links', () => {
  interface Links {
    life: {
      status: { inScope: number; alive: number }
      rooftops: { uid: string; counts: number[]; toSign: number }[]
    }
    failures: { ask: string; evaluations: number }[]
    watches: { stockNo: string; evalId: number }[]
  }

  test('the hours that links have left are counted, and the button says how many are signed again', async () => {
    await console.rows(
      `update pii.signed_link set signed_at = signed_at - interval '6 days', expires_at = expires_at - interval '6 days'
       where (rooftop_id, eval_id, link_ref) in (select rooftop_id, eval_id, link_ref from pii.signed_link order by 1, 2, 3 limit 3)`,
    )

    const { life } = await console.json<Links>('/links')
    const { status, title, text } = await console.get('/links')

    const short = await numberOf(
      "select count(*) from pii.signed_link where expires_at < now() + interval '48 hours'",
    )
    expect(short).toBe(3)
    expect(life.status).toMatchObject({
      inScope: await numberOf('select count(*) from pii.signed_link'),
      alive: await numberOf('select count(*) - 3 from pii.signed_link'),
    })
    const sums = life.rooftops.map(({ counts }) => counts)
    expect(sums.flat().reduce((a, b) => a + b, 0)).toBe(life.status.inScope)
    expect(sums.reduce((total, [, first, second]) => total + first! + second!, 0)).toBe(3)
    expect({ status, title }).toEqual({ status: 200, title: 'Links' })
    expect(text).toContain('Which links and watches run out before somebody acts?')
    expect(text).toContain('Sign 3 links again')
  })

  test('the share of links that live is 100 % only where all do', async () => {
    const [more] = await console.rows<{ name: string }>(
      `select string_agg(quote_ident(attname), ', ') as name from pg_attribute
       where attrelid = 'pii.signed_link'::regclass and attnum > 0 and attgenerated = '' and attname not in ('link_ref')`,
    )
    await console.rows(
      `insert into pii.signed_link (link_ref, ${more!.name})
       select 'planted' || n, ${more!.name} from generate_series(1, 70000) as n,
         (select * from pii.signed_link where expires_at > now() + interval '72 hours' and is_in_scope order by 1, 2, 3 limit 1) as one`,
    )
    const { text } = await console.get('/links')
    await console.rows("delete from pii.signed_link where link_ref like 'planted%'")

    expect(text).toContain('live 48 hours or more: &#62; 99.99 %.')
  })

  test('signing again is a run, and only an engineer may start it', async () => {
    const viewed = await console.get('/links', { role: 'viewer' })
    const refused = await console.post('/links', { action: 'refresh' }, { role: 'viewer' })
    console.fixture.sandbox.clock.advance(60_000)
    const wrong = [
      await console.post('/links', { action: 'refresh' }),
      await console.post('/links', { action: 'refresh', count: '30' }),
    ]

    const form = { action: 'refresh', count: '3' }
    const both = await Promise.all([console.post('/links', form), console.post('/links', form)])
    const [answer, second] = both.sort((one, other) => one.status - other.status) as [
      Answer,
      Answer,
    ]

    expect(second.status).toBe(409)
    expect(viewed.text).not.toContain('Sign 3')
    expect([refused, ...wrong].map(({ status }) => status)).toEqual([403, 409, 409])
    expect(wrong[1]!.text).toContain('The page showed 30, and now 3 links expire soon')
    expect(answer).toMatchObject({ status: 303 })
    const runId = Number(answer.location!.replace('/console/runs/', ''))
    const [run] = await console.rows('select command from ops.run where run_id = $1', [runId])
    expect(run).toEqual({ command: 'links refresh' })
    await expect
      .poll(() => numberOf("select count(*) from ops.run where status = 'running'"), {
        timeout: 20_000,
      })
      .toBe(0)
    expect((await console.json<Links>('/links')).life.status.alive).toBe(
      await numberOf('select count(*) from pii.signed_link'),
    )
    const [action] = await console.rows(
      'select action, shown_count, outcome, run_id from ops.console_action where run_id is not null',
    )
    expect(action).toEqual({ action: 'refresh', shown_count: 3, outcome: 'done', run_id: runId })
  })

  test('with nothing to sign again, the action is refused', async () => {
    const answer = await console.post('/links', { action: 'refresh', count: '3' })

    expect(answer.status).toBe(409)
    expect(answer.text).toContain('No link expires soon any more')
  })

  test('a watch of a car in stock that no later search replaces is listed, and why reads failed', async () => {
    const [check] = await console.rows<{ rooftop_id: number; eval_id: number; vin: string }>(
      `update core.vehicle_check set watch_status = 'watching', watch_ends_at = now() + interval '3 days'
       where (rooftop_id, eval_id, check_ref) in (
         select rooftop_id, eval_id, check_ref from core.vehicle_check where check_kind = 'ppsr' order by searched_at desc limit 1)
       returning rooftop_id, eval_id, vin`,
    )
    await console.rows(
      `insert into core.stock_unit (rooftop_id, stock_no, vin, currency_code, price_on_application, extras, content_hash,
         first_seen_at, last_seen_at, import_id)
       values ($1, 'S 1/é', $2, 'AUD', false, '{}', '', now(), now(), 1)`,
      [check!.rooftop_id, check!.vin],
    )
    await console.rows(
      `update ops.enrichment_state set failures = 2, outcome = 'failed', detail = '/getpastcarhistory answers 500'
       where ctid = (select ctid from ops.enrichment_state where ask = 'getpastcarhistory' limit 1)`,
    )

    const { watches, failures } = await console.json<Links>('/links')
    const { text } = await console.get('/links')
    const renamed = `update core.rooftop set rooftop_uid = 'retired-' || rooftop_uid where rooftop_id = $1`
    await console.rows(renamed, [check!.rooftop_id])
    const retired = await console.get('/links')
    await console.rows(
      renamed.replace(`'retired-' || rooftop_uid`, `replace(rooftop_uid, 'retired-', '')`),
      [check!.rooftop_id],
    )

    expect(watches).toMatchObject([{ stockNo: 'S 1/é', evalId: check!.eval_id }])
    expect(retired.text).toContain('Its rooftop has left the config: no command searches there.')
    expect(failures).toMatchObject([{ ask: 'getpastcarhistory', evaluations: 1 }])
    expect(text).toMatch(/\/console\/stock\/units\/[^"]*\/S%201%2F%C3%A9"/)
    expect(text).toContain('/getpastcarhistory answers 500')
    expect(text).toMatch(/forecourt api ppsrsearch --rooftop \S+ --evalid \d+ --again --yes/)
  })
})

describe('spend', () => {
  test('the calls of today, the open ones and the days are those of the ledger', async () => {
    await console.rows(
      `insert into ops.billable_call (operation, budget, rooftop_id, natural_key, day, state, requested_by, at)
       select 'ppsrsearch', 'ppsrSearch', rooftop_id, eval_id::text, (now() at time zone 'UTC')::date - age,
         case when nr = 4 then 'reserved' when nr = 3 then 'released' else 'committed' end, 'kim@host',
         now() - make_interval(days => age)
       from (select rooftop_id, eval_id, row_number() over (order by eval_id) as nr from core.evaluation limit 4) as e
       cross join (values (0), (5), (95)) as days (age)`,
    )

    const data = await console.json<{
      budgets: Record<string, { used: number; unknown: number }>
      open: { at: string }[]
      payers: { by: string; calls: number }[]
      days: { committed: number; reserved: number }[]
      saved: { saved: number }[]
    }>('/spend')
    const { status, title, text } = await console.get('/spend', { role: 'viewer' })

    expect(data.budgets['ppsrSearch']).toMatchObject({ used: 3, unknown: 1 })
    expect(data.open.map(({ at }) => at)).toEqual(data.open.map(({ at }) => at).toSorted())
    expect(data.open).toHaveLength(3)
    expect(data.payers.reduce((sum, { calls }) => sum + calls, 0)).toBe(3)
    expect(data.days).toMatchObject([
      { committed: 2, reserved: 1 },
      { committed: 2, reserved: 1 },
    ])
    expect(data.saved.reduce((sum, { saved }) => sum + saved, 0)).toBe(
      await numberOf('select sum(saved) from ops.run_stream'),
    )
    expect({ status, title }).toEqual({ status: 200, title: 'Spend' })
    expect(text).toContain('Calls a day on budget.ppsrSearch')
    expect(text).toMatch(/<title>\d+ \w+, outcome unknown: 1 calls<\/title>/)
  })
})

describe('webhooks', () => {
  interface Webhooks {
    figures: {
      rooftops: Record<string, { received: number; missed: number | null; failed: number }>
    }
    lost: { evalId: number }[]
    shown: { id: number; state: string; evalId: number }[]
    hasMore: boolean
  }

  test('nothing subscribed and nothing received says what to do', async () => {
    const { text } = await console.get('/webhooks')

    expect(text).toContain('forecourt webhooks apply')
    expect(text).toContain('Nothing is subscribed')
  })

  test('lost, failed and waiting deliveries are found, a page at a time', async () => {
    await console.rows(
      `insert into ops.webhook_subscription (rooftop_id, event, subscription_id, url, header_hash, since)
       select rooftop_id, 'ON_COMPLETE', rooftop_id, 'https://a', decode(repeat('00', 32), 'hex'), now() - interval '20 days'
       from core.rooftop`,
    )
    await console.rows(
      `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, body, state, issue, source_received_at)
       select 'ON_EXPORT', rooftop_id, eval_id, sha256(nr::text::bytea), '{"CustomerName": "Pat Planted"}', 'failed', 'timed out', now()
       from core.evaluation cross join generate_series(1, 2) as nr order by completed_at desc limit 60`,
    )
    const failed = await numberOf(
      "select count(*) from ops.webhook_delivery where state = 'failed'",
    )
    expect(failed).toBeGreaterThan(50)

    const first = await console.json<Webhooks>('/webhooks')
    const rest = await console.json<Webhooks>(`/webhooks?before=${first.shown.at(-1)!.id}`)
    const all = await console.get('/webhooks?show=all')

    const missed = Object.values(first.figures.rooftops).map((own) => own.missed)
    expect(missed.reduce<number>((a, b) => a + b!, 0)).toBe(
      await numberOf(
        "select count(*) from core.evaluation where completed_at < now() - interval '6 hours' and completed_date_local > now()::date - 8",
      ),
    )
    expect(first.lost).toHaveLength(50)
    expect(first).toMatchObject({ hasMore: true })
    expect(first.shown.length + rest.shown.length).toBe(failed)
    expect(rest).toMatchObject({ hasMore: false })
    expect(all.title).toBe('Webhooks')
    expect(all.text).not.toContain('Pat Planted')
    expect(JSON.stringify(first)).not.toContain('Pat Planted')
  })

  test('where completions are not subscribed, or no evaluations were listed since, it is not known that none was lost', async () => {
    const pageWith = async (change: string) => {
      await console.rows(`update ops.webhook_subscription set ${change}`)
      const { figures } = await console.json<Webhooks>('/webhooks')
      return {
        missed: Object.values(figures.rooftops).map((own) => own.missed),
        text: (await console.get('/webhooks')).text,
      }
    }
    const exports = await pageWith("event = 'ON_EXPORT'")
    const unread = await pageWith("event = 'ON_COMPLETE', since = now() + interval '1 minute'")
    await console.rows(`update ops.webhook_subscription set since = now() - interval '20 days'`)

    expect(new Set([...exports.missed, ...unread.missed])).toEqual(new Set([null]))
    expect(exports.text).toContain('<a href="#lost">not subscribed</a>')
    expect(exports.text).toContain('Nothing is subscribed that reports completions')
    expect(unread.text).toContain('<a href="#lost">not known</a>')
    expect(unread.text).toMatch(/Not known of .* and 4 more: no evaluations were listed/)
  })
})

describe('drift', () => {
  interface Drift {
    fields: {
      path: string
      news: string
      types: string[]
      column: string | null
      below: number
      example: string | null
    }[]
    checks: { check: string; records: number }[]
  }

  test('fields that the documents or the config name are not listed; those below another one are counted', async () => {
    const { fields } = await console.json<Drift>('/drift')

    const found = fields.map(({ path, types, below, example }) => [path, types, below, example])
    expect(Object.fromEntries(found.map(([path, ...facts]) => [path, facts]))).toEqual({
      'CarPics[].EvalID': [['number'], 0, expect.stringMatching(/^9+$/)],
      'CarPics[].StorageKey': [['string'], 0, expect.stringMatching(/^[Aa9./-]+$/)],
      service: [['number'], 0, '9'],
      sparekey: [expect.toSatisfy((types) => types.length === 2), 0, '9'],
      AuctionLot: [['string'], 0, expect.toSatisfy((text) => text === null || /9/.test(text))],
      internal: [['object'], 3, expect.toSatisfy((text) => text === null || /2$/.test(text))],
    })
  })

  test('what a setting of wire names is not listed, and no example shows a customer', async () => {
    const { config, context } = console
    const wire = structuredClone(config.wire)
    Object.assign(wire.appraisal.evaluation, { make: 'Brand', customerName: 'Buyer' })
    const { fields } = await readFieldNews(context.db, { ...config, wire }, 200)

    const shown = fields.map(({ path }) => path)
    expect(shown).toContain('Make')
    expect(shown).not.toContain('Model')
    // Its name hides it, though no setting does.
    expect(fields.find(({ path }) => path === 'CustomerName')!.example).toBeNull()
    expect(fields.find(({ path }) => path === 'Make')!.example).toMatch(/^[Aa9 -]+$/)
  })

  test('a new and a vanished field come first, and a first load is not news', async () => {
    const before = await console.json<Drift>('/drift')
    await console.rows(
      `update ops.field_drift set first_seen_at = now() - interval '50 days';
       insert into ops.field_drift (stream, json_path, json_type, classification, first_seen_at, last_seen_at, seen) values
         ('evaluations', 'Battery<b>', 'string', 'undocumented', now() - interval '2 days', now(), 7),
         ('evaluations', 'OldField', 'string', 'documented', now() - interval '50 days', now() - interval '31 days', 9)`,
    )

    const { fields } = await console.json<Drift>('/drift')
    const { text, title } = await console.get('/drift')

    expect(before.fields.map(({ news }) => news)).not.toContain('new')
    expect(fields.slice(0, 2)).toMatchObject([
      { path: 'Battery<b>', news: 'new' },
      { path: 'OldField', news: 'vanished' },
    ])
    expect(title).toBe('Drift')
    expect(text).not.toContain('Battery<b>')
    expect(text).not.toContain('A column has lost its field')
  })

  test('a column whose field is gone leads to the names', async () => {
    await console.rows(
      "update ops.field_drift set last_seen_at = now() - interval '31 days' where json_path = 'Variant'",
    )

    const { fields } = await console.json<Drift>('/drift')
    const { text } = await console.get('/drift')

    expect(fields.find(({ path }) => path === 'Variant')).toMatchObject({ news: 'vanished' })
    expect(text).toContain('A column has lost its field. <a href="/console/names">Names</a>')
  })

  test('warnings are counted by check and listed', async () => {
    await console.rows(
      `insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
       select rooftop_id, 'evaluations', eval_id::text, 'planted-check', 'EntryDate is off', 1 from core.evaluation
       union all select 1, 'a-stream', 'x', 'other', 'y', 1`,
    )

    const { checks } = await console.json<Drift>('/drift')
    const { text } = await console.get('/drift?stream=evaluations&check=planted-check')

    const expected = await console.rows<{ check: string; records: number }>(
      'select check_name as "check", count(*)::int as records from ops.data_quality group by stream, check_name order by 1',
    )
    const found = checks.map(({ check, records }) => ({ check, records }))
    expect(found.toSorted((a, b) => (a.check < b.check ? -1 : 1))).toEqual(expected)
    expect(text).toContain('EntryDate is off')
  })
})

describe('actions', () => {
  test('what was done is listed, newest first, and a page at a time', async () => {
    await console.rows(
      `insert into ops.console_action (email, role, action, target, outcome)
       select 'ida@example.com', 'engineer', 'retry', '{"page": "/quarantine"}', 'done' from generate_series(1, 60)`,
    )

    const first = await console.json<{ shown: { id: number }[]; hasMore: boolean }>(
      '/actions?who=Ida@example.com',
    )
    const { title, text } = await console.get(
      `/actions?who=ida@example.com&before=${first.shown.at(-1)!.id}`,
    )

    expect(first).toMatchObject({ hasMore: true })
    expect(first.shown).toHaveLength(50)
    expect(title).toBe('Actions')
    expect(text.match(/page \/quarantine/g)).toHaveLength(10)
    expect((await console.get('/actions?who=nil@example.com')).text).toContain('has done nothing')
  })
})

test.each(['/links', '/spend', '/webhooks?show=all', '/drift', '/actions'])(
  'neither %s nor its JSON shows a customer or a signed link',
  async (path) => {
    const { text } = await console.get(path)
    const json = await console.json(path)

    expect(leaksIn(console.fixture, text)).toEqual([])
    expect(leaksIn(console.fixture, JSON.stringify(json))).toEqual([])
  },
)
