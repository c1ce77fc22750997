import { execFileSync } from 'node:child_process'
import { appendFileSync, closeSync, openSync, readdirSync } from 'node:fs'
import { appendFile, mkdir, rename, rm, stat, symlink, truncate, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { listInboxes } from '#src/stock/folders/inbox.ts'
import { runPass } from '#src/stock/folders/pass.ts'
import { someOf } from '../../support/cases.ts'
import { aVehicle, listOf, vehicles } from '../import-fixture.ts'
import { age, openInboxFixture } from './inbox-fixture.ts'

const units = 'select stock_no from core.stock_unit where missing_since is null order by 1'
/** Its years are none, so a person is asked. */
const doubtful = listOf(vehicles(5)).replaceAll(',2019,', ',2018/2019,')
const imports = 'select import_id from core.stock_import'

test('a list is imported once it has not changed for a while, and moved to done/ with a report', async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('stock list.csv', listOf(vehicles(3)))

  const report = await fixture.pass()

  expect(report).toMatchObject({
    ...{ waiting: [], problems: [], busy: [], ignored: [] },
    files: [
      { file: 'stock list.csv', state: 'done', rooftops: [{ rooftop: 'north', accepted: 3 }] },
    ],
  })
  expect(await fixture.rows(units)).toHaveLength(3)
  expect([await fixture.list(), await fixture.list('working')]).toEqual([[], []])
  const names = await fixture.list('done')
  expect(names.map((name) => name.replace(/^\d{8}-\d{6}-\d+-/, ''))).toEqual([
    'stock_list.csv',
    'stock_list.csv.report.txt',
  ])
  const text = await fixture.text('done', '.report.txt')
  expect(text).toContain('Report on the stock list "stock list.csv"')
  expect(text).toContain('Result: imported.')
  expect(text).toContain('It has 3 rows: 3 accepted, 0 rejected.')
  expect((await fixture.status()).status).toBe('ok')
})

test('the report names each row that is not a vehicle, with its reason', async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop(
    'stock.csv',
    `${listOf(vehicles(3))}Summe,,,,,135042,60006,\r\nPage,1,of,1,,,,\r\n`,
  )

  await fixture.pass()

  const text = await fixture.text('done', '.report.txt')
  expect(text).toContain('It has 5 rows: 3 accepted, 0 rejected, 2 that are not vehicles in stock.')
  expect(text).toContain('line 5: a total, not a vehicle: "Summe" (TOTALS_ROW)')
  expect(text).toContain('line 6: the row is the number of a page, "Page 1 of 1" (NO_VEHICLE)')
})

test('a list whose price has an unknown header is refused, and a VIN that became the stock number is in the report', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  const list = listOf([...vehicles(4), aVehicle(5, { stockNo: '' })])
  await fixture.drop('odd.csv', list.replace('Price', 'Our $'))
  await fixture.drop('plain.csv', list)

  const { files } = await fixture.pass()
  const [failed, done] = await Promise.all(
    (['failed', 'done'] as const).map((folder) => fixture.text(folder, '.report.txt')),
  )

  expect(files.map(({ file, state }) => [file, state])).toEqual([
    ['odd.csv', 'failed'],
    ['plain.csv', 'done'],
  ])
  expect(failed).toContain('Perhaps "Our $" does.')
  expect(failed).toContain("--map 'price_asking=Our $'")
  expect(done).toContain('Rows that were imported with a doubt:')
  expect(done).toMatch(/line 6, .*no stock number: the VIN identifies the vehicle/)
})

test('corrected rows that are dropped under another name are compared with later lists', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  const damaged = listOf([...vehicles(6), aVehicle(7, { price: '1x2' })])
  await fixture.drop('thursday.csv', damaged)
  await fixture.pass()
  const rejected = await fixture.text('done', '.rejected.csv')
  await fixture.drop('friday.csv', listOf([...vehicles(6), aVehicle(7, { price: '25000' })]))
  await fixture.pass()

  await fixture.drop('Book1.csv', rejected.replace('1x2', '20000'))
  const { files } = await fixture.pass()

  expect(files).toMatchObject([{ state: 'failed', rooftops: [{ outcome: 'refused' }] }])
  expect(files[0]!.commands[0]).toMatch(/--mode delta --allow-older-values$/)
  const text = await fixture.text('failed', '.report.txt')
  expect(text).toMatch(/S0007 is in \S*friday\.csv \(import 2\) .*asking_price 25000\S* → 20000/)
  expect(
    await fixture.rows(
      "select asking_price::int as p from core.stock_unit where stock_no = 'S0007'",
    ),
  ).toEqual([{ p: 25000 }])
})

test('a file that still grows is left alone, and imported when it is complete', async () => {
  await using fixture = await openInboxFixture()
  const { pool, services, config, folder } = fixture
  const whole = listOf(vehicles(6))
  await fixture.drop('stock.csv', whole.slice(0, 200))
  await runPass(services, listInboxes(config))
  await age(pool)
  await appendFile(join(folder, 'stock.csv'), whole.slice(200))

  const growing = await runPass(services, listInboxes(config))
  await age(pool)
  const complete = await runPass(services, listInboxes(config))

  expect(growing).toMatchObject({ files: [], waiting: ['stock.csv'] })
  expect(complete.files).toMatchObject([{ state: 'done', rooftops: [{ accepted: 6 }] }])
})

test('a file that is written to after it was taken is imported again, whole', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  const { pool, services, config, folder } = fixture
  const list = listOf(vehicles(7))
  const cut = list.indexOf('S0006')
  await fixture.drop('stock.csv', list.slice(0, cut))
  const crashPoint = (name: string) => {
    if (name !== 'inbox-decided') return
    // The upload had only paused: its program goes on in the file that was moved.
    for (const file of readdirSync(join(folder, 'working')))
      appendFileSync(join(folder, 'working', file), list.slice(cut))
  }
  await runPass(services, listInboxes(config))
  await age(pool)

  const early = await runPass({ ...services, crashPoint }, listInboxes(config))
  await age(pool)
  const late = await runPass(services, listInboxes(config))

  expect(early).toMatchObject({ files: [], waiting: ['stock.csv'] })
  expect(late.files).toMatchObject([{ state: 'done', rooftops: [{ accepted: 7 }] }])
  expect(await fixture.rows(units)).toHaveLength(7)
})

test.for(
  someOf(['inbox-imported', 'inbox-decided', 'inbox-offered', 'inbox-reported', 'inbox-moved'], 2),
)(
  'rows that arrive at %s are imported as the next version, with a report of them all',
  async (point) => {
    await using fixture = await openInboxFixture()
    const { pool, services, config, folder } = fixture
    const list = listOf(vehicles(7))
    const cut = list.indexOf('S0006')
    await fixture.drop('stock.csv', list.slice(0, cut))
    // The program that writes the list has not closed it, and does not see that it was moved.
    const writer = openSync(join(folder, 'stock.csv'), 'a')
    let rest = list.slice(cut)
    const crashPoint = (name: string) => {
      if (name !== point) return
      appendFileSync(writer, rest)
      rest = ''
    }
    try {
      await runPass(services, listInboxes(config))
      await age(pool)

      const early = await runPass({ ...services, crashPoint }, listInboxes(config))
      const left = [...(await fixture.list('done')), ...(await fixture.list('failed'))]
      await age(pool)
      const late = await runPass(services, listInboxes(config))

      expect(early).toMatchObject({ files: [], waiting: ['stock.csv'] })
      expect(left).toEqual([])
      expect(late.files).toMatchObject([{ state: 'done', rooftops: [{ accepted: 7 }] }])
      expect(await fixture.rows(units)).toHaveLength(7)
      expect(await fixture.text('done', '.report.txt')).toMatch(/7 (rows )?accepted|accepted: 7/)
    } finally {
      closeSync(writer)
    }
  },
)

test('the same content again changes nothing, until another list has changed the stock', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  const [first, second] = [listOf(vehicles(3)), listOf(vehicles(4))]
  await fixture.drop('a.csv', first)
  await fixture.pass()
  await fixture.drop('b.csv', first)

  const again = await fixture.pass()
  await fixture.drop('c.csv', second)
  await fixture.pass()
  await fixture.drop('d.csv', first)
  const back = await fixture.pass()

  expect(again.files).toMatchObject([
    { state: 'done', rooftops: [{ outcome: 'already-imported' }] },
  ])
  expect(await fixture.rows('select 1 from core.stock_import')).toHaveLength(3)
  expect(back.files).toMatchObject([{ state: 'done', rooftops: [{ outcome: 'imported' }] }])
  const text = (await fixture.list('done')).filter((name) => /b\.csv\.report/.test(name))
  expect(text).toHaveLength(1)
  expect(await fixture.rows(units)).toHaveLength(3)
})

test('rejected rows are beside the report, and are imported once they are corrected and dropped', async () => {
  await using fixture = await openInboxFixture()
  const list = listOf(vehicles(12)).replace('S0002', 'S0003')
  await fixture.drop('stock.csv', list)

  await fixture.pass()
  const rejected = await fixture.text('done', '.rejected.csv')
  const text = await fixture.text('done', '.report.txt')
  await fixture.drop('corrected.csv', rejected.replace('S0003', 'S0002'))
  const corrected = await fixture.pass()

  expect(text).toContain('12 rows: 10 accepted, 2 rejected')
  expect(text).toContain('correct them there, and drop that file into')
  expect(corrected.files).toMatchObject([{ state: 'done', rooftops: [{ accepted: 2 }] }])
  expect(await fixture.rows(units)).toHaveLength(12)
  expect(await fixture.rows("select 1 from core.stock_import where mode = 'delta'")).toHaveLength(1)
})

test('in a folder with a pattern and a marker the report says how corrected rows are dropped, and so they are imported', async () => {
  await using fixture = await openInboxFixture({
    ...{ rooftop: 'north', pattern: 'north-*.csv', marker: '.ready' },
  })
  await fixture.drop('north-1.csv', listOf(vehicles(12)).replace('S0002', 'S0003'))
  await fixture.drop('north-1.csv.ready', '')
  await fixture.pass()
  const text = await fixture.text('done', '.report.txt')
  const rejected = (await fixture.text('done', '.rejected.csv')).replace('S0003', 'S0002')

  await fixture.drop('20260301-000000-1-north-1.csv.rejected.csv', rejected)
  await fixture.drop('20260301-000000-1-north-1.csv.rejected.csv.ready', '')
  const underItsName = await fixture.pass()
  await fixture.drop('north-2.csv', rejected)
  await fixture.drop('north-2.csv.ready', '')
  const asPrinted = await fixture.pass()

  expect(text).toContain(
    `drop that file into ${fixture.folder} under a name that fits north-*.csv with a file <its name>.ready beside it.`,
  )
  expect(underItsName.files).toEqual([])
  expect(asPrinted.files).toMatchObject([{ state: 'done', rooftops: [{ accepted: 2 }] }])
})

test('a list whose columns are not certain fails with the command that imports it', async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('stock.csv', doubtful)

  const report = await fixture.pass()

  const [file] = report.files
  expect(file).toMatchObject({ state: 'failed', rooftops: [{ outcome: 'refused' }] })
  expect(file!.commands).toHaveLength(1)
  expect(file!.commands[0]).toContain(`forecourt stock import ${file!.path} --rooftop north --map`)
  const text = await fixture.text('failed', '.report.txt')
  expect(text).toContain('Result: NOT IMPORTED. The stock is as it was before.')
  expect(text).toContain(file!.commands[0])
  expect(await fixture.rows(units)).toEqual([])
  expect(await fixture.status()).toMatchObject({
    status: 'failed',
    failed: [{ file: 'stock.csv', path: file!.path, commands: file!.commands }],
  })
})

test('a list that would empty the stock fails, and is over when it is removed or a good list comes', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('a.csv', listOf(vehicles(20)))
  await fixture.pass()
  await fixture.drop('b.csv', listOf(vehicles(2)))

  const report = await fixture.pass()
  const [file] = report.files
  const open = await fixture.status()
  await fixture.drop('c.csv', listOf(vehicles(21)))
  await fixture.pass()
  const newer = await fixture.status()
  await fixture.drop('d.csv', listOf(vehicles(2)))
  const second = await fixture.pass()
  await rm(second.files[0]!.path!)
  await fixture.pass()
  const removed = await fixture.status()

  expect(file).toMatchObject({
    state: 'failed',
    commands: [`forecourt stock import ${file!.path} --rooftop north --allow-mass-removal`],
  })
  expect(open).toMatchObject({ status: 'failed', failed: [{ file: 'b.csv' }] })
  expect([newer.status, removed.status]).toEqual(['ok', 'ok'])
  expect(await fixture.rows(units)).toHaveLength(21)
})

test('a list of unusual values waits in failed/ with the command that confirms it', async () => {
  await using fixture = await openInboxFixture()
  const dear = vehicles(6).map((unit) => ({ ...unit, price: `${unit.price}000` }))
  await fixture.drop('dear.csv', listOf(dear))

  const { files } = await fixture.pass()

  const [file] = files
  expect(file).toMatchObject({
    state: 'failed',
    commands: [`forecourt stock import ${file!.path} --rooftop north --allow-unusual-values`],
  })
  expect(await fixture.text('failed', '.report.txt')).toContain('a median asking price of 20003000')
  expect(await fixture.rows(units)).toEqual([])
})

test('temporary and hidden names are left alone until they are renamed', async () => {
  await using fixture = await openInboxFixture()
  const names = ['.stock.csv', 'a.csv.filepart', 'b.csv.part', 'c.tmp', '~$d.xlsx', 'e.csv.done']
  for (const name of names) await fixture.drop(name, listOf(vehicles(2)))

  const before = await fixture.pass()
  await rename(join(fixture.folder, 'a.csv.filepart'), join(fixture.folder, 'a.csv'))
  const after = await fixture.pass()

  expect(before).toMatchObject({ files: [], waiting: [] })
  expect(after.files).toMatchObject([{ file: 'a.csv', state: 'done' }])
})

test('a marker completes a file at once, and only a marker does', async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north', marker: '.ok' })
  await fixture.drop('stock.csv', listOf(vehicles(2)))

  const without = await fixture.pass()
  await fixture.drop('stock.csv.ok', '')
  const marked = await runPass(fixture.services, listInboxes(fixture.config))

  expect(without).toMatchObject({ files: [], waiting: ['stock.csv'] })
  expect(marked.files).toMatchObject([{ file: 'stock.csv', state: 'done' }])
  expect(await fixture.list()).toEqual([])
})

test('names that are not text or have line ends, links, folders, pipes, empty and huge files: each is reported', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north', mode: 'delta' })
  const { folder } = fixture
  await fixture.drop(Buffer.from('st\xf6ck.csv', 'latin1'), listOf(vehicles(1, 1)))
  await fixture.drop('two\nlines;rm -rf.csv', listOf(vehicles(1, 2)))
  await fixture.drop(`${'x'.repeat(240)}.csv`, listOf(vehicles(1, 3)))
  await fixture.drop('مخزون.csv', listOf(vehicles(1, 4)))
  await fixture.drop('empty.csv', '')
  await fixture.drop('huge.csv', '')
  await truncate(join(folder, 'huge.csv'), 3 * 1024 ** 3)
  await fixture.drop(
    'picture.csv',
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]),
  )
  await symlink('/etc/passwd', join(folder, 'link.csv'))
  await mkdir(join(folder, 'folder.csv'))
  execFileSync('mkfifo', [join(folder, 'pipe.csv')])

  const { files, ignored } = await fixture.pass()

  const ended = Object.fromEntries(files.map(({ file, state }) => [file, state]))
  expect(ended).toEqual({
    ...{ 'st\\xf6ck.csv': 'done', 'two\\nlines;rm -rf.csv': 'done', 'مخزون.csv': 'done' },
    ...{ [`${'x'.repeat(240)}.csv`]: 'done', 'empty.csv': 'failed', 'huge.csv': 'failed' },
    ...{ 'picture.csv': 'failed', 'link.csv': 'failed' },
  })
  const reasons = Object.fromEntries(files.map(({ file, reason }) => [file, reason]))
  expect(reasons['link.csv']).toContain('symbolic link')
  expect(reasons['huge.csv']).toContain('3.0 GB')
  expect(reasons['empty.csv']).toContain('empty')
  expect(ignored.map(({ name }) => name).sort()).toEqual(['folder.csv', 'pipe.csv'])
  expect(await fixture.rows(units)).toHaveLength(4)
  expect(await fixture.list('done')).toHaveLength(8)
  expect((await fixture.list('failed')).filter((name) => name.endsWith('.txt'))).toHaveLength(4)
  expect((await stat('/etc/passwd')).size).toBeGreaterThan(0)
})

test('the oldest file is imported first, so that the newest list is the stock', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('a.csv', listOf(vehicles(6)))
  await fixture.drop('z.csv', listOf(vehicles(5)))
  // By the clock of the folder, which need not be ours.
  const { mtimeMs } = await stat(join(fixture.folder, 'a.csv'))
  const older = new Date(mtimeMs - 3_600_000)
  await utimes(join(fixture.folder, 'z.csv'), older, older)

  const { files } = await fixture.pass()

  expect(files.map(({ file }) => file)).toEqual(['z.csv', 'a.csv'])
  expect(await fixture.rows(units)).toHaveLength(6)
})

test('a list that has to wait makes the newer ones of its inbox wait, so that the newest list is the stock', async () => {
  await using fixture = await openInboxFixture()
  const { pool, config, services } = fixture
  const monday = listOf(vehicles(5))
  await fixture.drop('monday.csv', monday)
  await fixture.pass()
  await fixture.drop('tuesday.csv', listOf(vehicles(6)))
  await fixture.drop('wednesday.csv', listOf(vehicles(7)))
  const { mtimeMs } = await stat(join(fixture.folder, 'wednesday.csv'))
  const older = new Date(mtimeMs - 3_600_000)
  await utimes(join(fixture.folder, 'tuesday.csv'), older, older)
  await runPass(services, listInboxes(config))
  await pool.query(
    "update ops.stock_inbox_file set unchanged_since = now() - interval '61 seconds' where file_name = 'wednesday.csv'",
  )

  const growing = await runPass(services, listInboxes(config))
  await age(pool)
  await using stack = new AsyncDisposableStack()
  const other = await pool.connect()
  stack.defer(() => other.release(true))
  await other.query('select pg_advisory_lock(7306, rooftop_id) from core.rooftop')
  // The other import ends once the older list was tried.
  const write = () => void other.query('select pg_advisory_unlock_all()')
  const log = openLog({
    level: 'info',
    human: false,
    secrets: [],
    write: (line) => void (line.includes('tried again') && write()),
  })
  const busy = await runPass({ ...services, log }, listInboxes(config))
  const free = await runPass(services, listInboxes(config))

  expect([growing, busy].map(({ waiting }) => waiting)).toEqual([
    ['tuesday.csv', 'wednesday.csv'],
    ['tuesday.csv', 'wednesday.csv'],
  ])
  expect(free.files.map(({ file }) => file)).toEqual(['tuesday.csv', 'wednesday.csv'])
  expect(await fixture.rows(units)).toHaveLength(7)
})

test('a file that disappears before it is taken is forgotten, one that disappears after it is reported', async () => {
  await using fixture = await openInboxFixture()
  const { services, config, pool, folder } = fixture
  await fixture.drop('a.csv', listOf(vehicles(2)))
  await runPass(services, listInboxes(config))
  await rm(join(folder, 'a.csv'))
  await runPass(services, listInboxes(config))
  const forgotten = await fixture.rows('select 1 from ops.stock_inbox_file')
  await fixture.drop('b.csv', listOf(vehicles(2)))
  const crashPoint = (name: string) => {
    if (name === 'inbox-taken') execFileSync('sh', ['-c', 'rm "$1"/working/*', 'sh', folder])
  }
  await runPass(services, listInboxes(config))
  await age(pool)
  const gone = await runPass({ ...services, crashPoint }, listInboxes(config))

  expect(forgotten).toEqual([])
  expect(gone.files).toMatchObject([{ file: 'b.csv', state: 'gone' }])
  expect(await fixture.status()).toMatchObject({ status: 'failed', failed: [{ path: null }] })
  expect(await fixture.rows(imports)).toEqual([])
})

test('a file that disappeared is over once it is dropped again, in a folder of changes too', async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north', mode: 'delta' })
  const { services, config, pool, folder } = fixture
  const crashPoint = (name: string) => {
    if (name === 'inbox-taken') execFileSync('sh', ['-c', 'rm "$1"/working/*', 'sh', folder])
  }
  await fixture.drop('b.csv', listOf(vehicles(2)))
  await runPass(services, listInboxes(config))
  await age(pool)
  await runPass({ ...services, crashPoint }, listInboxes(config))
  const gone = await fixture.status()
  await fixture.drop('other.csv', listOf(vehicles(2, 11)))
  await fixture.pass()
  const withAnother = await fixture.status()

  await fixture.drop('b.csv', listOf(vehicles(2)))
  await fixture.pass()

  expect(gone.failed[0]!.reason).toContain('disappeared from')
  expect(gone.failed[0]!.reason).toContain('drop it again')
  expect([gone.status, withAnother.status]).toEqual(['failed', 'failed'])
  expect((await fixture.status()).status).toBe('ok')
})

test('a folder that does not exist or may not be changed is a problem, which ends when it can be used', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture()
  const { folder } = fixture
  await rm(folder, { recursive: true })
  const missing = await fixture.pass()
  const status = await fixture.status()
  await mkdir(folder)
  await fixture.drop('working', 'not a folder')
  const blocked = await fixture.pass()
  await rm(join(folder, 'working'))
  await fixture.drop('a.csv', listOf(vehicles(2)))
  const well = await fixture.pass()

  expect(missing.problems[0]!.problem).toContain('make the folder, or correct stock.inbox')
  expect(status.status).toBe('unusable')
  expect(blocked.problems[0]!.problem).toContain('is not a folder: move it away')
  expect(well.files).toMatchObject([{ state: 'done' }])
  expect((await fixture.status()).status).toBe('ok')
})

test('a folder that another process works on is left to it', { tags: 'ci' }, async () => {
  await using fixture = await openInboxFixture()
  const { services, config } = fixture
  await fixture.drop('a.csv', listOf(vehicles(2)))
  await runPass(services, listInboxes(config))
  await age(fixture.pool)
  const crashPoint = () => undefined
  const both = await Promise.all([
    runPass({ ...services, crashPoint }, listInboxes(config)),
    runPass(services, listInboxes(config)),
  ])

  expect(both.flatMap(({ files }) => files)).toHaveLength(1)
  expect(await fixture.rows(imports)).toHaveLength(1)
})
