import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openChildFixture } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { emptyTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { smallFixture } from './sync-fixture.ts'

const backfill = ['backfill', 'evaluations', '--from', '2026-03-02', '--to', '2026-03-05']
const planned = [
  ['2026-03-04T00:00:00.000Z', '2026-03-05T00:00:00.000Z'],
  ['2026-03-03T00:00:00.000Z', '2026-03-04T00:00:00.000Z'],
  ['2026-03-02T00:00:00.000Z', '2026-03-03T00:00:00.000Z'],
].map(([from, until]) => ({ from, until, reason: 'gap' }))

test('a dry run of an empty database plans everything, and leaves it empty', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse(await emptyTestDatabase())

  const { code, document } = await warehouse.json([...backfill, '--dry-run'])

  expect(code).toBe(0)
  expect(document['plan']).toMatchObject([
    { gap: 3, unlisted: 3, expectedLists: 3, expectedReads: null, windows: planned },
  ])
  const { rows } = await warehouse.database.pool.query(
    "select nspname from pg_namespace where nspname in ('ops', 'raw', 'core', 'pgboss')",
  )
  expect(rows).toEqual([])
})

test('a dry run registers no rooftop and no queue, and names the windows newest first', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()

  const { document } = await warehouse.json([...backfill, '--dry-run'])

  expect(document['plan']).toMatchObject([{ windows: planned }])
  expect([...document['plan']!][0]).not.toHaveProperty('windowsOmitted')
  const { rows } = await warehouse.database.pool.query('select from core.rooftop')
  expect(rows).toHaveLength(0)
})

test('a second night plans the windows that it lists again, each with its reason', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()

  const { document } = await warehouse.json(['sync', 'evaluations', '--dry-run'])

  const entry = document['plan']![0]
  const windows = [...entry!['windows']!]
  const reasons = Map.groupBy(windows, ({ reason }) => String(reason))
  const shown = ['gap', 'recheck', 'deep'].map((reason) => reasons.get(reason)?.length ?? 0)
  expect(shown).toEqual([entry!['gap'], entry!['recheck'], entry!['deep']])
  expect(shown[1]! + shown[2]!).toBeGreaterThan(0)
  expect(windows.map(({ from }) => from)).toEqual(
    windows
      .map(({ from }) => from)
      .sort()
      .reverse(),
  )
})

test('a dry run counts the prices that are due, and asks for none', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night()

  const { document } = await warehouse.json(['sync', 'pricing', '--dry-run'])

  expect(document['plan']).toEqual([
    {
      stream: 'pricing',
      rooftop: 'rooftop-1',
      gap: 0,
      unlisted: 0,
      recheck: 0,
      deep: 0,
      windows: [],
      expectedLists: 0,
      expectedReads: 6,
    },
  ])
  expect(fixture.sandbox.requests.count('/pricingAi/payload/{evalid}')).toBe(0)
})

test('what was never listed is new, and its reads are not known; later it is counted', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const first = await warehouse.run(['sync', '--dry-run'])
  const before = await warehouse.json(['sync', '--dry-run'])
  await warehouse.night()

  const later = await warehouse.json(['sync', 'evaluations', 'pricing', '--dry-run'])

  expect(first.stdout).toMatch(/evaluations .* (\d+) +0 +0 +0 +\1 +not known: never listed/)
  expect(first.stdout).toMatch(/pricing .* not known: never listed/)
  expect(first.stdout).toMatch(/vehicle-checks .* not known: never listed/)
  expect([...before.document['plan']!].map(({ expectedReads }) => expectedReads)).toEqual([
    ...[0, null, null, null, 0],
  ])
  const evaluations = later.document['plan']![0]
  expect(Number(evaluations!['unlisted'])).toBeLessThan(Number(evaluations!['gap']))
  expect([...later.document['plan']!]).toMatchObject([
    { stream: 'evaluations', expectedReads: expect.any(Number) },
    { stream: 'pricing', expectedReads: 6 },
  ])
})

test('more than 1000 windows are cut, with the count of the others', async () => {
  await using fixture = await openChildFixture({ ...smallFixture(), sync: { windowHours: 1 } })
  await using warehouse = await fixture.warehouse()

  const range = ['--from', '2026-01-01', '--to', '2026-02-28', '--dry-run']
  const { document } = await warehouse.json(['backfill', 'evaluations', ...range])

  const entry = document['plan']![0]
  expect([entry!['gap'], entry!['windowsOmitted']]).toEqual([58 * 24, 58 * 24 - 1000])
  expect(entry!['windows']).toHaveLength(1000)
})

test('a dry run does not make the embedded warehouse, and says whose clock it goes by', async () => {
  await using folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'forecourt.yaml'),
    `keys: { a: { value: key-of-the-dealer, kind: partner, region: AU } }
rooftops: [{ uid: u1, name: Northside, key: a, timezone: Australia/Sydney, currency: AUD }]
`,
  )

  const { code, stdout } = await runInProcess(['sync', '--dry-run'], { cwd: folder.path })

  expect(code).toBe(0)
  expect(stdout).toContain("by this machine's clock")
  expect(stdout).toMatch(/evaluations +Northside \(u1\) +\d,?\d{3} /)
  await expect(access(join(folder.path, '.forecourt'))).rejects.toThrow('ENOENT')
})
