import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { removeErasedFiles } from '#src/privacy/erase/erased-files.ts'
import { openImportFixture } from '../../stock/import-fixture.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { dumpOf, linesWith } from './dump.ts'
import { byEmail, byPhone, eraseIn, jane, janesTexts, now } from './erase-fixture.ts'

const createdAt = '2026-03-02T01:00:00Z'

async function openSmallFixture(): Promise<Fixture> {
  const evaluations = [
    anEvaluation({ evalId: 1, createdAt, customer: jane }),
    anEvaluation({ evalId: 2, createdAt, notes: 'nothing of anybody' }),
  ]
  return await openFixture({
    sandbox: { world: worldOf({ evaluations }), now },
    sync: { start: '2026-03-01' },
  })
}

async function janesLines(pool: pg.Pool): Promise<string[]> {
  return linesWith(await dumpOf(pool), janesTexts)
}

test('an erase covers quarantine, open and resolved, valid and broken, and a retry brings nothing back', async () => {
  await using fixture = await openSmallFixture()
  const { pool } = fixture.database
  const { world } = fixture.sandbox
  world.poison(1, { UpdatedAt: 'never' })
  await fixture.night()
  await pool.query(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id, resolved_at)
     select 'evaluations', rooftop_id, '1', '[{"path":"$","message":"is cut off after 0412 345 678"}]',
       '[{"EvalID":1,"CustomerName":"Jane Ann Citizen","Custo', 1, now() from core.rooftop`,
  )

  const receipt = await eraseIn(fixture, byEmail)
  const erased = await janesLines(pool)
  await fixture.night()
  world.removePoison(1)
  const healed = await fixture.night()

  expect(erased).toEqual([])
  expect(receipt.tables['ops.quarantine']).toBe(2)
  expect(healed.streams['evaluations']).toMatchObject({ inserted: 1, quarantined: 0 })
  expect(await janesLines(pool)).toEqual([])
})

test('what is in quarantine without an evaluation, or as an answer about hers, goes as a whole', async () => {
  await using fixture = await openSmallFixture()
  const { pool } = fixture.database
  await fixture.night()
  const unnamed = { Licence: 'VIC 0123 4567', Birth: '1980-02-03', PdfUrl: 'https://x/y?sig=z' }
  const plant = async (stream: string, key: string, record: object) =>
    await pool.query(
      `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
       select $1, rooftop_id, $2, '[]', $3, 1 from core.rooftop`,
      [stream, key, JSON.stringify(record)],
    )
  await plant('evaluations', 'item 0123456789abcdef', { ...unnamed, Email: jane.email })
  await plant('vehicle-checks', '1/getpastppsrsearch', unnamed)
  await plant('evaluations', 'item fedcba9876543210', { Birth: '1990-01-01' })
  await plant('vehicle-checks', '2/getpastppsrsearch', unnamed)

  const receipt = await eraseIn(fixture, byEmail)

  const { rows } = await pool.query('select payload from ops.quarantine order by quarantine_id')
  expect(rows.map(({ payload }) => payload as string)).toEqual([
    ...['[erased]', '[erased]', '{"Birth":"1990-01-01"}', JSON.stringify(unnamed)],
  ])
  expect(receipt).toMatchObject({ tables: { 'ops.quarantine': 2 }, rescan: { left: {} } })
})

test('a signed link in the answer of a paid call is removed with the customer', async () => {
  await using fixture = await openSmallFixture()
  const { pool } = fixture.database
  await fixture.night()
  const links = { ppsrsearch: 'PdfUrl', carhistory: 'PDF' }
  for (const [endpoint, name] of Object.entries(links))
    for (const evalId of [1, 2])
      await pool.query(
        `insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
         select rooftop_id, $1, $2, now(), 'x', $3, 1 from core.rooftop`,
        [endpoint, evalId, JSON.stringify({ ID: 7, [name]: 'https://x/y?sig=z' })],
      )

  await eraseIn(fixture, byEmail)

  const { rows } = await pool.query(
    `select natural_key as key, body from raw.payload where endpoint = any($1) order by 1, endpoint desc`,
    [Object.keys(links)],
  )
  expect(rows).toEqual([
    { key: '1', body: { ID: 7 } },
    { key: '1', body: { ID: 7 } },
    { key: '2', body: { ID: 7, PdfUrl: 'https://x/y?sig=z' } },
    { key: '2', body: { ID: 7, PDF: 'https://x/y?sig=z' } },
  ])
})

test('an erase covers texts without an evaluation: runs, calls, warnings, batches and the queue', {
  tags: 'ci',
}, async () => {
  await using fixture = await openSmallFixture()
  const { pool } = fixture.database
  await fixture.night()
  const text = "Jane Ann Citizen <jane.citizen@example.org>, '+61 412 345 678', 12 Station Street"
  await pool.query('update ops.run_stream set error = $1', [text])
  await pool.query(`update ops.run set arguments = jsonb_build_object('for', $1::text)`, [text])
  await pool.query(
    `insert into ops.billable_call (operation, budget, day, state, requested_by, note)
     values ('ppsrsearch', 'ppsrSearch', '2026-03-10', 'released', 'me@host', $1)`,
    [text],
  )
  await pool.query(
    `insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
     select rooftop_id, 'stock-prices', 'S1', 'x', $1, 1 from core.rooftop`,
    [text],
  )
  await pool.query(`update pgboss.job set data = data || jsonb_build_object('note', $1::text)`, [
    text,
  ])

  const receipt = await eraseIn(fixture, byEmail)

  expect(await janesLines(pool)).toEqual([])
  expect(Object.keys(receipt.tables)).toEqual(
    expect.arrayContaining(['ops.run', 'ops.run_stream', 'ops.billable_call', 'ops.data_quality']),
  )
  const { rows } = await pool.query('select note from ops.billable_call')
  expect(rows).toEqual([{ note: "[erased]>, '[erased]', [erased]" }])
})

test('an erase covers cells, issues, preambles and units of stock lists', async () => {
  await using stock = await openImportFixture()
  await stock.import(
    [
      'Prepared for Jane Ann Citizen',
      'Stock No,Make,Model,Year,Price,VIN,Seller,Comments',
      'S1,Ford,Ranger,2019,21000,,Jane Ann Citizen,"call 0412 345 678"',
      'S2,Ford,Focus,2019,22000,,Bob,"jane.citizen@example.org, 12 Station Street"',
      'S3,Ford,Focus,2019,x,,Bob,JANE.CITIZEN@EXAMPLE.ORG',
    ].join('\n'),
  )
  const { pool, config } = stock
  await pool.query(
    `insert into pii.evaluation_customer (rooftop_id, eval_id, customer_name, phone, email, address)
     select rooftop_id, 1, $1, $2, $3, $4 from core.rooftop where rooftop_uid = 'north'`,
    [jane.name, jane.phone, jane.email, jane.address],
  )

  const receipt = await eraseIn({ context: { pool }, config } as unknown as Fixture, byPhone)

  expect(await janesLines(pool)).toEqual([])
  expect(receipt.tables).toMatchObject({
    'core.stock_import_row': 3,
    'core.stock_import': 1,
    'core.stock_unit': 3,
  })
  const { rows } = await pool.query(`select cells from core.stock_import_row where stock_no = 'S1'`)
  expect(JSON.stringify(rows)).toContain('"[erased]","call [erased]"')
})

test('links and PDFs are removed with their files, also after an interrupted erasure, and do not come back', {
  tags: 'ci',
}, async () => {
  await using fixture = await openSmallFixture()
  await using folder = await temporaryFolder()
  const { pool } = fixture.database
  await fixture.night()
  const add = async (evalId: number, ref: string, digit: string) => {
    const sha = digit.repeat(64)
    await mkdir(join(folder.path, sha.slice(0, 2)), { recursive: true })
    await writeFile(join(folder.path, sha.slice(0, 2), `${sha}.pdf`), 'pdf')
    await pool.query(
      `insert into pii.signed_link select rooftop_id, $1, 'ppsr_pdf', $2, 'https://x/y', now(), now() + interval '7 days' from core.rooftop`,
      [evalId, ref],
    )
    await pool.query(
      `insert into pii.archived_pdf select rooftop_id, $1, 'ppsr_pdf', $2, decode($3, 'hex'), 3 from core.rooftop`,
      [evalId, ref, sha],
    )
  }
  await add(1, 'own', 'a')
  await add(1, 'shared', 'b')
  await add(2, 'others', 'b')

  // As if the process had died right after the commit.
  const receipt = await eraseIn(fixture, byEmail)
  const between = await removeErasedFiles(fixture.context.db, null)
  const files = await removeErasedFiles(fixture.context.db, folder.path)
  await add(1, 'again', 'c')
  const late = await removeErasedFiles(fixture.context.db, folder.path)

  expect(receipt).toMatchObject({ files: 1, tables: { 'pii.signed_link': 2 } })
  expect(between).toMatchObject({ removed: 0, pending: 1 })
  expect([files, late]).toMatchObject([
    { removed: 1, pending: 0 },
    { removed: 1, pending: 0 },
  ])
  const left = await readdir(folder.path, { recursive: true })
  expect(left.filter((name) => name.endsWith('.pdf'))).toEqual([`bb/${'b'.repeat(64)}.pdf`])
  const { rows } = await pool.query('select eval_id::int from pii.signed_link')
  expect(rows).toEqual([{ eval_id: 2 }])
  const { rows: done } = await pool.query('select done_at is not null as done from pii.erasure')
  expect(done).toEqual([{ done: true }])
})

test('the customer in a pricing AI text is erased and does not come back', {
  tags: 'ci',
}, async () => {
  await using fixture = await openSmallFixture()
  const { pool } = fixture.database
  await fixture.night()
  await pool.query(
    `insert into core.price_insight (rooftop_id, eval_id, price_source, observed_at, audience, position, insight)
     select rooftop_id, 1, 'pricing_ai', now(), 'customer', 1, 'Dear Jane Citizen, a fair price' from core.rooftop`,
  )
  await pool.query(
    `insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
     select rooftop_id, 'getpastppsrsearch', '1', now(), 'x', '[{"WatchStatus":"watching","Grantor":"CITIZEN, Jane Ann"}]', 1 from core.rooftop`,
  )

  await eraseIn(fixture, byEmail)

  expect(await janesLines(pool)).toEqual([])
  const { rows } = await pool.query('select insight from core.price_insight')
  expect(rows).toEqual([{ insight: 'Dear [erased], a fair price' }])
})

test('a customer who is also a salesperson stays in the list of users, and the receipt shows it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openSmallFixture()
  const { pool } = fixture.database
  await fixture.night()
  await pool.query(
    `with made as (
       insert into core.app_user (group_id, display_name, is_generated_link_account, in_user_list)
       select group_id, 'Jane Ann Citizen', false, true from core.rooftop returning user_id, group_id)
     insert into pii.app_user_email select user_id, group_id, 'jane.citizen@example.org' from made`,
  )

  const receipt = await eraseIn(fixture, byEmail)

  expect(receipt.rescan).toMatchObject({
    left: { 'pii.app_user_email': 1 },
    others: { 'core.app_user': 1 },
  })
})

test('another customer with the same name or phone is not changed, and the receipt names the evaluation', {
  tags: 'ci',
}, async () => {
  const namesake = { ...jane, email: 'other.jane@example.org', address: '1 Far Road' }
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt, customer: jane }),
      anEvaluation({ evalId: 2, createdAt, customer: namesake, notes: 'Jane Citizen rang' }),
    ],
  })
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  const before = await pool.query('select * from pii.evaluation_customer where eval_id = 2')

  const receipt = await eraseIn(fixture, byEmail)

  expect(receipt.alsoCarriedBy).toEqual([{ rooftop: 'rooftop-1', evalId: 2 }])
  expect(receipt.rescan.left).toEqual({})
  const after = await pool.query('select * from pii.evaluation_customer where eval_id = 2')
  expect(after.rows).toEqual(before.rows)
})
