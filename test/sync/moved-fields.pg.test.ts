import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import type { Decoys } from '#src/sandbox/other-names.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { readMovedNames } from '#src/sync/explain/moved-fields.ts'
import { openReceiver } from '../app/scheduler/alert-receivers.ts'
import { runInProcess } from '../support/cli.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const now = new Date('2026-03-10T06:30:00Z')
const sync = { start: '2026-02-18' }
type Body = Readonly<Record<string, unknown>>
type Change = (body: Body, rooftopUid: string) => Body

/** A sandbox whose evaluations can change their names between two nights. */
async function changingService(): Promise<{ fixture: Fixture; change: (to: Change) => void }> {
  let current: Change = (body) => body
  const decoys: Decoys = {
    encode: (_, __, value) => value,
    evaluation: (body, _, { rooftopUid }) => current(body, rooftopUid),
    listItem: (body) => body,
    list: (body) => body,
    pastChecks: () => null,
    watchedChecks: () => null,
    watch: (body) => body,
  }
  const size = { seed: 12, rooftops: 3, evaluations: 240, days: 20, now, decoys }
  // Without an update time in the list, older evaluations are read again each night.
  const fixture = await openFixture({ sandbox: { ...size, listCarriesUpdatedAt: false }, sync })
  return { fixture, change: (to) => (current = to) }
}

const moveOdometer = ({ Odometer, ...body }: Body): Body => ({
  ...body,
  Usage: { Distance: Odometer },
})
const moved = async ({ database, context, config }: Fixture) => {
  const names = await readMovedNames(context.db, [evaluations], config)
  expect(
    (await database.pool.query('select from ops.moved_field')).rowCount,
  ).toBeGreaterThanOrEqual(names.length)
  return names.map(({ setting, paths, rooftops }) => [
    setting.split('.').at(-1),
    [...paths],
    rooftops.length,
  ])
}

test('a field that moved is reported after the first night, with what to type, until that is done', async () => {
  const { fixture, change } = await changingService()
  await using _ = fixture
  await using folder = await temporaryFolder()
  const warehouse = { url: fixture.database.url }
  const config = { ...fixture.sandbox.clientConfig(), sync, warehouse }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  const run = async (...args: string[]) => await runInProcess(args, { cwd: folder.path })
  const empty = async () => {
    const { rows } = await fixture.database.pool.query<{ count: number }>(
      'select count(*)::int as count from core.evaluation where odometer is null',
    )
    return rows[0]!.count
  }
  await fixture.night()
  const before = [await moved(fixture), await empty()]
  change(moveOdometer)
  await fixture.nightAfter(1)

  const found = await moved(fixture)
  const emptied = await empty()
  const shown = await run('status')
  const asJson = JSON.parse((await run('status', '--json')).stdout) as {
    status: string
    names: { setting: string; paths: string[]; rooftops: string[] }[]
  }
  const learnt = await run('wire', 'learn', '--stored', '--write')
  const afterWrite = JSON.parse((await run('status', '--json')).stdout) as typeof asJson
  const replayed = await run('replay', 'evaluations')

  expect(before[0]).toEqual([])
  expect(found).toEqual([['odometer', ['Usage.Distance'], 3]])
  expect(emptied).toBeGreaterThan(before[1] as number)
  expect(shown.code).toBe(1)
  const text = shown.stdout.replaceAll(/\s+/g, ' ')
  expect(text).toContain('The service moved a field of evaluations: ')
  expect(text).toMatch(
    /wire\.appraisal\.evaluation\.odometer probably moved to Usage\.Distance: in none of the newest \d+ answers, in \d+ of \d+ before; \d+ of \d+ equal to what the same evaluation had there before/,
  )
  expect(text).toContain(
    'Cure: Type "forecourt wire learn --stored --write", restart the worker, the scheduler and serve',
  )
  expect(asJson).toMatchObject({
    status: 'missed',
    names: [{ setting: 'appraisal.evaluation.odometer', paths: ['Usage.Distance'] }],
  })
  expect(learnt.stdout).toContain('Usage.Distance')
  expect(afterWrite.names).toEqual([])
  expect(replayed.code).toBe(0)
  expect(await empty()).toBe(before[1])
})

test('what one rooftop no longer sends is reported of that one, and no more once it sends it again', {
  tags: 'ci',
}, async () => {
  const { fixture, change } = await changingService()
  await using _ = fixture
  const [first, second] = fixture.config.rooftops.map(({ uid }) => uid)
  await fixture.night()
  change((body, uid) => (uid === first ? moveOdometer(body) : body))
  await fixture.nightAfter(1)
  const one = await moved(fixture)
  change((body, uid) => {
    const { Make, Odometer, ...rest } = body
    if (uid === first) return moveOdometer(body)
    return uid === second ? { ...rest, Make, Clock: Odometer } : { ...rest, Odometer }
  })
  await fixture.nightAfter(1)
  const several = await moved(fixture)
  change((body) => body)
  await fixture.nightAfter(1)

  expect(one).toEqual([['odometer', ['Usage.Distance'], 1]])
  expect(several).toEqual([
    ['make', [], 1],
    ['odometer', ['Clock'], 1],
    ['odometer', ['Usage.Distance'], 1],
  ])
  expect(await moved(fixture)).toEqual([])
  expect((await fixture.database.pool.query('select from ops.moved_field')).rowCount).toBe(0)
})

test('an alert says which field moved, and is over once it is read again', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  const { fixture, change } = await changingService()
  await using _ = fixture
  const alerts = { ...fixture.config.alerts, url: receiver.url }
  const context = { ...fixture.context, config: { ...fixture.config, alerts } }
  const report = async () => await new Alerts(context, [], 0).reportObjectives()
  const got = () =>
    receiver.got
      .filter(({ key }) => key === 'objective/names')
      .map(({ state, what }) => [state, what])
  await fixture.night()
  await report()
  const quiet = got()
  change(moveOdometer)
  await fixture.nightAfter(1)
  await report()
  change((body) => body)
  await fixture.nightAfter(1)
  await report()

  expect(quiet).toEqual([])
  const what = expect.stringMatching(
    /^The service moved a field of evaluations: wire\.appraisal\.evaluation\.odometer probably moved to Usage\.Distance: .*\. Type "forecourt wire learn --stored --write"/,
  ) as string
  expect(got()).toEqual([
    ['raised', what],
    ['resolved', what],
  ])
})
