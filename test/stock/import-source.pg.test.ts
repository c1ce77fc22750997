import { execFileSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'

test('a file that grows while it is imported is refused, and nothing is changed', async () => {
  await using fixture = await openImportFixture()
  // The rooftop is known from then on.
  await fixture.import(listOf(vehicles(4)))
  const file = await fixture.write('list.csv', listOf(vehicles(5)))
  const before = await fixture.content()
  const crashPoint = (name: string) => {
    if (name === 'rows-written') execFileSync('sh', ['-c', `echo S9,x >> ${file}`])
  }

  for (const dryRun of [false, true]) {
    const refused = fixture.importFile(file, { crashPoint, dryRun })
    await expect(refused).rejects.toThrow(UsageError)
    await expect(refused).rejects.toThrow(/was written to while it was read .*nothing was imported/)
  }

  expect(await fixture.content()).toEqual(before)
})

test('the hashed bytes are the imported ones, also if the styles of a column need a second reading', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const rows = Array.from({ length: 700 }, (_, index) => `S${index},Kia,Rio,05/06/2025`)
  const list = ['Stock Number,Make,Model,Date In Stock', ...rows, 'S900,Kia,Rio,06/25/2025', '']
  const file = await fixture.write('list.csv', list.join('\n'))
  let reads = 0
  const crashPoint = () => {
    reads += 1
  }

  const report = await fixture.importFile(file, { crashPoint })
  const [{ bytes, sha256 }] = (await fixture.rows(
    `select byte_count::int as bytes, encode(sha256, 'hex') as sha256 from core.stock_import`,
  )) as [{ bytes: number; sha256: string }]

  expect(report).toMatchObject({ accepted: 701 })
  expect(bytes).toBe(list.join('\n').length)
  expect(sha256).toBe(execFileSync('sha256sum', [file]).toString().split(' ')[0])
  expect(reads).toBeGreaterThan(0)
})

test('a pipe and a device are refused before they are read', async () => {
  await using fixture = await openImportFixture()
  const pipe = join(fixture.folder, 'pipe')
  execFileSync('mkfifo', [pipe])

  await expect(fixture.importFile(pipe)).rejects.toThrow(
    /is a pipe, not a file.*with - as the file/,
  )
  await expect(fixture.importFile('/dev/zero')).rejects.toThrow(/is a device, not a file/)
})

test('standard input is read once, imported like a file, and leaves no file behind', async () => {
  await using fixture = await openImportFixture()
  const list = Buffer.from(listOf(vehicles(600)))
  const inputOf = (bytes: Buffer) => Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)])
  const ours = async () => (await readdir(tmpdir())).filter((name) => /^forecourt-list-/.test(name))
  const before = await ours()

  const first = await fixture.importFile('standard input', { input: inputOf(list) })
  const again = await fixture.importFile('standard input', { input: inputOf(list) })
  const none = fixture.importFile('standard input', { input: Readable.from([]) })

  expect(first).toMatchObject({ status: 'imported', added: 600, file: 'standard input' })
  expect(again.status).toBe('already-imported')
  await expect(none).rejects.toThrow(/standard input: the file is empty/)
  expect(await ours()).toEqual(before)
})

test('endless input is closed when the import is stopped', async () => {
  await using fixture = await openImportFixture()
  const stop = new AbortController()
  const input = new Readable({ read() {} })
  input.push('Stock Number,VIN\n')

  const stopped = fixture.importFile('standard input', { input, signal: stop.signal })
  stop.abort(new Error('stopped by a test'))

  await expect(stopped).rejects.toThrow('stopped by a test')
})

test("the user's delimiter and encoding override the detected ones", { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const list = Buffer.from(
    'Stock Number|Make;Code|Model\nS1|Kia;1|Rio \xe9\nS2|Kia;2|Rio\n',
    'latin1',
  )

  const found = await fixture.import(list, { maps: ['make=Make;Code'] })
  const confirmed = await fixture.import(list, { encoding: 'windows-1251', delimiter: '|' })
  const alike = await fixture.import(list, { encoding: 'windows-1251', delimiter: '|' })

  expect(found.encoding).toBe('windows-1252')
  expect(confirmed).toMatchObject({ status: 'imported', encoding: 'windows-1251', delimiter: '|' })
  expect(alike.status).toBe('already-imported')
  expect(await fixture.rows("select model from core.stock_unit where stock_no = 'S1'")).toEqual([
    { model: 'Rio й' },
  ])
  await expect(fixture.import(list, { encoding: 'klingon' })).rejects.toThrow(
    /the encoding "klingon" is not known/,
  )
})

test('every kind of issue is counted separately, for any severity', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const vin = (start: string, index: number) => `${start}AAAAAAA9AA${100_000 + index}`
  const rows = Array.from({ length: 38 }, (_, index) => {
    const own = vin(index < 33 ? '6' : '1', index)
    return `S${index},${own},Toyota,Corolla`
  })

  const { issueCounts, issueTotals } = await fixture.import(
    ['Stock Number,VIN,Make,Model', ...rows, ''].join('\n'),
  )

  const digits = issueTotals.filter(({ code }) => code === 'VIN_CHECK_DIGIT')
  expect(digits.map(({ severity }) => severity)).toEqual(['error', 'info'])
  expect(digits.reduce((sum, { count }) => sum + count, 0)).toBe(issueCounts['VIN_CHECK_DIGIT'])
  expect(digits[0]!.count).toBeLessThan(6)
})
