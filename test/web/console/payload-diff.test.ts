import { describe, expect, test } from 'vitest'
import { evaluationPeople } from '#src/streams/evaluations/person.ts'
import { maskPayloads } from '#src/sync/records/mask-payload.ts'
import { defaultWire, type HeldName } from '#src/values/wire.ts'
import { columnFedBy } from '#src/web/console/evaluation/columns-fed.ts'
import { changesBetween, pathText } from '#src/web/console/evaluation/payloads.ts'
import { goldenBody, goldenRecord } from '../../support/golden-evaluation.ts'

const wire = defaultWire.appraisal

function changes(old: unknown, next: unknown): string[] {
  return [...changesBetween(old, next)].map(({ path, kind, ...values }) =>
    [kind, pathText(path), JSON.stringify([values.old, values.new])].join(' '),
  )
}

test.each<[string, unknown, unknown, string[]]>([
  ['nothing', { a: [1, { id: 2 }] }, { a: [1, { id: 2 }] }, []],
  ['the order of fields', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
  ['a value', { a: { b: 1 } }, { a: { b: 2 } }, ['changed a.b [1,2]']],
  ['a type', { a: 1 }, { a: '1' }, ['changed a [1,"1"]']],
  ['null', { a: null }, { a: 0 }, ['changed a [null,0]']],
  ['a field', { a: 1 }, { b: 1 }, ['removed a [1,null]', 'added b [null,1]']],
  ['an object for a value', { a: {} }, { a: 1 }, ['changed a [{},1]']],
  ['a list for an object', { a: [] }, { a: {} }, ['changed a [[],{}]']],
  ['a field that is null or not there', { a: null }, {}, ['removed a [null,null]']],
  ['names of the prototype', { toString: 1 }, {}, ['removed toString [1,null]']],
  ['__proto__', JSON.parse('{"__proto__": 1}'), {}, ['removed __proto__ [1,null]']],
  [
    'an element by id',
    {
      p: [
        { id: 1, x: 1 },
        { id: 2, x: 1 },
      ],
    },
    { p: [{ id: 2, x: 3 }] },
    ['removed p[id 1] [{"id":1,"x":1},null]', 'changed p[id 2].x [1,3]'],
  ],
  [
    'an element by ID',
    { p: [{ ID: 'a' }] },
    { p: [{ ID: 'a' }, { ID: 'b' }] },
    ['added p[ID b] [null,{"ID":"b"}]'],
  ],
  [
    'an element by name',
    [{ name: 'a', v: 1 }],
    [{ name: 'a', v: 2 }],
    ['changed [name a].v [1,2]'],
  ],
  [
    'ids that are there twice: by position',
    [
      { id: 1, x: 1 },
      { id: 1, x: 2 },
    ],
    [
      { id: 1, x: 1 },
      { id: 1, x: 9 },
    ],
    ['changed [1].x [2,9]'],
  ],
  [
    'twice in one of both: by position',
    [{ id: 1 }, { id: 2 }],
    [{ id: 1 }, { id: 1 }],
    ['changed [1].id [2,1]'],
  ],
  [
    'an id that is missing once: by position',
    [{ id: 1 }, { x: 1 }],
    [{ id: 1 }, { x: 2 }],
    ['changed [1].x [1,2]'],
  ],
  ['without ids: by position', [{ x: 1 }], [{ x: 1 }, { x: 2 }], ['added [1] [null,{"x":2}]']],
  [
    'the order of elements',
    [{ id: 1 }, { id: 2 }],
    [{ id: 2 }, { id: 1 }],
    ['order  ["1, 2","2, 1"]'],
  ],
  [
    'no order where elements only come and go',
    [{ id: 1 }, { id: 2 }],
    [{ id: 3 }, { id: 2 }],
    ['removed [id 1] [{"id":1},null]', 'added [id 3] [null,{"id":3}]'],
  ],
  [
    'values of a list',
    { t: ['a', 'b', 'b'] },
    { t: ['b', 'c'] },
    ['removed t[] ["a",null]', 'removed t[] ["b",null]', 'added t[] [null,"c"]'],
  ],
  ['the order of values', ['a', 'b'], ['b', 'a'], ['order  [["a","b"],["b","a"]]']],
  ['lists in a list', [[1], [2]], [[1], [3]], ['removed [] [[2],null]', 'added [] [null,[3]]']],
])('%s', (_, old, next, expected) => {
  expect(changes(old, next)).toEqual(expected)
})

test('many elements are each read a few times', () => {
  let reads = 0
  const element = (id: number, x: string) => ({
    get id() {
      reads += 1
      return id
    },
    x,
  })
  const list = (from: number, x: string) =>
    Array.from({ length: 5000 }, (_, at) => element(Math.abs(from - at), x))

  expect(changes(list(0, 'a'), list(4999, 'b'))).toHaveLength(5001)
  expect(reads).toBeLessThan(20 * 10_000)
})

describe('the column that a field feeds is the one that changes with it', () => {
  const before = goldenRecord().content
  const photo = { id: 900, order: 5, hero: true, heroSource: 'first', angle: 'rear' }
  const line = { type: 'other', source: 'auction', cost: 77.5, value: 'seven' }

  test.each(
    Object.entries({
      ...{ VIN: 'JTMDFREV90D999999', FinalPrice: 1, Reconditioning: 2 },
      ...{ CreatedAt: '2026-01-02T03:04:05Z', CompletedAt: '2026-06-02T03:04:05Z' },
      ...{ Make: 'Saab', Model: '900', Variant: 'Turbo', Year: 1999, Odometer: 5, Colour: 'Pink' },
      ...{ Condition: 1, RegistrationState: 'WA', CustomerState: 'TAS', CustomerPostcode: '0001' },
    }),
  )('%s', (field, value) => {
    const { evaluation } = goldenRecord({ [field]: value }).content
    const changed = Object.keys(evaluation).filter(
      (column) =>
        JSON.stringify(evaluation[column as keyof typeof evaluation]) !==
        JSON.stringify(before.evaluation[column as keyof typeof evaluation]),
    )

    expect(changed.map((column) => `core.evaluation.${column}`)).toContain(columnFedBy(field, wire))
  })

  test.each(
    Object.entries({
      ...{ CustomerName: 'A B', CustomerPhone: '1', CustomerEmail: 'a@b.c', CustomerAddress: 'x' },
      ...{ CustomerSuburb: 'y', Notes: 'z', Registration: 'XYZ' },
    }),
  )('%s', (field, value) => {
    const { customer } = goldenRecord({ [field]: value }).content
    const changed = Object.entries(customer).filter(([, own]) => own === value)

    expect(changed.map(([column]) => `pii.evaluation_customer.${column}`)).toEqual([
      columnFedBy(field, wire),
    ])
  })

  test('fields of lists', () => {
    const { photos, recon } = goldenRecord({ Photos: [photo], reconditioning_list: [line] }).content

    const columns = (list: string, sent: object) =>
      Object.keys(sent).map((field) => columnFedBy(`${list}.${field}`, wire)!.split('.')[2]!)
    expect(
      columns('Photos', photo).map((column) => photos[0]![column as keyof (typeof photos)[0]]),
    ).toEqual(Object.values(photo))
    expect(
      columns('reconditioning_list', line).map(
        (column) => recon[0]![column as keyof (typeof recon)[0]],
      ),
    ).toEqual(['other', 'auction', '77.500', 'seven'])
  })

  test('a field that feeds none is in the payload alone', () => {
    expect(columnFedBy('Battery', wire)).toBeNull()
    expect(columnFedBy('Photos.small', wire)).toBeNull()
    expect(columnFedBy('constructor', wire)).toBeNull()
    expect(columnFedBy('', wire)).toBeNull()
  })
})

describe('a masked payload', () => {
  const person = {
    ...{
      CustomerName: 'Pat Planted',
      CustomerPhone: '0412 345 678',
      CustomerEmail: 'pat@planted.example',
    },
    ...{ Notes: 'rang twice', Registration: 'PAT001', CustomerPostcode: '3121' },
    customFields: { Hobby: { type: 'text', value: 'sailing' } },
    Battery: 'Pat Planted says it is new, call +61 412 345 678',
    More: { contact: 'someone@else.example', 'Pat Planted': 1, 'other@else.example': 2 },
  }
  const mask = (...bodies: unknown[]) =>
    maskPayloads(
      { people: evaluationPeople, id: 4711, wire },
      bodies.map((body) => ({ body, isRecord: true })),
    )

  test('names no customer, wherever the customer is named', () => {
    const text = JSON.stringify(mask(goldenBody(person)))

    for (const one of ['Pat', 'Planted', '412', 'rang twice', 'PAT001', 'sailing', '@else', '3121'])
      expect(text).not.toContain(one)
    expect(text).toContain('"FinalPrice"')
  })

  test('shows no text at a path that neither the documents nor the config name', () => {
    const unnamed = {
      ...{ Keeper: 'Pat Planted', Handset: 412345678, Remarks: ['Pat rang'], 'Pat P': 1 },
      ...{ Owner: { Street: '12 Station Street', Since: '2026-03-01T01:00:00Z', Region: 'VIC' } },
      UserPrices: [{ price: 21_000, currency: 'AUD', quotedTo: 'Pat Planted' }],
    }

    const text = JSON.stringify(mask(goldenBody(unnamed)))
    const [, answer] = maskPayloads({ people: evaluationPeople, id: 4711, wire }, [
      { body: goldenBody(unnamed), isRecord: true },
      { body: [{ ID: 'a-5', CreatedAt: 'noon', keeper: 'Pat Planted' }], isRecord: false },
    ])

    for (const one of ['Pat', '412', 'rang', 'Station']) expect(text).not.toContain(one)
    for (const one of ['"VIC"', '2026-03-01T01', '21000', '"AUD"', '"tyres"'])
      expect(text).toContain(one)
    expect(JSON.stringify(answer)).toBe('[{"ID":"a-5","CreatedAt":"noon","keeper":"hidden"}]')
  })

  test('hides what the config names by its position in a list, and keeps the list', () => {
    const evaluation = {
      ...wire.evaluation,
      ...{ customerName: 'Owners.0.Name', make: 'Cars.0.Make', customerPhone: 'Owners.3.Phone' },
    }
    const body = { Owners: [{ Name: 'Pat Planted', Since: 2 }], Cars: [{ Make: 'Holden' }] }

    const [shown] = maskPayloads(
      { people: evaluationPeople, id: 4711, wire: { ...wire, evaluation } },
      [{ body: goldenBody(body), isRecord: true }],
    )

    expect(JSON.stringify(shown)).toContain('"Owners":[{"Name":"hidden","Since":2}]')
    expect(JSON.stringify(shown)).toContain('"Cars":[{"Make":"Holden"}]')
  })

  test('shows no text at the name of a held column', () => {
    const body = goldenBody({ Variant: 'Pat Planted', Colour: 'Station Street', Make: 'Holden' })

    const shown = (held: HeldName[]) =>
      JSON.stringify(
        maskPayloads({ people: evaluationPeople, id: 4711, wire: { ...wire, held } }, [
          { body, isRecord: true },
        ]),
      )

    expect(shown([])).toContain('Pat Planted')
    expect(shown(['variant', 'colour'])).not.toMatch(/Pat|Station/)
    expect(shown(['variant', 'colour'])).toContain('"Holden"')
  })

  test('shows that a hidden value changed, and that another did not', () => {
    const [old, next] = mask(
      goldenBody(person),
      goldenBody({ ...person, CustomerName: 'Sam Other', Notes: null }),
    )

    const found = [...changesBetween(old, next)].map(
      ({ path, kind }) => `${kind} ${pathText(path)}`,
    )
    expect(found.sort()).toEqual(['changed [0].CustomerName', 'changed [0].Notes'])
  })

  test('of another answer names the customer of the record no more', () => {
    const [, answer] = maskPayloads({ people: evaluationPeople, id: 4711, wire }, [
      { body: goldenBody(person), isRecord: true },
      { body: [{ ID: 5, note: 'for Pat Planted', 'Pat Planted': 1 }], isRecord: false },
    ])

    expect(JSON.stringify(answer)).toBe('[{"ID":5,"note":"hidden","hidden":1}]')
  })
})
