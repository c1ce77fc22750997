import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { applyRetention } from '#src/privacy/retain/apply-retention.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { listOf, vehicles } from '../import-fixture.ts'
import { openInboxFixture } from './inbox-fixture.ts'
import { openWatchFixture } from './watch-fixture.ts'

test('keepDays removes old lists of done/ with their reports, and nothing else', async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north', mode: 'delta', keepDays: 30 })
  await fixture.drop('a.csv', listOf(vehicles(3)))
  await fixture.drop('b.json', '[1]')
  await fixture.pass()
  const done = join(fixture.folder, 'done')
  const aged = (name: string, days: number) =>
    name.replace(
      /^[\d]{8}/,
      new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10).replaceAll('-', ''),
    )
  for (const name of await readdir(done)) await rename(join(done, name), join(done, aged(name, 31)))
  await writeFile(join(done, 'notes.txt'), 'mine')
  await fixture.drop('c.csv', listOf(vehicles(3, 4)))
  await fixture.pass()
  const [young] = (await fixture.list('done')).filter((name) => name.endsWith('c.csv'))
  await rename(join(done, young!), join(done, aged(young!, 29)))

  await fixture.pass()

  const left = (await fixture.list('done')).map((name) => name.replace(/^\d+-\d+-\d+-/, ''))
  expect(left.sort()).toEqual(['c.csv', 'c.csv.report.txt', 'notes.txt'])
  expect(await fixture.list('failed')).toHaveLength(2)
})

test('what cannot be removed from done/ is a problem beside the files that were imported', async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north', keepDays: 30 })
  // A folder is not removed as a file is.
  const old = join(fixture.folder, 'done', '20010101-000000-1-old.csv')
  await mkdir(old, { recursive: true })
  await fixture.drop('a.csv', listOf(vehicles(3)))

  const { files, problems } = await fixture.pass()

  expect(files).toMatchObject([{ file: 'a.csv', state: 'done' }])
  expect(problems.at(-1)!.problem).toContain('that are older than keepDays (30) cannot be removed')
  expect((await fixture.status()).status).toBe('unusable')
})

test('without keepDays every file stays', { tags: 'ci' }, async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north', mode: 'delta' })
  await writeFile(join(fixture.folder, 'x.csv'), listOf(vehicles(3)))
  await fixture.pass()
  const done = join(fixture.folder, 'done')
  const [name] = await fixture.list('done')
  await rename(join(done, name!), join(done, name!.replace(/^\d{8}/, '20010101')))

  await fixture.pass()

  expect((await fixture.list('done'))[0]).toMatch(/^20010101/)
})

test('retention deletes old records of files, but never what settles a failed one', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north' })
  await fixture.drop('a.csv', listOf(vehicles(20)))
  await fixture.pass()
  await fixture.drop('b.csv', listOf(vehicles(2)))
  await fixture.pass()
  await fixture.drop('c.csv', listOf(vehicles(21)))
  await fixture.pass()
  const { pool, config } = fixture
  const context = { pool, config, db: openDb(pool), signal: new AbortController().signal }
  const young = await applyRetention(context)
  await pool.query(`update ops.stock_inbox_file set ended_at = ended_at - interval '91 days'`)

  const old = await applyRetention(context)

  expect([young.inboxFiles, old.inboxFiles]).toEqual([0, 1])
  const left = await fixture.rows(
    'select file_name as name from ops.stock_inbox_file order by file_id',
  )
  expect(left).toEqual([{ name: 'b.csv' }, { name: 'c.csv' }])
  expect((await fixture.status()).status).toBe('ok')
})

test('runs of stock-inbox that did nothing wrong are deleted after two weeks, others after 400 days', async () => {
  await using fixture = await openWatchFixture()
  await fixture.pool.query(
    `insert into ops.job_fire (job_name, cause, status, host, process_id, claimed_at, finished_at, error)
     select job, 'manual', status, 'here', 1, now() - days * interval '1 day', now(), case when status = 'partial' then 'a.csv' end
     from unnest(array['stock-inbox', 'retention']) as job, unnest(array['ok', 'partial']) as status, unnest(array[13, 15, 401]) as days order by days desc`,
  )

  const { code } = await fixture.run(['run', 'retention'])

  const { rows } = await fixture.pool.query(
    `select job_name || ' ' || status || ' ' || extract(day from now() - claimed_at)::int as left_run from ops.job_fire
     where claimed_at < now() - interval '1 day' order by left_run`,
  )
  expect(code).toBe(0)
  expect(rows.map((row) => row.left_run)).toEqual([
    ...['retention ok 13', 'retention ok 15', 'retention partial 13', 'retention partial 15'],
    ...['stock-inbox ok 13', 'stock-inbox partial 13', 'stock-inbox partial 15'],
  ])
})

test('an erasure says which files it does not search', { tags: 'ci' }, async () => {
  await using fixture = await openWatchFixture()
  const erase = ['erase', '--email', 'jane@example.org']

  const { stdout } = await fixture.run([...erase, '--dry-run'])
  const documents = await Promise.all(
    [['--dry-run'], ['--yes']].map(async (how) => {
      const result = await fixture.run([...erase, ...how, '--json'])
      return JSON.parse(result.stdout)
    }),
  )

  expect(stdout).toContain(
    `Not searched: the stock lists in done/ and failed/ of ${fixture.folder}. Remove those that name the customer.`,
  )
  const notSearched = ['done', 'failed'].map((name) => join(fixture.folder, name))
  expect(documents).toMatchObject([
    { dryRun: true, notSearched },
    { dryRun: false, notSearched },
  ])
})
