import { afterAll, beforeAll, expect, test } from 'vitest'
import { pages } from '#src/web/console/pages.ts'
import { caseCount, runsEveryCase, someOf } from '../../support/cases.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { readTargets, rowOf, type Target } from './access-matrix.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { leaksIn, plainText } from './leaks.ts'

let console: ConsoleFixture
let targets: readonly Target[]

beforeAll(async () => {
  console = await openConsole({ fixture: await reportedFixture(7, 120) })
  targets = await readTargets(console)
  // Where customers are besides their own tables: records that do not fit, and what webhooks brought.
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'evaluations', rooftop_id, natural_key, '[{"path":"CustomerEmail","message":"is not a text"}]', body, (select max(run_id) from ops.run)
     from raw.payload where endpoint = 'geteval' order by natural_key, fetched_at limit 20`,
  )
  await console.rows(
    `insert into ops.webhook_delivery (event, rooftop_id, body_hash, body, state, issue, source_received_at)
     select 'ON_COMPLETE', rooftop_id, sha256(convert_to(natural_key, 'UTF8')), body, 'unusable', 'It names no evaluation.', now()
     from raw.payload where endpoint = 'geteval' order by natural_key, fetched_at limit 20`,
  )
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

const ask = async (path: string, accept: string) =>
  (await console.get(path, { headers: { accept } })).text

test('the check finds the customers of the planted records', async () => {
  const planted = await console.rows<{ text: string }>(
    `select payload as text from ops.quarantine where payload <> '{}' union all select body::text from ops.webhook_delivery`,
  )

  expect(planted.length).toBeGreaterThan(30)
  for (const { text } of planted) expect(leaksIn(console.fixture, text)).not.toEqual([])
})

test('no page, program or file gets what names a customer, nor a signed link', async () => {
  const quarantined = await console.rows<{ id: number }>(
    'select quarantine_id as id from ops.quarantine',
  )
  const open = [
    ...pages.flatMap(({ path }) => someOf(targets, 1).map((target) => rowOf(path).path(target))),
    ...quarantined.map(({ id }) => `/quarantine/${id}`),
  ]
  const seen = new Set(open)
  const leaks: string[] = []

  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    const page = await ask(path, 'text/html')
    const json = path.includes('download=') ? '' : await ask(path, 'application/json')
    const found = leaksIn(console.fixture, `${page}${json}`)
    if (found.length > 0) leaks.push(`${path}: ${found.join()}`)
    for (const [, href] of page.matchAll(/href="\/console(\/[^"]*)"/g)) {
      const next = plainText(href!).replace(/#.*/, '')
      // One of each kind of page is enough; files are of every rooftop.
      const kind = next.includes('download=') ? next : next.replaceAll(/\d+/g, '0')
      if (seen.has(kind) || /^\/assets|download=parquet/.test(next)) continue
      seen.add(kind)
      // Each kind of page is there from the beginning; in npm test only files are added.
      if (runsEveryCase || next.includes('download=csv')) open.push(next)
    }
  }

  expect([...seen].filter((path) => path.includes('download=csv')).length).toBeGreaterThan(
    caseCount(15, 2),
  )
  expect(leaks).toEqual([])
})
