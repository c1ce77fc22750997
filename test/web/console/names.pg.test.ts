import { afterAll, beforeAll, expect, test } from 'vitest'
import { otherNames } from '#src/sandbox/other-names.ts'
import { defaultWire } from '#src/values/wire.ts'
import { storedAnswers } from '#src/web/console/names/stored-answers.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { leaksIn } from './leaks.ts'

interface Names {
  answers: number
  findings: {
    setting: string
    state: string
    nextStep: string
    path: string | null
    mustChange: boolean
    isHeld: boolean
  }[]
  others: { group: string }[]
}

interface Morning {
  problems: { word: string; what: string; why: string; link: { path: string } }[]
}

const now = new Date('2026-03-10T06:30:00Z')
const size = { seed: 10, rooftops: 6, evaluations: 120, days: 20, now }
const sync = { start: '2026-02-18' }

let usual: ConsoleFixture
let other: ConsoleFixture
let otherFixture: Fixture

beforeAll(async () => {
  usual = await openConsole({ fixture: await loaded(size) })
  // The list has its default names: without it nothing would be loaded.
  const { wire, decoys } = otherNames(10)
  const { evalList } = defaultWire.appraisal
  const names = { ...wire, appraisal: { ...wire.appraisal, evalList } }
  otherFixture = await loaded({ ...size, wire: names, decoys })
  other = await openConsole({ fixture: otherFixture })
})

afterAll(async () => {
  await usual?.[Symbol.asyncDispose]()
  await other?.[Symbol.asyncDispose]()
})

async function loaded(sandbox: NonNullable<Parameters<typeof openFixture>[0]>['sandbox']) {
  const fixture = await openFixture({ sandbox, sync })
  await fixture.night()
  return fixture
}

const nameProblems = async (console: ConsoleFixture) =>
  (await console.json<Morning>('/')).problems.filter(({ word }) => word === 'Names')

test('a service with the names of the config: nothing to change, and the morning does not mention names', async () => {
  const { answers, findings, others } = await usual.json<Names>('/names')
  const { text } = await usual.get('/names')

  expect(answers).toBeGreaterThan(50)
  expect(findings.filter(({ mustChange }) => mustChange)).toEqual([])
  expect(findings.find(({ setting }) => setting.endsWith('evaluation.make'))!.state).toBe(
    'confirmed',
  )
  // A name alone supports the configured path: no other one is to be tried.
  expect(findings.map(({ state }) => state)).not.toContain('suggested')
  const unproved = findings.filter(({ state }) => state === 'unproved')
  expect(new Set(unproved.map(({ nextStep }) => nextStep))).toEqual(new Set(['keep']))
  expect(others.map(({ group }) => group)).toContain('vehicleData.priceBatch')
  expect(text).toContain('Nothing has to be changed.')
  expect(text).toContain('unproved</span> <small>keep</small>')
  expect(await nameProblems(usual)).toEqual([])
})

test('without a stored answer the page does not say that all is well', async () => {
  await using empty = await openConsole({ fixture: await openFixture({ sandbox: size, sync }) })
  const { text } = await empty.get('/names')

  expect(text).toContain('<p>No answer is stored yet.</p>')
  expect(text).not.toContain('Nothing has to be changed.')
})

test('a service with other names: the proved paths come first, and the morning leads to them', async () => {
  const { findings } = await other.json<Names>('/names')
  const { text } = await other.get('/names')

  const proved = findings.filter(({ state }) => state === 'elsewhere')
  const { wire } = otherNames(10)
  expect(proved.length).toBeGreaterThan(2)
  for (const { setting, path } of proved.filter(({ setting }) => setting.includes('evaluation.'))) {
    const name = setting.split('.').at(-1) as keyof typeof wire.appraisal.evaluation
    expect(path).toBe(wire.appraisal.evaluation[name])
  }
  const firstRight = findings.findIndex(({ mustChange }) => !mustChange)
  expect(findings.slice(firstRight).filter(({ mustChange }) => mustChange)).toEqual([])
  expect(text).toContain('forecourt wire learn --stored')
  expect(leaksIn(otherFixture, text)).toEqual([])
  expect(await nameProblems(other)).toMatchObject([
    { what: expect.stringMatching(/^1\d of 18 columns of evaluations$/), link: { path: '/names' } },
  ])
})

test('held columns: the morning leads to the page, which says how they are filled', async () => {
  const held = ['make', 'year', 'notes'] as const
  const wire = { appraisal: { held: [...held] } }
  const fixture = await openFixture({ sandbox: size, sync, wire })
  await fixture.night()
  await using console = await openConsole({ fixture })

  const { findings } = await console.json<Names>('/names')
  const { text } = await console.get('/names')

  const shown = findings
    .filter(({ isHeld }) => isHeld)
    .map(({ setting, state, nextStep, mustChange }) => [
      setting.split('.').at(-1),
      ...[state, nextStep, mustChange],
    ])
  expect(shown.sort()).toEqual([
    ['make', 'confirmed', '--write', true],
    ['notes', 'unproved', '--keep', true],
    ['year', 'unproved', '--keep', true],
  ])
  expect(text).toContain('3 columns are held')
  expect(await nameProblems(console)).toMatchObject([
    { what: '3 columns of evaluations are held', link: { path: '/names' } },
  ])
})

const withoutFour = "json_path in ('Make', 'Model', 'Notes', 'Colour')"

test.each([
  ['four names are missing', `delete from ops.field_drift where ${withoutFour}`, 0],
  ['five are', `delete from ops.field_drift where ${withoutFour} or json_path = 'Year'`, 1],
  [
    'the fifth was always null',
    `delete from ops.field_drift where ${withoutFour};
     delete from ops.field_drift where json_path = 'Year' and json_type = 'null';
     update ops.field_drift set json_type = 'null' where json_path = 'Year'`,
    1,
  ],
  [
    'five are, of 19 evaluations',
    `delete from ops.field_drift where ${withoutFour} or json_path = 'Year';
     update ops.field_drift set seen = 19 where json_path = 'EvalID'`,
    0,
  ],
])('the morning, where %s', async (_, change, count) => {
  await usual.rows('create table saved as select * from ops.field_drift')
  await usual.rows(change)

  const problems = await nameProblems(usual)

  await usual.rows(
    'delete from ops.field_drift; insert into ops.field_drift select * from saved; drop table saved',
  )
  expect(problems).toHaveLength(count)
})

test('a field that moved is on the morning page and the drift page, while the config has its former path', async () => {
  const plant = async (setting: string, configured: unknown, paths: readonly string[]) =>
    await usual.rows(
      `insert into ops.moved_field (rooftop_id, stream, setting, configured, paths, evidence, records, run_id)
       select rooftop_id, 'evaluations', $1, $2, $3, 'in none of the newest 30 answers', '{}', 1
       from core.rooftop order by rooftop_id limit 2`,
      [`appraisal.evaluation.${setting}`, JSON.stringify(configured), paths],
    )
  const { evaluation } = defaultWire.appraisal
  await plant('make', evaluation.make, ['Vehicle.Brand'])
  await plant('model', evaluation.model, [])
  await plant('year', 'FormerPath', ['Vehicle.Built'])

  const problems = await nameProblems(usual)
  const { text } = await usual.get('/drift')
  await usual.rows('delete from ops.moved_field')
  const { text: then } = await usual.get('/drift')

  expect(problems).toMatchObject([
    {
      what: 'The service moved a field of evaluations',
      why: expect.stringContaining('probably moved to Vehicle.Brand'),
      link: { path: '/drift' },
    },
    {
      what: 'The service no longer sends a field of evaluations',
      why: expect.stringContaining('no other path has its values'),
    },
  ])
  expect(text).toContain('Fields that moved')
  expect(text).toContain('<code>Vehicle.Brand</code>')
  expect(text).toContain('forecourt wire learn --stored --write')
  expect(text).not.toContain('Vehicle.Built')
  expect(then).not.toContain('Fields that moved')
})

test('the evaluations that show where a field moved are among the stored answers, however old they are', async () => {
  const { context, config } = usual
  const ids = async () => {
    const { answers } = await storedAnswers(context.db, config.rooftops, { ofRooftop: 1, ofAll: 1 })
    return answers
      .filter(({ operation }) => operation === 'geteval')
      .map(({ request }) => request['evalid'])
  }
  const [oldest] = await usual.rows<{ id: number }>(
    'select min(eval_id)::float8 as id from core.evaluation group by rooftop_id order by count(*) desc limit 1',
  )
  const before = await ids()
  await usual.rows(
    `insert into ops.moved_field (rooftop_id, stream, setting, configured, paths, evidence, records, run_id)
     select rooftop_id, 'evaluations', 'any', '""', '{}', '', array[eval_id], 1 from core.evaluation where eval_id = $1`,
    [oldest!.id],
  )
  const after = await ids()
  await usual.rows('delete from ops.moved_field')

  expect(before).not.toContain(oldest!.id)
  expect(after).toContain(oldest!.id)
})
