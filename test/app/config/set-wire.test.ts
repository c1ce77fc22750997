import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '#src/app/config/read.ts'
import { changedLines, UneditableText, withWireValues } from '#src/app/config/set-wire.ts'
import { configText } from '#src/app/config/template.ts'

const make = { setting: 'appraisal.evaluation.make', value: 'Marque', reason: '8 of 8, 2026-11-26' }
const id = { setting: 'appraisal.evalList.id', value: 'ref', reason: '3 ids, 2026-11-26' }
const items = { setting: 'appraisal.evalList.items', value: '', reason: '3 ids, 2026-11-26' }

const diff = (text: string, ...values: Parameters<typeof withWireValues>[1]) =>
  changedLines(text, withWireValues(text, values))

test('the file that init writes gets its settings below wire; every other line stays', () => {
  const text = configText(null)

  const after = withWireValues(text, [make, id, items])

  expect(changedLines(text, after)).toMatchInlineSnapshot(`
    [
      "+     evalList:",
      "+       # items: 3 ids, 2026-11-26 (forecourt wire)",
      "+       items: """,
      "+       # id: 3 ids, 2026-11-26 (forecourt wire)",
      "+       id: "ref"",
      "+     evaluation:",
      "+       # make: 8 of 8, 2026-11-26 (forecourt wire)",
      "+       make: "Marque"",
    ]
  `)
  const { wire } = parseConfig(after, '/x/forecourt.yaml', { variables: {}, cwd: '/x' })
  expect([wire.appraisal.evaluation.make, wire.appraisal.evalList]).toMatchObject([
    'Marque',
    { id: 'ref', items: '' },
  ])
})

test.each([
  ['in lines', 'wire:\n  appraisal:\n    evaluation:\n      model: Range\n'],
  ['in a flow', 'wire: { appraisal: { evaluation: { model: Range } } }\n'],
])('what is written %s is not what a person has decided, until its comment is gone', (_, text) => {
  const decided = (of: string) => [
    ...parseConfig(of, '/x/forecourt.yaml', { variables: {}, cwd: '/x' }).wireInFile,
  ]
  const written = withWireValues(text, [make, id])

  const own = 'appraisal.evaluation.model'
  expect(decided(text)).toEqual([own])
  expect(decided(written)).toEqual([own])
  expect(decided(written.replaceAll(/^ *#.*\n/gm, '')).toSorted()).toEqual([
    ...['appraisal.evalList.id', 'appraisal.evaluation.make', own],
  ])
})

test('a file without wire, and an empty one, get it at the end', () => {
  expect(withWireValues('a: 1 # one', [make])).toMatchInlineSnapshot(`
    "a: 1 # one
    wire:
      appraisal:
        evaluation:
          # make: 8 of 8, 2026-11-26 (forecourt wire)
          make: "Marque"
    "
  `)
  expect(withWireValues('', [make])).toBe(
    withWireValues('# only a comment\n', [make]).replace('# only a comment\n', ''),
  )
})

test('groups, values, lists and flow style that are there are changed in their place', () => {
  const text = [
    '# top',
    'wire: # names',
    '    # of the service',
    '    appraisal: # its first part',
    '        evaluation:',
    '            # the maker',
    '            make: [Brand, Make]   # by phone',
    '            model: Model',
    '        evalList: { id: EvalID } # flow',
    `keys: { a: { value: "\${KEY:-x}", kind: partner, region: AU } }`,
    '',
  ].join('\n')

  expect(
    diff(text, make, id, items, { ...make, setting: 'appraisal.watch.checks' }),
  ).toMatchInlineSnapshot(`
    [
      "+         watch:",
      "+           # checks: 8 of 8, 2026-11-26 (forecourt wire)",
      "+           checks: "Marque"",
      "-             make: [Brand, Make]   # by phone",
      "+             # make: 8 of 8, 2026-11-26 (forecourt wire)",
      "+             make: "Marque"   # by phone",
      "-         evalList: { id: EvalID } # flow",
      "+         # id: 3 ids, 2026-11-26 (forecourt wire)",
      "+         # items: 3 ids, 2026-11-26 (forecourt wire)",
      "+         evalList: { items: "", id: "ref" } # flow",
    ]
  `)
})

test('several paths are a list, in place of one path, of a list, and in flow style', () => {
  const several = { ...make, value: ['Vehicle.Make', 'Make'] }

  for (const text of [
    'a: 1\n',
    'wire:\n  appraisal:\n    evaluation:\n      make: Make\n',
    'wire:\n  appraisal:\n    evaluation:\n      make: [Brand, Make]\n',
    'wire: { appraisal: { evaluation: { make: Make, model: M } } }\n',
  ]) {
    const after = withWireValues(text, [several])
    expect(parse(after).wire.appraisal.evaluation.make).toEqual(['Vehicle.Make', 'Make'])
    expect(withWireValues(after, [several])).toBe(after)
  }
})

test('a second time replaces value and reason, and adds no line', () => {
  const text = withWireValues('wire:\n  appraisal: { evalList: { id: x, items: y } }\n', [
    make,
    id,
    items,
  ])
  const later = [make, id, items].map((one) => ({
    ...one,
    value: `${one.value}2`,
    reason: 'later',
  }))

  const after = withWireValues(text, later)

  expect(after.split('\n').length).toBe(text.split('\n').length)
  expect(after).not.toContain('2026-11-26')
  expect(withWireValues(after, later)).toBe(after)
})

test('CRLF stays', () => {
  const after = withWireValues(
    'a: 1\r\nwire:\r\n  appraisal:\r\n    evaluation:\r\n      make: x\r\n',
    [make, id],
  )

  expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
})

test.for([
  ['an alias', 'b: &one { make: x }\nwire: { appraisal: { evaluation: *one } }\n'],
  ['an anchor', 'wire:\n  appraisal: &one\n    evaluation: { make: x }\nother: *one\n'],
  [
    'a comment inside of a value',
    'wire:\n  appraisal:\n    evaluation:\n      make:\n        - a # one\n        - b\n',
  ],
  ['a text in place of a group', 'wire: none\n'],
  ['no YAML', 'wire: [\n'],
  ['an end of the document', 'a: 1\n...\n'],
] as const)('%s is refused whole', ([, text]) => {
  expect(() => withWireValues(text, [id, make])).toThrow(UneditableText)
})
