import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { findOperation } from '#src/api/contract/operations.ts'
import { loadConfig } from '#src/app/config/read.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { otherNames } from '#src/sandbox/other-names.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { firstCandidate, type JsonPath, valueAt } from '#src/values/json-path.ts'
import { allHeldNames, defaultWire } from '#src/values/wire.ts'
import { someOf } from '../../support/cases.ts'
import { runInProcess } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { heldColumn } from '../../support/held-columns.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const now = new Date('2026-03-10T06:30:00Z')

interface Shown {
  readonly from: string
  readonly mustChange: number
  readonly settings: readonly {
    setting: string
    state: string
    path: string | null
    evidence: string
  }[]
}

/** The findings of these settings, by name. */
function shownOf(stdout: string, ...names: readonly string[]): Record<string, unknown> {
  const { settings } = JSON.parse(stdout) as Shown
  return Object.fromEntries(
    names.map((name) => {
      const { state, path } = settings.find(({ setting }) => setting === `appraisal.${name}`)!
      return [name, [state, path]]
    }),
  )
}

test('names are learnt from the answers in the warehouse, and no text of a customer is shown', async () => {
  const names = otherNames(9)
  const wire = {
    ...names.wire,
    appraisal: { ...names.wire.appraisal, evalList: defaultWire.appraisal.evalList },
  }
  const size = { seed: 9, rooftops: 6, evaluations: 300, days: 20, now }
  await using fixture = await openFixture({
    sandbox: { ...size, wire, decoys: names.decoys },
    sync: { start: '2026-02-20' },
  })
  const { evaluation } = wire.appraisal
  await fixture.night()
  await using folder = await temporaryFolder()
  const config = { ...fixture.sandbox.clientConfig(), warehouse: { url: fixture.database.url } }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))

  const asJson = await runInProcess(['wire', 'learn', '--stored', '--json'], { cwd: folder.path })
  const asText = await runInProcess(['wire', 'learn', '--stored'], { cwd: folder.path })

  expect([asJson.code, asText.code]).toEqual([1, 1])
  expect(shownOf(asJson.stdout, 'evaluation.make', 'evaluation.dealerId')).toEqual({
    'evaluation.make': ['elsewhere', evaluation.make],
    'evaluation.dealerId': ['elsewhere', evaluation.dealerId],
  })
  expect(asText.stdout).toMatch(/^From \d+ stored answers:/)
  expect(asText.stdout).toContain('settings must be changed, or decided')
  const customers = [...fixture.sandbox.world.evaluations()].flatMap(
    ({ customer, registration, notes }) =>
      [customer.name, customer.email, customer.phone, customer.address, registration, notes].filter(
        (text) => (text?.trim().length ?? 0) > 5,
      ),
  )
  expect(customers.length).toBeGreaterThan(500)
  const output = [asJson, asText].flatMap(({ stdout, stderr }) => [stdout, stderr]).join('\n')
  expect(customers.filter((text) => output.includes(text!))).toEqual([])
})

const base = 'https://appraisal.example.com/v1'
const smallConfig = {
  appraisal: { baseUrl: base },
  keys: { au: { value: 'the-key', kind: 'partner', region: 'AU', user: null } },
  rooftops: [
    {
      ...{ uid: 'north', name: 'North', dealerId: 101, key: 'au' },
      ...{ timezone: 'Australia/Sydney', currency: 'AUD' },
    },
  ],
}

test('names are learnt from recorded files; other addresses, cookies and keys are ignored', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(smallConfig))
  const makes = ['Toyota', 'Mazda', 'Ford', 'Kia', 'BMW', 'Audi', 'Fiat', 'Seat']
  const entries = makes.map((make, at) => {
    const json = (text: unknown) => JSON.stringify(text)
    const body = [
      {
        EvalID: 5001 + at,
        Marque: make,
        Owner: `Ann Whartonlake ${at}`,
        Mail: `ann${at}@home.example`,
      },
    ]
    return {
      request: {
        method: 'POST',
        url: `${base}/geteval`,
        headers: [{ name: 'Authorization', value: 'the-key' }],
        postData: { text: json({ evalid: 5001 + at }) },
      },
      response: { status: 200, content: { text: json(body) } },
    }
  })
  const bank = {
    request: { method: 'GET', url: 'https://bank.example/whartonlake' },
    response: { status: 200, content: { text: '{}' } },
  }
  await writeFile(
    join(folder.path, 'one.har'),
    JSON.stringify({ log: { entries: [...entries, bank] } }),
  )
  await mkdir(join(folder.path, 'answers'))
  await writeFile(
    join(folder.path, 'answers', 'geteval-1.json'),
    JSON.stringify([{ EvalID: 6001, Marque: 'Opel' }]),
  )
  await writeFile(
    join(folder.path, 'answers', 'sent.json'),
    JSON.stringify({
      operation: 'geteval',
      request: { evalid: 6002 },
      answer: [{ EvalID: 6002, Marque: 'Lexus' }],
    }),
  )
  await writeFile(join(folder.path, 'broken.json'), '{"Whartonlake')

  const learnt = await runInProcess(
    ['wire', 'learn', 'one.har', 'answers', '--json'].map((arg) =>
      /^-|wire|learn/.test(arg) ? arg : join(folder.path, arg),
    ),
    { cwd: folder.path },
  )
  const broken = await runInProcess(['wire', 'learn', join(folder.path, 'broken.json')], {
    cwd: folder.path,
  })
  const nothing = await runInProcess(['wire', 'learn'], { cwd: folder.path })

  expect(learnt.code).toBe(1)
  expect((JSON.parse(learnt.stdout) as Shown).from).toBe(
    '10 recorded answers (1 entry of no documented call ignored)',
  )
  expect(shownOf(learnt.stdout, 'evaluation.make', 'evaluation.customerEmail')).toEqual({
    'evaluation.make': ['elsewhere', 'Marque'],
    'evaluation.customerEmail': ['elsewhere', 'Mail'],
  })
  expect(broken).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('broken.json cannot be read: it is not JSON.') as string,
  })
  expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('--stored') as string })
  expect([learnt, broken].flatMap(({ stdout, stderr }) => [stdout, stderr]).join('\n')).not.toMatch(
    /whartonlake|the-key/i,
  )
})

test('each setting has one word for what is known and one for what is to be done, until all is decided', async () => {
  await using folder = await temporaryFolder()
  const answers = Array.from({ length: 8 }, (_, at) => ({
    ...{ EvalID: 5001 + at, Year: 2015 + at, ModelName: `R${at} car`, x: `T${at} trim` },
    ...{ Mileage: 40_000 + at, Kms: 50_000 + at },
  }))
  await writeFile(join(folder.path, 'geteval-1.json'), JSON.stringify(answers))
  const learnWith = async (evaluation: object, ...options: string[]) => {
    const config = { ...smallConfig, wire: { appraisal: { evaluation } } }
    await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
    const file = join(folder.path, 'geteval-1.json')
    return await runInProcess(['wire', 'learn', file, ...options], { cwd: folder.path })
  }

  const open = await learnWith({ odometer: 'Kms' })
  const decided = await learnWith({ odometer: 'Kms', model: 'ModelName' }, '--json')

  expect(open.code).toBe(1)
  for (const row of [
    /\.year +unproved +keep +Year +Year /,
    /\.model +suggested +try it +Model +ModelName; by form alone: x /,
    /\.odometer +decided +Kms +Mileage \(number of 5 digits\), Kms \(number of 5 digits\) /,
    /\.variant +unseen +choose +Variant +by form alone: x \(2 words\) /,
  ])
    expect(open.stdout).toMatch(row)
  expect(open.stdout.replaceAll(/\n {2}/g, ' ')).toContain(
    '\n1 setting must be changed, or decided: wire.appraisal.evaluation.model. See an answer ("forecourt api geteval --rooftop <uid> --evalid <id>"), and set',
  )
  expect(decided.code).toBe(0)
  expect(
    (JSON.parse(decided.stdout) as Shown).settings.filter(({ setting }) =>
      /evaluation\.(year|model|odometer|variant)$/.test(setting),
    ),
  ).toMatchObject([
    { state: 'decided', nextStep: '' },
    { state: 'unseen', nextStep: 'choose', byFormAlone: [{ path: 'x' }] },
    { state: 'unproved', nextStep: 'keep' },
    { state: 'decided', nextStep: '' },
  ])
})

test('the next step names the call that shows what is open, and what no answer shows', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(smallConfig))
  const checks = Array.from({ length: 8 }, (_, at) => ({
    ...{ Nr: `P-${5001 + at}`, When: `2026-02-0${at + 1}T03:04:05Z` },
    ...{
      Page: `https://files.example.com/p-${at}.pdf`,
      Copy: `https://files.example.com/c-${at}.pdf`,
    },
  }))
  const file = join(folder.path, 'getpastppsrsearch-1.json')
  await writeFile(file, JSON.stringify(checks))

  const { code, stdout } = await runInProcess(['wire', 'learn', file], { cwd: folder.path })

  const text = stdout.replaceAll(/\n {2}/g, ' ')
  expect(code).toBe(1)
  expect(text).toContain('must be changed, or decided: wire.appraisal.pastCheck.')
  expect(text).toContain('("forecourt api getpastppsrsearch --rooftop <uid> --evalid <id>")')
  expect(text).not.toContain('"forecourt api geteval ')
  expect(text).toMatch(/\nNo answer shows 26 settings \(unseen\): .* and 19 more\./)
})

test('the names of a service are asked for in at most 30 calls, which neither write nor bill', async () => {
  const names = otherNames(3)
  const { evaluation, evalList } = names.wire.appraisal
  await using sandbox = await startSandbox({ seed: 3, evaluations: 400, now, ...names })
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(sandbox.clientConfig()))

  const plan = await runInProcess(['wire', 'check', '--dry-run'], { cwd: folder.path })
  const before = sandbox.requests.count()
  const checked = await runInProcess(['wire', 'check', '--json', '--log-level', 'debug'], {
    cwd: folder.path,
  })

  expect(plan).toMatchObject({ code: 0, stderr: '' })
  expect(plan.stdout).toMatch(/^At most 30 calls, all of them free reads \(nothing was called\):\n/)
  expect([before, checked.code]).toEqual([0, 1])
  expect(
    shownOf(
      checked.stdout,
      'evalList.items',
      'evalList.id',
      'evaluation.dealerId',
      'evaluation.registration',
    ),
  ).toEqual({
    'evalList.items': ['elsewhere', evalList.items],
    'evalList.id': ['elsewhere', evalList.id],
    'evaluation.dealerId': ['elsewhere', evaluation.dealerId],
    'evaluation.registration': ['elsewhere', evaluation.registration],
  })
  expect(sandbox.requests.count()).toBeGreaterThan(10)
  expect(sandbox.requests.count()).toBeLessThanOrEqual(30)
  const effects = Object.keys(sandbox.requests.counts()).map((path) => findOperation(path)?.effect)
  expect(new Set(effects)).toEqual(new Set(['read']))
  const output = `${checked.stdout}\n${checked.stderr}`
  const customers = [...sandbox.world.evaluations()].flatMap(({ customer }) =>
    [customer.email, customer.address].filter(Boolean),
  )
  expect(customers.filter((text) => output.includes(text!))).toEqual([])
})

test('where the settings are right, nothing has to be changed', async () => {
  await using sandbox = await startSandbox({ evaluations: 400, now })
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(sandbox.clientConfig()))

  const { code, stdout, stderr } = await runInProcess(['wire', 'check'], { cwd: folder.path })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/appraisal\.evalList\.id +confirmed +EvalID +EvalID/)
  expect(stdout).toContain('Nothing has to be changed.\nNo answer shows ')
})

test('a key that is refused is a message, not a finding', async () => {
  await using sandbox = await startSandbox({ evaluations: 40 })
  await using folder = await temporaryFolder()
  const { keys, ...rest } = sandbox.clientConfig()
  const wrong = Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, { ...key, value: 'wrong' }]),
  )
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify({ ...rest, keys: wrong }))

  const { code, stdout, stderr } = await runInProcess(['wire', 'check'], { cwd: folder.path })

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('Check the value of key')
  // Once for each key: a service may lock a key that is refused often.
  expect(sandbox.requests.count()).toBe(Object.keys(keys).length)
})

test('a key that is refused does not stop the others', async () => {
  await using sandbox = await startSandbox({ evaluations: 40 })
  await using folder = await temporaryFolder()
  const { keys, ...rest } = sandbox.clientConfig()
  const [dead] = Object.keys(keys)
  const some = { ...keys, [dead!]: { ...keys[dead!]!, value: 'wrong' } }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify({ ...rest, keys: some }))

  const { code, stdout, stderr } = await runInProcess(['wire', 'check'], { cwd: folder.path })

  expect(code).toBe(0)
  expect(stdout).toMatch(/appraisal\.evalList\.id +confirmed/)
  expect(stderr).toContain(`keys.${dead}.value`)
})

/** FORECOURT_SERVICES=20001-20300: these instead. */
const [firstSeed, lastSeed] = (process.env['FORECOURT_SERVICES'] ?? '').split('-').map(Number)
const seeds = lastSeed
  ? Array.from({ length: lastSeed - firstSeed! + 1 }, (_, at) => firstSeed! + at)
  : someOf([4, 2, 8, 15, 18], 1)

test.for(seeds)(
  'what is proved at service %i is written; a second check confirms it, and a first sync loads the truth',
  async (seed) => {
    const names = otherNames(seed)
    const size = { seed, rooftops: 6, evaluations: 300, days: 20, now }
    await using usual = await openFixture({
      sandbox: { ...size, wire: names.wire },
      ...{ wire: names.wire, sync: { start: '2026-02-18' } },
    })
    await using sandbox = await startSandbox({
      ...size,
      ...names,
      clock: new VirtualClock({ start: now, frozen: true }),
    })
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'forecourt.yaml')
    const start = 'sync: { start: 2026-02-18 } # from here\n'
    const text = `# mine\n${stringify(sandbox.clientConfig())}${start}wire:\n  appraisal:\n${heldLine(allHeldNames)}`
    await writeFile(file, text)
    const run = (...args: string[]) => runInProcess(args, { cwd: folder.path })

    const plain = await run('wire', 'check')
    const unchanged = await readFile(file, 'utf8')
    const wrote = await run('wire', 'check', '--write')
    const after = await readFile(file, 'utf8')
    const again = await run('wire', 'check', '--write', '--json')

    expect([plain.code, unchanged]).toEqual([1, text])
    const held = loadConfig(file, { variables: {}, cwd: folder.path }).wire.appraisal.held
    expect(wrote.stdout).toMatch(/Changes of [^\n]+:\n([+-] {5}[^\n]+\n)+/)
    // Of some services nothing of an evaluation is proved by the calls of a check.
    expect(held.length).toBeLessThan(allHeldNames.length + (lastSeed ? 1 : 0))
    expect(after).toContain(text.replace(heldLine(allHeldNames), ''))
    expect(await readFile(file, 'utf8')).toContain(heldLine(held))
    // What was proved once is proved again, and nothing else is proposed.
    const written = [...wrote.stdout.matchAll(/^ {2}(appraisal\.\S+) +elsewhere /gm)].map(
      ([, setting]) => setting!,
    )
    const settings = new Map(
      (JSON.parse(again.stdout) as Shown).settings.map(({ setting, state }) => [setting, state]),
    )
    expect(written.length).toBeGreaterThan(lastSeed ? 0 : 3)
    const second = written.map((setting) => settings.get(setting))
    if (lastSeed) {
      // It reads other evaluations: these may show one more path that fits, or prove more.
      expect(['confirmed', 'ambiguous']).toEqual(expect.arrayContaining([...new Set(second)]))
    } else {
      expect(second).toEqual(written.map(() => 'confirmed'))
      expect(await readFile(file, 'utf8')).toBe(after)
    }
    const { wire } = loadConfig(file, { variables: {}, cwd: folder.path })
    const learntSettings = [...settings].filter(
      ([, state]) => state === 'confirmed' || state === 'elsewhere',
    )
    const firstPaths = (of: typeof wire) =>
      learntSettings.map(([setting]) => [setting, firstCandidate(valueAt(of, setting) as JsonPath)])
    expect(firstPaths(wire)).toEqual(firstPaths(names.wire))

    await using learnt = await openFixture({
      ...{ sandbox: { ...size, ...names }, sync: { start: '2026-02-18' } },
      wire,
    })
    const nights = [(await usual.night()).status, (await learnt.night()).status]
    // Where a number beside the id is always equal to it, a person has to say which one it is, and no night is complete until then.
    const isListRight = ['id', 'items'].every((name) => {
      const setting = `appraisal.evalList.${name}`
      const [ours, theirs] = [wire, names.wire].map((of) =>
        firstCandidate(valueAt(of, setting) as JsonPath),
      )
      return settings.get(setting) === 'confirmed' || ours === theirs
    })
    if (lastSeed && !isListRight) return expect(nights).toEqual(['ok', 'partial'])
    expect(nights).toEqual(['ok', 'ok'])
    const columns = allHeldNames.map(heldColumn)
    const rowsOf = async ({ database }: typeof usual) =>
      (
        await database.pool.query(
          `select rooftop_uid, eval_id, ${['vin', ...columns].join(', ')} from core.evaluation join core.rooftop using (rooftop_id) join pii.evaluation_customer using (rooftop_id, eval_id) order by eval_id`,
        )
      ).rows
    const rows = await rowsOf(learnt)
    expect(rows.length).toBeGreaterThan(100)
    // Each column is as it is at the service, or empty: nothing has a value under a name that is not proved.
    const empty = Object.fromEntries(held.map((name) => [heldColumn(name), null]))
    expect(rows).toEqual((await rowsOf(usual)).map((row) => ({ ...row, ...empty })))
  },
)

function heldLine(names: readonly string[]): string {
  return `    held: ${JSON.stringify(names)}\n`
}

test('a config that cannot be edited without a loss is not changed', async () => {
  await using sandbox = await startSandbox({ seed: 3, evaluations: 300, now, ...otherNames(3) })
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const text = `${stringify(sandbox.clientConfig())}wire: &names\n  appraisal: { error: error }\n`
  await writeFile(file, text)

  const { code, stderr } = await runInProcess(['wire', 'check', '--write'], { cwd: folder.path })
  const keep = await runInProcess(['wire', 'check', '--keep'], { cwd: folder.path })

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /forecourt\.yaml was not changed \(it has an anchor or a tag there\)\. Set by hand:\n {2}wire\.appraisal\.evalList/,
  )
  expect(await readFile(file, 'utf8')).toBe(text)
  expect(keep).toMatchObject({ code: 2, stderr: expect.stringContaining('add --write') })
})
