import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Decoys, otherNames } from '#src/sandbox/other-names.ts'
import { allHeldNames, defaultWire, type HeldName } from '#src/values/wire.ts'
import { runInProcess } from '../../support/cli.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { heldColumn } from '../../support/held-columns.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const now = new Date('2026-03-10T06:30:00Z')

/** The columns of the settings that are proved at these services. */
const columnOf = { make: 'make', colour: 'colour', model: 'model', customerEmail: 'email' }

/** A third of the evaluations have an object under the default name of the make, which fits no text: they go into quarantine. */
const withOtherMakes = ({ evaluation, ...decoys }: Decoys): Decoys => ({
  ...decoys,
  evaluation: (body, fields, one) => ({
    ...evaluation(body, fields, one),
    Make: one.evalId % 3 === 0 ? { code: 7 } : null,
  }),
})

test('what a service sent before its names were known is loaded again, and no evaluation is asked for', async () => {
  const seed = 10
  const names = otherNames(seed)
  const { evalList } = defaultWire.appraisal
  const wire = { ...names.wire, appraisal: { ...names.wire.appraisal, evalList } }
  const size = { seed, rooftops: 6, evaluations: 300, days: 20, now }
  const sync = { start: '2026-02-18' }
  await using usual = await openFixture({ sandbox: { ...size, wire }, sync, wire })
  const sandbox = { ...size, wire, decoys: withOtherMakes(names.decoys) }
  await using fixture = await openFixture({ sandbox, sync })
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const warehouse = { url: fixture.database.url }
  await writeFile(file, stringify({ ...fixture.sandbox.clientConfig(), sync, warehouse }))
  const run = async (...args: string[]) => await runInProcess(args, { cwd: folder.path })
  const settings = () =>
    Object.keys(columnOf).filter((name) =>
      written.includes(`${name}: `),
    ) as (keyof typeof columnOf)[]

  await usual.night()
  await fixture.night()
  const unfit = await openEntries(fixture)
  const asked = fixture.sandbox.requests.count()
  await run('wire', 'learn', '--stored', '--write')
  const written = await readFile(file, 'utf8')
  const replayed = await run('replay', 'evaluations')
  const afterReplay = fixture.sandbox.requests.count()
  const retried = await run('quarantine', 'retry')
  const verified = await run('verify', '--rows')
  const again = await run('wire', 'learn', '--stored', '--json')

  expect(unfit).toBeGreaterThan(50)
  expect([replayed.code, retried.code, verified.code]).toEqual([0, 0, 0])
  expect(await openEntries(fixture)).toBe(0)
  // The retry asks for the clock of the source; the replay asks for nothing.
  expect([afterReplay - asked, fixture.sandbox.requests.count() - asked]).toEqual([0, 1])
  expect(verified.stdout).toContain(': 0 differ.')
  expect(settings()).toContain('make')
  const columns = settings().map((name) => columnOf[name])
  const rows = await rowsOf(fixture, columns)
  expect(rows.length).toBeGreaterThan(200)
  expect(rows).toEqual(await rowsOf(usual, columns))
  // What was learnt is confirmed now: nothing else is proposed.
  const states = (JSON.parse(again.stdout) as { settings: { state: string }[] }).settings
  expect(states.filter(({ state }) => state === 'elsewhere')).toEqual([])
})

test('a customer who was erased before the names were known stays erased', {
  tags: 'ci',
}, async () => {
  const names = otherNames(12)
  const { evalList } = defaultWire.appraisal
  const wire = { ...names.wire, appraisal: { ...names.wire.appraisal, evalList } }
  const size = { seed: 12, rooftops: 6, evaluations: 300, days: 20, now }
  const sync = { start: '2026-02-18' }
  const sandbox = { ...size, wire, decoys: withOtherMakes(names.decoys) }
  await using fixture = await openFixture({ sandbox, sync })
  await using folder = await temporaryFolder()
  const warehouse = { url: fixture.database.url }
  const config = { ...fixture.sandbox.clientConfig(), sync, warehouse }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  const run = async (...args: string[]) => await runInProcess(args, { cwd: folder.path })
  await fixture.night()
  const { pool } = fixture.database
  const { rows } = await pool.query<{ id: string }>(
    'select natural_key as id from ops.quarantine where resolved_at is null order by 1',
  )
  const unfit = new Set(rows.map(({ id }) => Number(id)))
  const erased = [...fixture.sandbox.world.evaluations()].find(
    ({ evalId, customer }) =>
      unfit.has(evalId) && customer.email && customer.address && customer.name,
  )!

  const erasure = await run('erase', '--email', erased.customer.email!, '--yes')
  await run('wire', 'learn', '--stored', '--write')
  const codes = [await run('replay', 'evaluations'), await run('quarantine', 'retry')].map(
    ({ code }) => code,
  )

  expect(erasure.stdout).not.toBe('')
  expect(codes).toEqual([0, 0])
  const { rows: loaded } = await pool.query(
    `select (customer.*)::text as customer from pii.evaluation_customer as customer where eval_id = ${erased.evalId}`,
  )
  const { rows: stored } = await pool.query<{ text: string }>(
    `select body::text as text from raw.payload where endpoint = 'geteval' and natural_key = '${erased.evalId}'
     union all select payload from ops.quarantine where natural_key = '${erased.evalId}' and resolved_at is null`,
  )
  const { name, email, phone, address } = erased.customer
  const texts = JSON.stringify([loaded, stored])
  expect([name, email, phone, address].filter((text) => text && texts.includes(text))).toEqual([])
})

test('a field that moved at the service is read at both paths after wire learn --stored --write', {
  tags: 'ci',
}, async () => {
  const size = { seed: 12, rooftops: 6, evaluations: 120, days: 20, now }
  const sync = { start: '2026-02-18' }
  await using fixture = await openFixture({ sandbox: size, sync })
  await using folder = await temporaryFolder()
  const { pool, url } = fixture.database
  const file = join(folder.path, 'forecourt.yaml')
  const config = { ...fixture.sandbox.clientConfig(), sync, warehouse: { url } }
  await writeFile(file, stringify(config))
  const run = async (...args: string[]) => await runInProcess(args, { cwd: folder.path })
  const odometers = async () => await rowsOf(fixture, ['odometer'])
  await fixture.night()
  const before = await odometers()
  // A third of the evaluations were read again since, without a change of theirs.
  await pool.query(
    `insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
     select rooftop_id, endpoint, natural_key, fetched_at + interval '1 day', sha256(natural_key::bytea),
       json_build_array((item - 'Odometer'::text) || jsonb_build_object('Usage', jsonb_build_object('Distance', item -> 'Odometer'))), run_id
     from raw.payload_json, lateral (select body::jsonb -> 0 as item) as one
     where endpoint = 'geteval' and natural_key::bigint % 3 = 0`,
  )

  const learnt = await run('wire', 'learn', '--stored', '--write')
  const written = parse(await readFile(file, 'utf8'))
  const replayed = await run('replay', 'evaluations')

  expect(learnt.stdout).toContain('what the same evaluation had there before')
  expect(written.wire).toEqual({
    appraisal: { evaluation: { odometer: ['Usage.Distance', 'Odometer', 'km', 'Km', 'KM'] } },
  })
  expect(replayed.code).toBe(0)
  expect(before.length).toBeGreaterThan(100)
  expect(await odometers()).toEqual(before)
})

test('held columns stay empty until their names are proved or decided, and a replay fills them', async () => {
  const size = { seed: 12, rooftops: 6, evaluations: 200, days: 20, now }
  const sync = { start: '2026-02-18' }
  await using usual = await openFixture({ sandbox: size, sync })
  await using fixture = await openFixture({ sandbox: size, sync })
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const warehouse = { url: fixture.database.url }
  const wire = { appraisal: { held: allHeldNames } }
  await writeFile(file, stringify({ ...fixture.sandbox.clientConfig(), sync, warehouse, wire }))
  const run = async (...args: string[]) => await runInProcess(args, { cwd: folder.path })
  const heldNow = async () => parse(await readFile(file, 'utf8')).wire.appraisal.held as HeldName[]
  const versions = async () => await rowCount(fixture, 'core.evaluation_version')
  await usual.night()

  const first = await run('sync', 'evaluations')
  const status = await run('status', '--json')
  const empty = await rowsOf(fixture, heldColumns)
  const checked = await run('verify', '--rows')
  const plain = await run('wire', 'learn', '--stored')
  const opened = await versions()
  await run('wire', 'learn', '--stored', '--write')
  const unproved = await heldNow()
  await run('replay', 'evaluations')
  const proved = await rowsOf(fixture, heldColumns)
  const filled = await run('wire', 'learn', '--stored', '--write', '--keep')
  const left = await heldNow()
  await run('replay', 'evaluations')
  const verified = await run('verify', '--rows')

  // The rows are there, without what nothing had proved.
  const truth = await rowsOf(usual, heldColumns)
  const without = (names: readonly HeldName[]) => {
    const nulls = names.map((name) => [heldColumn(name), null])
    return truth.map((row) => ({ ...row, ...Object.fromEntries(nulls) }))
  }
  expect(empty.length).toBeGreaterThan(100)
  expect(empty).toEqual(without(allHeldNames))
  expect(first.stdout).toContain('17 columns of evaluations are empty, since nothing has proved')
  expect(JSON.parse(status.stdout)).toMatchObject({ heldNames: allHeldNames, missingNames: null })
  expect(plain).toMatchObject({ code: 1 })
  expect(plain.stdout).toMatch(/appraisal\.evaluation\.make +confirmed +--write /)
  expect(plain.stdout).toMatch(/appraisal\.evaluation\.year +unproved +--keep /)
  expect(unproved).toEqual(expect.arrayContaining(['year', 'odometer', 'customerState']))
  expect(unproved).not.toContain('make')
  expect(proved).toEqual(without(unproved))
  expect(filled.code).toBe(0)
  expect(left.length).toBeLessThan(unproved.length)
  expect(await rowsOf(fixture, heldColumns)).toEqual(without(left))
  expect([checked.stdout, verified.stdout]).toEqual([
    expect.stringContaining(': 0 differ.'),
    expect.stringContaining(': 0 differ.'),
  ])
  // To learn a name is not an edit by the dealer.
  expect(await versions()).toBe(opened)
})

const heldColumns = allHeldNames.map(heldColumn)

async function rowCount({ database }: Fixture, table: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from ${table}`,
  )
  return rows[0]!.count
}

async function openEntries({ database }: Fixture): Promise<number> {
  const { rows } = await database.pool.query<{ open: number }>(
    'select count(*)::int as open from ops.quarantine where resolved_at is null',
  )
  return rows[0]!.open
}

async function rowsOf(
  { database }: Fixture,
  columns: readonly string[],
): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query(
    `select rooftop_uid, eval_id, vin, ${columns.join(', ')} from core.evaluation join core.rooftop using (rooftop_id)
     join pii.evaluation_customer using (rooftop_id, eval_id) order by eval_id`,
  )
  return rows
}
