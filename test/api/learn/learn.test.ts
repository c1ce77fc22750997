import { expect, test } from 'vitest'
import type { Answer } from '#src/api/learn/answers.ts'
import { withNextSteps } from '#src/api/learn/decide.ts'
import { learn } from '#src/api/learn/learn.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { caseCount } from '../../support/cases.ts'
import { otherService, wrongIn } from './other-services.ts'

type Item = Readonly<Record<string, unknown>>
const makes = ['Toyota', 'Mazda', 'Ford', 'Kia', 'BMW', 'Audi']

/** Evaluations as `/geteval` answers them, each with what `more` gives for its number. */
function evaluations(
  count: number,
  more: (at: number) => Item,
  request = (id: number): Item => ({ evalid: id }),
): Answer[] {
  return Array.from({ length: count }, (_, at) => {
    const id = 1_000_001 + at * 7
    const day = String(1 + (at % 28)).padStart(2, '0')
    const times = {
      CreatedAt: `2026-02-${day}T01:00:00Z`,
      EntryDate: `2026-02-${day} 01:00:00`,
      UpdatedAt: `2026-03-${day}T02:00:${10 + at}Z`,
    }
    const vin = `JTMDFREV90D${String(100_000 + at)}`
    const body = [
      {
        EvalID: id,
        VIN: vin,
        UserName: `Sales ${at % 3}`,
        UserEmail: `sales${at % 3}@dealer.example`,
        ...times,
        ...more(at),
      },
    ]
    return { operation: 'geteval', request: request(id), body }
  })
}

function find(
  answers: readonly Answer[],
  setting: string,
  wire = defaultWire,
  vehicles: Parameters<typeof learn>[2] = [],
) {
  const { state, path, evidence } = learn(answers, wire, vehicles).find(
    (one) => one.setting === `appraisal.${setting}`,
  )!
  return { state, path, evidence }
}

const idOf = (at: number) => 1_000_001 + at * 7

test('a rare form under a name of the trade is enough, as the only field that has it', () => {
  const alone = evaluations(8, (at) => ({ Vehicle: { Marque: makes[at % 6] }, Colour: 'c' }))
  const beside = evaluations(8, (at) => ({ Marque: makes[at % 6], Nameplate: makes[(at + 1) % 6] }))
  const underDefault = evaluations(8, (at) => ({ Make: 'Toyota', Marque: makes[at % 6] }))
  const unknownName = evaluations(8, (at) => ({ Fabricant: makes[at % 6] }))

  expect(find(alone, 'evaluation.make')).toMatchObject({
    state: 'elsewhere',
    path: 'Vehicle.Marque',
  })
  expect(find(beside, 'evaluation.make')).toMatchObject({ state: 'ambiguous', path: null })
  // All vehicles have one "make": that of the franchise.
  expect(find(underDefault, 'evaluation.make')).toMatchObject({
    state: 'elsewhere',
    path: 'Marque',
  })
  expect(find(unknownName, 'evaluation.make')).toMatchObject({
    state: 'suggested',
    path: 'Fabricant',
  })
})

test('one evaluation that is read often counts once', () => {
  const one = evaluations(1, () => ({ Marque: 'Toyota', Mail: 'ann@home.example' }))

  const found = learn(Array.from({ length: 30 }, () => one).flat(), defaultWire)

  expect(found.filter(({ state }) => state === 'confirmed' || state === 'elsewhere')).toEqual([])
})

test('an address of the staff is not that of a customer', () => {
  const copied = evaluations(9, (at) => ({
    ContactEmail: `sales${at % 3}@dealer.example`,
    Electronic: `c${at}@home.example`,
  }))
  const right = evaluations(9, (at) => ({
    AgentEmail: `sales${at % 3}@dealer.example`,
    ContactEmail: `c${at}@home.example`,
  }))

  expect(find(copied, 'evaluation.customerEmail')).toMatchObject({
    state: 'suggested',
    path: 'Electronic',
  })
  expect(find(right, 'evaluation.customerEmail')).toMatchObject({
    state: 'elsewhere',
    path: 'ContactEmail',
  })
})

test('what was sent proves every field that it comes back in', () => {
  const sent = (at: number) => ({
    ...{
      km: 48_211 + at * 913,
      condition: (at * 7) % 11,
      notes: `Note ${at} about a tyre`,
      cName: `Ann ${'ABCDEFGHIJKLMNO'[at]}lake`,
      cPhone: `0491 570 ${100 + at}`,
    },
    ...{
      cEmail: `a${at}@home.example`,
      cPCode: String(2000 + at * 13),
      cState: ['NSW', 'VIC', 'QLD'][at % 3],
      cAddress: `${at + 3} Long Road`,
      cSuburb: `Town ${'ABCDEFGHIJKLMNO'[at]}`,
    },
  })
  const answers = evaluations(15, (at) => {
    const { km, condition, notes, cName, cPhone, cEmail, cPCode, cState, cAddress, cSuburb } =
      sent(at)
    const party = { n: cName, p: cPhone, m: cEmail, z: cPCode, s: cState, a: cAddress, t: cSuburb }
    return {
      x1: km,
      x2: condition,
      x3: notes,
      party,
      Odometer: Math.round(km / 1.609),
      Condition: 5 - (at % 2),
    }
  })
  const updates = answers.map((_, at) => ({
    operation: 'dcupdateeval',
    request: { evalid: idOf(at), ...sent(at) },
    body: {},
  }))

  const found = learn([...answers, ...updates], defaultWire)

  const proved = found
    .filter(({ state }) => state === 'elsewhere')
    .map(({ setting, path }) => `${setting.split('.').at(-1)} ${path}`)
  // The state of a plate and a score are worth 2 bits each, so they need more records.
  expect(proved).toEqual([
    ...['odometer x1', 'notes x3', 'customerName party.n', 'customerPhone party.p'],
    ...[
      'customerEmail party.m',
      'customerPostcode party.z',
      'customerAddress party.a',
      'customerSuburb party.t',
    ],
  ])
})

test('the year of build is not the model year, whatever its name; a factory build or a stock list says which is', () => {
  const answers = evaluations(14, (at) => ({
    Year: 2015 + (at % 7),
    ModelYear: 2015 + (at % 7) + (at % 2),
  }))
  const vehicles = answers.map(({ body }, at) => ({
    vin: (body as { VIN: string }[])[0]!.VIN,
    facts: { year: 2015 + (at % 7) + (at % 2) },
  }))
  const copied = evaluations(14, (at) => ({
    MY: 2015 + (at % 7) + (at % 2),
    ModelYear: 2015 + (at % 7) + (at % 2),
  }))

  expect(find(answers, 'evaluation.year')).toMatchObject({ state: 'ambiguous' })
  expect(find(answers, 'evaluation.year', defaultWire, vehicles)).toMatchObject({
    ...{
      state: 'elsewhere',
      path: 'ModelYear',
      evidence: '14 of 14 equal to the stock list of the VIN',
    },
  })
  expect(find(copied, 'evaluation.year', defaultWire, vehicles)).toMatchObject({
    state: 'ambiguous',
  })
})

test('a constant proves nothing, though it is equal to what is known', () => {
  const answers = evaluations(14, () => ({ Make: 'Toyota', Year: 2020 }))
  const vehicles = answers.map(({ body }) => ({
    vin: (body as { VIN: string }[])[0]!.VIN,
    facts: { make: 'Toyota', year: 2020 },
  }))

  expect(find(answers, 'evaluation.year', defaultWire, vehicles)).toMatchObject({
    state: 'unproved',
  })
  expect(find(answers, 'evaluation.make', defaultWire, vehicles)).toMatchObject({
    state: 'doubtful',
  })
})

test('a plate is proved by asking for it, if another plate does not find the evaluation', () => {
  const answers = evaluations(6, (at) => ({
    Rego: `ABC${100 + at}`,
    StockNo: `S${at}00`,
    PlateState: at % 2 ? 'NSW' : 'VIC',
    OwnerState: 'NSW',
  }))
  const ask = (at: number, state?: string, isFound = true): Answer => ({
    ...{
      operation: 'geteval',
      request: { reg: `ABC${100 + at}`, ...(state && { state }) },
      body: isFound ? answers[at]!.body : [],
    },
  })
  const everything = answers.flatMap(({ body }) => body as unknown[])
  const open = [0, 1].map((at) => ({ ...ask(at), body: everything }))
  const states = [ask(0, 'VIC'), ask(0, 'NSW', false), ask(1, 'NSW'), ask(1, 'VIC', false)]

  expect(find([...answers, ask(0), ask(1)], 'evaluation.registration')).toMatchObject({
    state: 'elsewhere',
    path: 'Rego',
  })
  expect(find([...answers, ask(0)], 'evaluation.registration')).toMatchObject({
    state: 'suggested',
  })
  // A service that does not read the plate finds them all.
  expect(find([...answers, ...open], 'evaluation.registration')).toMatchObject({
    state: 'suggested',
  })
  expect(
    find([...answers, ...states, ask(0), ask(1)], 'evaluation.registrationState'),
  ).toMatchObject({ state: 'elsewhere', path: 'PlateState' })
  expect(
    find([...answers, ask(0, 'VIC'), ask(1, 'NSW')], 'evaluation.registrationState').state,
  ).toBe('suggested')
})

test('the id of a list item is that of an evaluation in the window, not of an earlier one or of a user', () => {
  const read = evaluations(6, () => ({}))
  const bounds = { startdate: Date.UTC(2026, 1, 3) / 1000, enddate: Date.UTC(2026, 2, 1) / 1000 }
  const items = [3, 4, 5].map((at) => ({
    ref: idOf(at),
    previous: idOf(at - 3),
    by: 2000 + at,
    ts: `2026-03-0${at + 1}T02:00:${10 + at}Z`,
  }))
  const list = (body: unknown): Answer => ({ operation: 'getevallist', request: bounds, body })
  const body = { meta: { n: 3 }, users: [{ id: 2003 }], result: { rows: items } }
  const configured = wireSettings.parse({
    appraisal: { evalList: { items: ['data', 'result.rows'], id: 'ref', updatedAt: ['ts'] } },
  })
  const answers = [...read, list(body)]

  expect(find(answers, 'evalList.items')).toMatchObject({ state: 'elsewhere', path: 'result.rows' })
  expect(find(answers, 'evalList.id')).toMatchObject({ state: 'elsewhere', path: 'ref' })
  expect(find(answers, 'evalList.updatedAt')).toMatchObject({ state: 'elsewhere', path: 'ts' })
  for (const name of ['items', 'id', 'updatedAt'])
    expect(find(answers, `evalList.${name}`, configured).state).toBe('confirmed')
  expect(find([...read, list({ rows: items, recent: items })], 'evalList.items').state).toBe(
    'ambiguous',
  )
  expect(
    find(
      [...read, list({ rows: items.map((item) => ({ ...item, key: item.ref })) })],
      'evalList.id',
    ).state,
  ).toBe('ambiguous')
  expect(find([...read, list({ rows: [] })], 'evalList.items').state).toBe('unseen')
  const mustChange = (wire: typeof configured) =>
    learn([list({ rows: [], users: [{ number: 5 }] })], wire, [])[0]!.mustChange
  const rows = wireSettings.parse({ appraisal: { evalList: { items: 'rows' } } })
  expect([mustChange(rows), mustChange(configured)]).toEqual([false, true])
})

test('a number that several items of a list share is not their id, nor the time of completion that of an update', () => {
  const read = evaluations(6, (at) => ({
    CompletedAt: `2026-03-0${at + 1}T02:00:00Z`,
    UpdatedAt: `2026-03-0${at + 1}T02:00:00Z`,
  }))
  const items = read.map((_, at) => ({
    ref: idOf(at),
    first: idOf(at - (at % 2)),
    done: `2026-03-0${at + 1}T02:00:00Z`,
  }))
  const answers = [...read, { operation: 'getevallist', request: {}, body: items }]

  expect(find(answers, 'evalList.id')).toMatchObject({ state: 'elsewhere', path: 'ref' })
  expect(find(answers, 'evalList.updatedAt')).toMatchObject({ state: 'unseen', path: null })
})

test('an update time of the list that is another one than that of the evaluations is refuted', () => {
  const read = evaluations(6, () => ({}))
  const list = (more: (item: Item) => Item): Answer => ({
    ...{ operation: 'getevallist', request: {} },
    body: read.map(({ body }) => {
      const [item] = body as Item[]
      return { EvalID: item!['EvalID'], ...more(item!) }
    }),
  })
  const found = (more: (item: Item) => Item) =>
    learn([...read, list(more)], defaultWire).find(({ setting }) => setting.endsWith('updatedAt'))

  expect(found(({ CreatedAt }) => ({ UpdatedAt: CreatedAt }))).toMatchObject({
    ...{ state: 'refuted', path: null, mustChange: true },
    evidence: '6 of 6 equal to CreatedAt of /geteval',
  })
  expect(
    found(({ CreatedAt, UpdatedAt }) => ({ UpdatedAt: CreatedAt, ts: UpdatedAt })),
  ).toMatchObject({ state: 'elsewhere', path: 'ts', mustChange: true })
  // A list may round, or be from before an edit.
  const rounded = ({ EvalID, CreatedAt, UpdatedAt }: Item) => ({
    UpdatedAt: EvalID === idOf(0) ? CreatedAt : `${String(UpdatedAt).slice(0, 16)}:00Z`,
  })
  expect(found(rounded)).toMatchObject({ state: 'doubtful', mustChange: false })
})

test('where two ids of an item differ, its update time is not compared with that of an evaluation', () => {
  const read = evaluations(6, () => ({}))
  const body = [1, 2, 3, 4, 5].map((at) => {
    const [{ UpdatedAt }] = read[at]!.body as [Item]
    return { previous: idOf(at - 1), ref: idOf(at), UpdatedAt }
  })
  const list: Answer = { operation: 'getevallist', request: {}, body }

  expect(find([...read, list], 'evalList.id').state).toBe('ambiguous')
  expect(find([...read, list], 'evalList.updatedAt')).toMatchObject({
    ...{ state: 'unproved', path: 'UpdatedAt' },
  })
})

test('paths of the right form alone are shown where a person has to find one, as long as they are few', () => {
  const yearOf = (count: number, more: Item = {}) => {
    const fields = Array.from({ length: count }, (_, nth) => `vintage${nth}`)
    const answers = evaluations(8, (at) => ({
      ...Object.fromEntries(fields.map((name) => [name, 2015 + at])),
      ...{ Marque: makes[at % 6], ...more },
    }))
    const found = learn(answers, defaultWire)
    return ['year', 'model'].map((name) => {
      const { state, path, byFormAlone, mustChange } = found.find(({ setting }) =>
        setting.endsWith(`evaluation.${name}`),
      )!
      return { state, path, paths: byFormAlone.map((one) => one.path), mustChange }
    })
  }
  const unseen = { state: 'unseen', path: null, mustChange: false }

  // The field that is proved for the make is not shown for the model.
  expect(yearOf(2)).toEqual([
    { ...unseen, paths: ['vintage0', 'vintage1'] },
    { ...unseen, paths: [] },
  ])
  expect(yearOf(6)).toEqual([
    { ...unseen, paths: [] },
    { ...unseen, paths: [] },
  ])
  // The only path of a known name may be another year. Where the configured path may be it, no other is to be found.
  expect(yearOf(1, { ModelYear: 2014 })[0]).toEqual({
    ...{ state: 'suggested', path: 'ModelYear', paths: ['vintage0'], mustChange: true },
  })
  expect(yearOf(1, { Year: 2014 })[0]).toMatchObject({ state: 'unproved', paths: [] })
  expect(yearOf(1, { Year: 'new' })[0]).toMatchObject({ state: 'doubtful', paths: ['vintage0'] })
})

/** The state and the next step of each setting below `wire.appraisal`, with ! where it must be changed. */
function stepsOf(
  answers: readonly Answer[],
  wire: unknown = {},
  inFile: readonly string[] = [],
  written: readonly string[] = [],
) {
  const settings = (names: readonly string[]) => new Set(names.map((name) => `appraisal.${name}`))
  const { appraisal, ...others } = wireSettings.parse({ appraisal: wire })
  const { held } = appraisal
  const known = { inFile: settings(inFile), written: settings(written), held }
  const found = withNextSteps(learn(answers, { ...others, appraisal }), known)
  return Object.fromEntries(
    found.map(({ setting, state, nextStep, mustChange }) => [
      setting.replace(/^appraisal\.(evaluation\.)?/, ''),
      `${state}: ${nextStep}${mustChange ? '!' : ''}`,
    ]),
  )
}

test('the state says whether the configured path may be the one, or another', () => {
  const answers = evaluations(8, (at) => ({
    ...{ Year: 2015 + at, ModelName: `R${at} car`, Notes: { text: 'x' }, Marque: makes[at % 6] },
    ...{ Mileage: 40_000 + at, Kms: 50_000 + at, x: `T${at} trim` },
  }))
  const wire = { evaluation: { odometer: 'Kms', make: 'Marque' } }

  expect(stepsOf(answers)).toMatchObject({
    ...{ year: 'unproved: keep', model: 'suggested: try it!', make: 'elsewhere: --write!' },
    ...{ odometer: 'ambiguous: choose!', notes: 'doubtful: compare', variant: 'unseen: choose' },
    'evalList.items': 'unseen: ',
  })
  expect(stepsOf(answers, wire)).toMatchObject({
    ...{ odometer: 'ambiguous: compare', make: 'confirmed: ' },
  })
  // The column of a held name is empty, so its setting is open until there is no field for it.
  const held = ['year', 'model', 'make', 'odometer', 'notes', 'colour']
  expect(stepsOf(answers, { ...wire, held })).toMatchObject({
    ...{ year: 'unproved: --keep!', model: 'suggested: try it!', make: 'confirmed: --write!' },
    ...{ odometer: 'ambiguous: choose!', notes: 'doubtful: compare!', colour: 'unseen: ' },
  })
  expect(stepsOf(answers, { held }, ['evaluation.year'])['year']).toBe('decided: --write!')
  // What was proved by other answers needs no proof by these.
  expect(stepsOf(answers, {}, [], ['evaluation.year', 'evaluation.model'])).toMatchObject({
    ...{ year: 'unproved: ', model: 'suggested: try it!' },
  })
})

test('what nothing proves is decided where the config file names one of the paths that may be it, or none', () => {
  const answers = evaluations(14, (at) => ({ Year: 2015 + (at % 7), Model: `R${at % 3} car` }))
  const year = ['evaluation.year']
  const withYear = (path: string) => stepsOf(answers, { evaluation: { year: path } }, year)['year']

  expect(stepsOf(answers)).toMatchObject({ year: 'unproved: keep', model: 'unproved: keep' })
  expect(stepsOf(answers, {}, year)).toMatchObject({
    ...{ year: 'decided: ', model: 'unproved: keep' },
  })
  // Nothing is at the path that the file names.
  expect(withYear('vintage')).toBe('suggested: try it!')
  expect(withYear('none')).toBe('decided: ')
})

test('a held column whose name alone fits is not filled by --keep where another path has the same values, as a title', () => {
  const titles = (more: (title: string) => Item) =>
    evaluations(9, (at) => {
      const title = `20${15 + at} ${makes[at % 6]} Ranger`
      return { Variant: title, ...more(title) }
    })
  const known = { inFile: new Set<string>(), written: new Set<string>(), held: ['variant'] }
  const nextStep = (answers: readonly Answer[]) => {
    const found = withNextSteps(learn(answers, defaultWire), known).find(
      ({ setting }) => setting === 'appraisal.evaluation.variant',
    )!
    return [found.state, found.nextStep, found.candidates.map(({ path }) => path)]
  }

  expect(nextStep(titles(() => ({})))).toEqual(['unproved', '--keep', ['Variant']])
  expect(nextStep(titles((title) => ({ Headline: title })))).toEqual([
    ...['unproved', 'choose'],
    ['Variant', 'Headline'],
  ])
})

test('of two lists with the same evaluations a person decides, and then their ids', () => {
  const rows = [0, 1, 2].map((at) => ({ ref: idOf(at), previous: idOf(at) + 1 }))
  const recent = rows.map((row) => ({ ...row, key: row.ref }))
  const body = { rows, recent, users: [{ ref: 5 }, { ref: 6 }] }
  const list: Answer = { operation: 'getevallist', request: { startdate: 0 }, body }
  const answers = [...evaluations(3, () => ({})), list]
  const inFile = ['evalList.items', 'evalList.id']
  const decide = (evalList: Item) => {
    const steps = stepsOf(answers, { evalList }, inFile)
    return inFile.map((name) => steps[name])
  }

  expect(decide({})).toEqual(['ambiguous: choose!', 'ambiguous: '])
  expect(decide({ items: 'users' })).toEqual(['ambiguous: choose!', 'ambiguous: '])
  expect(decide({ items: 'rows' })).toEqual(['decided: ', 'ambiguous: choose!'])
  expect(decide({ items: 'recent', id: 'key' })).toEqual(['decided: ', 'decided: '])
})

test.each([
  ['seconds', (at: Date) => at.getTime() / 1000],
  ['milliseconds', (at: Date) => at.getTime()],
  ['a text of seconds', (at: Date) => String(at.getTime() / 1000)],
] as const)(
  'the time of an update in %s is that of the evaluation, whatever its name',
  (_, write) => {
    const read = evaluations(6, () => ({}))
    const items = read.map(({ body }, at) => {
      const { EvalID, UpdatedAt } = (body as { EvalID: number; UpdatedAt: string }[])[0]!
      const updated = new Date(UpdatedAt)
      return { EvalID, touched: write(updated), entered: write(new Date(+updated - 60_000 * at)) }
    })
    const list: Answer = { operation: 'getevallist', request: {}, body: items }

    expect(find([...read, list], 'evalList.updatedAt')).toMatchObject({
      ...{ state: 'elsewhere', path: 'touched' },
    })
  },
)

test('the dealer is the one whose list has the evaluation, where another list has not', () => {
  const of = (dealerId: number, from: number) =>
    evaluations(
      4,
      () => ({ branch: dealerId, group: 7, area: 101 }),
      (evalid) => ({ evalid }),
    ).map(({ body, ...answer }, at) => {
      const [item] = body as Item[]
      return {
        ...answer,
        body: [{ ...item, EvalID: from + at }],
        rooftop: { uid: `r${dealerId}`, dealerId },
      }
    })
  const list = (dealerId: number): Answer => ({
    operation: 'getevallist',
    request: { dealerId: `[${dealerId}]` },
    body: [],
  })

  expect(find([...of(101, 10), ...of(102, 20)], 'evaluation.dealerId')).toMatchObject({
    state: 'elsewhere',
    path: 'branch',
  })
  // At one rooftop every constant with its number fits.
  expect(find([...of(101, 10), list(101), list(102)], 'evaluation.dealerId')).toMatchObject({
    state: 'ambiguous',
  })
  expect(find(of(102, 10), 'evaluation.dealerId').state).not.toBe('elsewhere')
  // A service that does not read the filter lists them for any dealer.
  const control = { ...list(103), body: { rows: [{ ref: '5' }] } }
  const open = { ...list(103), body: { rows: [{ ref: '11' }] } }
  expect(find([...of(102, 10), list(102), control], 'evaluation.dealerId')).toMatchObject({
    state: 'elsewhere',
    path: 'branch',
  })
  expect(find([...of(102, 10), list(102), open], 'evaluation.dealerId').state).not.toBe('elsewhere')
})

/** The past checks of three vehicles, the first with two, and what `/ppsrwatch` says about them. */
function checks(
  past: (id: number, at: Date) => Item,
  watched: (id: number, at: Date, word: string) => Item,
): Answer[] {
  const vehicles = [[70_011, 70_012], [70_013], [70_014, 70_015]]
  const words = ['unchanged', 'changed', 'watching']
  return vehicles.flatMap((ids, vehicle) => {
    const times = ids.map((_, at) => new Date(Date.UTC(2026, 1, 20 - at * 9 - vehicle)))
    const request = { evalid: 1000 + vehicle }
    const statuses = ids.map((_, at) => words[(vehicle + at) % 3]!)
    const most = statuses.toSorted(
      (a, b) =>
        Number(b === 'changed') - Number(a === 'changed') ||
        Number(b === 'watching') - Number(a === 'watching'),
    )[0]
    const pastItems = ids.map((id, at) => ({
      WatchStatus: statuses[at],
      CertificateNumber: `C${id}`,
      ...past(id, times[at]!),
    }))
    const items = ids.map((id, at) => watched(id, times[at]!, statuses[at]!))
    return [
      { operation: 'getpastppsrsearch', request, body: pastItems },
      { operation: 'ppsrwatch', request, body: { WatchStatus: most, list: items } },
    ]
  })
}

test('ids of checks are those that the watch has too; the time falls down the list', () => {
  const answers = checks(
    (id, at) => ({
      seq: id,
      searchedAt: at.toISOString(),
      reportUrl: `https://x.example/${id}.pdf?sig=1`,
    }),
    (id, _, word) => ({ key: id, cert: `C${id}`, word }),
  )
  const again = answers.map((answer) => ({
    ...answer,
    body: JSON.parse(JSON.stringify(answer.body).replaceAll('sig=1', 'sig=2')) as unknown,
  }))

  const found = (name: string, from = answers) => find(from, name)
  expect(found('pastCheck.id')).toMatchObject({ state: 'elsewhere', path: 'seq' })
  expect(found('watch.checkId')).toMatchObject({ state: 'elsewhere', path: 'key' })
  expect(found('watch.checks')).toMatchObject({ state: 'elsewhere', path: 'list' })
  expect(found('watch.checkStatus')).toMatchObject({ state: 'elsewhere', path: 'word' })
  expect(found('pastCheck.createdAt')).toMatchObject({ state: 'elsewhere', path: 'searchedAt' })
  expect(found('pastCheck.pdfUrl')).toMatchObject({ state: 'elsewhere', path: 'reportUrl' })
  expect(found('pastCheck.pdfUrl', [...answers, ...again]).evidence).toBe(
    '5 links signed again at another read',
  )
})

test('the end of a watch is not the time of the search, and the number of a vehicle is not an id', () => {
  const end = (at: Date) => new Date(at.getTime() + 14 * 86_400_000).toISOString()
  const answers = checks(
    (id, at) => ({
      createdAt: at.toISOString(),
      until: end(at),
      vehicle: 500_000 + Math.floor(id / 2),
      logo: 'https://x.example/logo.png',
      pdf: `https://x.example/${id}?sig=1`,
    }),
    (id, at, word) => ({
      started: at.toISOString(),
      vehicle: 500_000 + Math.floor(id / 2),
      word,
      state: word,
    }),
  )

  expect(find(answers, 'pastCheck.createdAt').state).toBe('ambiguous')
  expect(find(answers, 'pastCheck.id')).toMatchObject({ path: null })
  expect(find(answers, 'watch.checkStatus').state).toBe('ambiguous')
  expect(find(answers, 'pastCheck.pdfUrl')).toMatchObject({ state: 'elsewhere', path: 'pdf' })
})

test('a field that contradicts what was sent is not suggested, and a copy of the proved one makes it ambiguous', () => {
  const km = (at: number) => 40_000 + at * 917
  const sent = Array.from({ length: 8 }, (_, at) => ({
    ...{ operation: 'dcupdateeval', request: { evalid: idOf(at), km: km(at) }, body: {} },
  }))
  const miles = evaluations(8, (at) => ({ Odometer: Math.round(km(at) / 1.609) }))
  const copied = evaluations(8, (at) => ({ x: km(at), y: at < 2 ? km(at) : null }))

  expect(find([...miles, ...sent], 'evaluation.odometer')).toEqual({
    ...{
      state: 'doubtful',
      path: null,
      evidence: 'has values of another form, or of something else',
    },
  })
  expect(find([...copied, ...sent], 'evaluation.odometer').state).toBe('ambiguous')
  expect(find([...copied.slice(2), ...sent], 'evaluation.odometer')).toMatchObject({ path: 'x' })
})

test('a rare form needs enough records, and no other field that has it at times', () => {
  const paints = ['Nardo', 'Frost', 'Ember', 'Blue', 'Sand']
  const inside = ['Black', 'Beige', 'Tan', 'Red']
  const colours = (paint: boolean) =>
    evaluations(15, (at) => ({ Colour: inside[at % 4], ...(paint && { Hue: paints[at % 5] }) }))

  expect(
    find(
      evaluations(4, (at) => ({ Marque: makes[at] })),
      'evaluation.make',
    ).state,
  ).toBe('suggested')
  expect(
    find(
      evaluations(7, (at) => ({ Mail: `c${at}@home.example` })),
      'evaluation.customerEmail',
    ).state,
  ).toBe('suggested')
  expect(find(colours(false), 'evaluation.colour').state).toBe('confirmed')
  expect(find(colours(true), 'evaluation.colour').state).toBe('ambiguous')
})

test('model and variant are known by their order, where they alone depend on the make', () => {
  const one = (at: number) => {
    const [make, model, variant] = [at % 3, at % 6, at % 18]
    return {
      Make: makes[make],
      ModelName: `R${model} car`,
      Badge: `B${variant} trim`,
      Series: `S${model} gen`,
    }
  }
  const two = evaluations(54, (at) => ({ ...one(at), Series: null }))
  const swapped = evaluations(54, (at) => ({
    Make: one(at).Make,
    Badge: one(at).ModelName,
    ModelName: one(at).Badge,
  }))
  const of = (answers: Answer[]) =>
    ['model', 'variant'].map((name) => find(answers, `evaluation.${name}`).state)

  expect(of(two)).toEqual(['elsewhere', 'elsewhere'])
  expect(of(swapped)).toEqual(['suggested', 'suggested'])
  expect(of(evaluations(54, one))).toEqual(['suggested', 'suggested'])
  // A badge that goes with several models is not a variant of one.
  expect(
    of(evaluations(54, (at) => ({ ...one(at), Series: null, Badge: `T${at % 9} trim` }))),
  ).toEqual(['suggested', 'suggested'])
})

test('one answered id is not enough, nor one check for each vehicle, nor the numbers of certificates', () => {
  const rows = [0, 1, 2].map((at) => ({ ref: idOf(at) }))
  const list: Answer = { operation: 'getevallist', request: { startdate: 0 }, body: { rows } }
  const single = [0, 1, 2, 3].flatMap((at): Answer[] => {
    const request = { evalid: at }
    const item = { id: 500_000 + at }
    return [
      { operation: 'getpastppsrsearch', request, body: [item] },
      {
        operation: 'ppsrwatch',
        request,
        body: { WatchStatus: 'watching', list: [{ ...item, word: 'watching' }] },
      },
    ]
  })
  const certificates = checks(
    (id) => ({ no: `C${id}` }),
    (id, _, word) => ({ cert: `C${id}`, word }),
  )

  expect(find([...evaluations(1, () => ({})), list], 'evalList.id').state).toBe('unseen')
  expect(find([...evaluations(2, () => ({})), list], 'evalList.id').state).toBe('elsewhere')
  expect(find(single, 'pastCheck.id').state).toBe('unproved')
  expect(find(single, 'watch.checkStatus').state).toBe('suggested')
  expect(find(certificates, 'pastCheck.id').state).not.toBe('elsewhere')
})

test('a time that rises down the list is not that of the search; a status that does not add up is not that of the item', () => {
  const answers = checks(
    (id, at) => ({ createdAt: new Date(4e12 - at.getTime()).toISOString(), id }),
    (id, _, word) => ({ id, word: word === 'changed' ? 'unchanged' : word }),
  )

  expect(find(answers, 'pastCheck.createdAt').state).toBe('unseen')
  expect(find(answers, 'watch.checkStatus').state).toBe('suggested')
})

test('sources that contradict each other prove nothing, nor do two links that are signed again', () => {
  const answers = evaluations(14, (at) => ({ ModelYear: 2010 + at }))
  const vinOf = (at: number) => (answers[at]!.body as { VIN: string }[])[0]!.VIN
  const vehicles = answers.map((_, at) => ({ vin: vinOf(at), facts: { year: 2010 + at } }))
  const builds = answers.map((_, at) => ({
    ...{ operation: 'gccfactoryvinext', request: { vin: vinOf(at) } },
    body: { VehicleData: { VIN: vinOf(at), MY: String(2009 + at) } },
  }))
  const links = (sig: number) =>
    checks(
      (id) => ({
        a: `https://x.example/${id}.pdf?sig=${sig}`,
        b: `https://x.example/${id}.png?sig=${sig}`,
      }),
      (id) => ({ id }),
    )

  expect(find(answers, 'evaluation.year', defaultWire, vehicles).state).toBe('elsewhere')
  expect(find([...answers, ...builds], 'evaluation.year', defaultWire, vehicles).state).toBe(
    'unseen',
  )
  expect(find([...links(1), ...links(2)], 'pastCheck.pdfUrl').state).toBe('ambiguous')
})

test('a path that is null so far, or whose key cannot be shown, keeps a setting from being absent', () => {
  const without = evaluations(30, (at) => ({ n: at }))
  const always = evaluations(30, (at) => ({ n: at, x: null }))
  const odd = evaluations(30, (at) => ({ n: at, 'a.b': `c${at}@home.example` }))

  expect(find(without, 'evaluation.customerEmail').state).toBe('absent')
  expect(find(always, 'evaluation.customerEmail').state).toBe('unseen')
  expect(find(odd, 'evaluation.customerEmail')).toMatchObject({
    state: 'unseen',
    evidence: '1 path cannot be shown in 30 records',
  })
  expect(find(without.slice(0, 10), 'evaluation.customerEmail').state).toBe('unseen')
})

test('a configured list whose first path holds something else is not confirmed', () => {
  const answers = evaluations(9, (at) => ({
    old: at % 2 ? null : `o${at}@home.example`,
    Mail: `c${at}@home.example`,
  }))
  const sent = answers.map((_, at) => ({
    operation: 'dcupdateeval',
    request: { evalid: idOf(at), cEmail: `c${at}@home.example` },
    body: {},
  }))
  const wire = wireSettings.parse({ appraisal: { evaluation: { customerEmail: ['old', 'Mail'] } } })

  expect(find([...answers, ...sent], 'evaluation.customerEmail', wire)).toMatchObject({
    state: 'elsewhere',
    path: 'Mail',
  })
})

test('no finding holds a value, nor a key that may be the name of a person', () => {
  const canary = 'Canary Wharton'
  const answers = evaluations(9, (at) => ({
    ...{
      Owner: `${canary} ${at}`,
      Notes: `call ${canary}`,
      Mail: `canary${at}@home.example`,
      [`Canary${at}Wharton`]: `b${at}@home.example`,
      'Canary Wharton': `d${at}@home.example`,
    },
    Addr: `${at} Canary Street`,
  }))

  expect(JSON.stringify(learn(answers, defaultWire))).not.toMatch(/canary|wharton/i)
})

/** Readings of the same evaluations on two days, without an update between them. */
function readTwice(count: number, before: (at: number) => Item, after: (at: number) => Item) {
  return [...evaluations(count, before), ...evaluations(count, after)]
}

test('a field that moved is found where the same evaluations have its values now', () => {
  const km = (at: number) => 40_000 + at * 517
  const moved = readTwice(
    8,
    (at) => ({ Odometer: km(at), Doors: 4 }),
    (at) => ({ Vehicle: { Reading: km(at) }, Doors: 4 }),
  )
  // Of evaluations that were read on one day alone the former path stays right.
  const others = evaluations(20, (at) => ({ Odometer: km(at), Doors: 4 })).slice(8)
  const wire = wireSettings.parse({ appraisal: { evaluation: { odometer: 'Odometer' } } })

  const found = learn([...others, ...moved], wire).find(({ setting }) =>
    setting.endsWith('evaluation.odometer'),
  )

  expect(found).toMatchObject({
    ...{ state: 'elsewhere', path: 'Vehicle.Reading', mustChange: true },
    proposal: ['Vehicle.Reading', 'Odometer'],
    evidence: '8 of 8 equal to what the same evaluation had there before',
  })
})

test.each<[string, (at: number) => Item]>([
  ['nothing has its values', () => ({})],
  ['a new field has other values', (at) => ({ Reading: 90_000 - at * 311 })],
  ['a field that was there before has equal values', (at) => ({ Copy: 40_000 + at * 517 })],
  ['two new fields have them', (at) => ({ A: 40_000 + at * 517, B: 40_000 + at * 517 })],
  [
    'the evaluations were updated',
    (at) => ({ Reading: 40_000 + at * 517, UpdatedAt: `2026-04-01T00:00:${10 + at}Z` }),
  ],
])('a field that is gone did not move where %s', (_, after) => {
  const before = (at: number) => ({ Odometer: 40_000 + at * 517, Copy: 40_000 + at * 517 })
  const wire = wireSettings.parse({ appraisal: { evaluation: { odometer: 'Odometer' } } })

  const { state } = find(readTwice(8, before, after), 'evaluation.odometer', wire)

  expect(state).not.toBe('elsewhere')
  expect(state).not.toBe('confirmed')
})

test('at no service with other names is a finding wrong, before and after they are set', async () => {
  const wrong: string[] = []
  let proved = 0
  for (let seed = 1; seed <= caseCount(200, 20); seed += 1) {
    const service = await otherService(seed, { all: seed % 5 === 0 })
    const [first, then] = [
      learn(service.answers, defaultWire),
      learn(service.answers, service.wire),
    ]
    proved += first.filter(({ state }) => state === 'elsewhere').length
    const moved = then
      .filter(({ state }) => state === 'elsewhere')
      .map(({ setting }) => `${setting} moved again`)
    wrong.push(
      ...[...wrongIn(first, service), ...wrongIn(then, service), ...moved].map(
        (text) => `seed ${seed}: ${text}`,
      ),
    )
  }

  expect(wrong).toEqual([])
  expect(proved).toBeGreaterThan(caseCount(200, 20) * 3)
})
