import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { Answer } from '#src/api/learn/answers.ts'
import type { Finding } from '#src/api/learn/decide.ts'
import { learn } from '#src/api/learn/learn.ts'
import { withSubstitutes } from '#src/api/learn/substitute.ts'
import { maskBy } from '#src/app/commands/wire-record.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { otherNames } from '#src/sandbox/other-names.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { defaultWire } from '#src/values/wire.ts'
import { otherService } from '../../api/learn/other-services.ts'
import { someOf } from '../../support/cases.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const now = new Date('2026-03-10T06:30:00Z')
const mask = maskBy(defaultWire.appraisal)

test.for(someOf([1, 2, 4, 9, 11, 12, 16, 24, 35], 2))(
  'the learner finds the same in the recording of service %i as in its answers',
  async (seed) => {
    const { answers } = await otherService(seed)

    const { answers: recorded, dropped } = withSubstitutes(answers, mask)

    expect(dropped).toBe(0)
    expect(withoutForms(learn(recorded, defaultWire))).toEqual(
      withoutForms(learn(answers, defaultWire)),
    )
  },
)

/** No two reads see the same instant, so every link is signed again at each read, however quick the reads are. */
class TickingClock extends VirtualClock {
  override now(): Date {
    this.advance(1)
    return super.now()
  }
}

/** A form is that of the first value, and another word may be one of two. */
function withoutForms(findings: readonly Finding[]) {
  const paths = (all: Finding['candidates']) => all.map(({ path }) => path)
  return findings.map(({ candidates, byFormAlone, ...one }) => ({
    ...{ ...one, candidates: paths(candidates), byFormAlone: paths(byFormAlone) },
  }))
}

test('no text about a customer is in a recording, wherever it was', () => {
  const secrets = {
    ...{ name: 'Wilhelmina Quartermaine', phone: '0491 570 156', mail: 'wilma.q@home.example' },
    ...{ street: '17 Larkspur Crescent', plate: 'QTM 58Z', born: '1951-07-09', short: 'Ngo' },
  }
  const { name, phone, mail, street, plate, born, short } = secrets
  const evaluation = (evalId: number, more: object) => ({
    operation: 'geteval',
    request: { evalid: evalId, reg: plate },
    body: [{ EvalID: evalId, VIN: null, UpdatedAt: '2026-03-01T10:00:00Z', ...more }],
  })
  const link = 'https://files.example/quartermaine/report.pdf?sig=Wilma'
  const answers: Answer[] = [
    evaluation(1_000_001, {
      // Documented fields, default settings, and unknown ones.
      ...{ UserName: `${short} for Quartermaine`, CustomerName: name, CustomerPhone: phone },
      ...{ CustomerEmail: mail, CustomerAddress: street, Registration: plate, Owner: short },
      reconditioning_list: [{ type: 'paint', source: `by ${name}`, cost: 10 }],
      customFields: { Referral: { type: 'text', value: name } },
      Party: { Who: name, Born: born, Mobile: 61_491_570_156, Spot: -33.8688197, Lines: [street] },
      ...{ [name]: 1, [mail]: 'x', Wilhelmina_Quartermaine: 2, Link: link, Marque: 'Toyota' },
    }),
    evaluation(1_000_002, { Party: { Who: 'Ann Ford' }, Marque: 'Ford', Owner: 'Lee' }),
    { operation: 'getuserlist', request: {}, body: [{ Name: name, Email: mail }] },
    { operation: 'ppsrpast', request: { evalid: 1_000_001 }, body: [{ For: name, PdfUrl: link }] },
    {
      operation: 'getevallist',
      request: { startdate: 1_772_000_000 },
      body: { [name]: [{ id: 1_000_001, who: name, at: street }] },
    },
  ]

  const text = JSON.stringify(withSubstitutes(answers, mask).answers)

  const planted = [
    ...['wilhelmina', 'quartermaine', 'wilma', 'larkspur', 'crescent', 'home.example', 'sig='],
    ...['files.example', '570 156', '61491570156', 'qtm 58z', '1951-07-09', '-33.8688197'],
    ...['"ngo"', '"ann ford"'],
  ]
  expect(planted.filter((one) => text.toLowerCase().includes(one))).toEqual([])
  // What names no person stays, and so does what the paths are learnt from.
  expect(text).toContain('"EvalID":1000001')
  expect(text).toContain('"UpdatedAt":"2026-03-01T10:00:00Z"')
  expect(text).toMatch(/"Party":\{"Who":"[A-Z][a-z]{9} [A-Z][a-z]{11}"/)
})

test('the answers of a check are written to a folder, and wire learn finds in them what the check found', async () => {
  const names = otherNames(4)
  const clock = new TickingClock({ start: now, frozen: true })
  await using sandbox = await startSandbox({ seed: 4, evaluations: 400, clock, ...names })
  await using folder = await temporaryFolder()
  const config = sandbox.clientConfig()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  const to = join(folder.path, 'answers')
  const run = (...args: string[]) => runInProcess(args, { cwd: folder.path })

  const plan = await run('wire', 'record', '--dry-run')
  const nowhere = await run('wire', 'record')
  const before = sandbox.requests.count()
  const recorded = await run('wire', 'record', '--to', to)
  const sent = sandbox.requests.count()
  const again = await run('wire', 'record', '--to', to)
  const checked = await run('wire', 'check', '--json')
  const learnt = await run('wire', 'learn', to, '--json')

  expect(plan.stdout).toMatch(/^At most 30 calls, all of them free reads \(nothing was called\):\n/)
  expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--to') as string })
  expect(before).toBe(0)
  expect(recorded).toMatchObject({ code: 0, stderr: '' })
  expect(recorded.stdout).toMatch(
    /^Wrote \d+ answers to .+ have other values of the same form\.\n$/,
  )
  expect(again).toMatchObject({ code: 2, stderr: `${to} is not empty: name a new folder.\n` })
  const files = await readdir(to)
  expect(files.length).toBeGreaterThan(10)
  expect(sent).toBeLessThanOrEqual(30)
  const settingsOf = ({ stdout }: typeof checked) =>
    (JSON.parse(stdout) as { settings: Finding[] }).settings.map(
      ({ setting, state, path, evidence }) => ({ setting, state, path, evidence }),
    )
  expect(learnt.code).toBe(checked.code)
  expect(settingsOf(learnt)).toEqual(settingsOf(checked))
  const text = (await Promise.all(files.map((file) => readFile(join(to, file), 'utf8')))).join('\n')
  const secret = [
    ...[...sandbox.world.evaluations()].flatMap(({ customer }) =>
      [customer.name, customer.email, customer.phone, customer.address].filter(
        (one) => (one?.trim() ?? '') !== '',
      ),
    ),
    ...Object.values(config.keys).map(({ value }) => value),
    ...config.rooftops.map(({ uid }) => uid),
  ]
  expect(secret.length).toBeGreaterThan(500)
  expect(secret.filter((one) => text.includes(one!))).toEqual([])
})
