import { expect, test } from 'vitest'
import { buildPatterns } from '#src/privacy/erase/pattern.ts'
import { phoneKey, phonesIn } from '#src/privacy/screen/phone.ts'
import { redactJson, redactText } from '#src/privacy/screen/redact.ts'
import { personTerms, plainTerms, termsForOwnEvaluation } from '#src/privacy/screen/search-terms.ts'

const noFields = {
  name: null,
  phone: null,
  email: null,
  address: null,
  suburb: null,
  plate: null,
}
const jane = {
  name: 'Jane O’Brien',
  phone: '0412 345 678',
  email: 'Jane.OBrien@Example.org',
  address: '12 Station St, Richmond VIC 3121',
  suburb: 'Richmond',
  plate: 'ABC 123',
}

test.each([
  ['0412 345 678', '412345678'],
  ['+61 412 345 678', '412345678'],
  ['61412345678', '412345678'],
  ['0061 (0)412-345-678', '412345678'],
  ['(02) 9876 5432', '298765432'],
  ['+1 (555) 123-4567', '5551234567'],
  ['1-555-123-4567', '5551234567'],
  ['614 123 4567', '6141234567'],
  ['971 555 1234', '9715551234'],
  ['+971 50 123 4567', '501234567'],
  ['050 123 4567', '501234567'],
  ['+965 1234 5678', '12345678'],
  ['12345', null],
  ['none', null],
])('the phone number %s is %s', (text, key) => {
  expect(phoneKey(text)).toBe(key)
})

test('phone numbers are found in a text, also next to each other', () => {
  const found = [...phonesIn('Ring 0412 345 678 0298765432 or +61 2 9876 5432.')].map(
    ({ key }) => key,
  )

  expect(found).toEqual(expect.arrayContaining(['412345678', '298765432']))
  expect([...phonesIn('EvalID 1001 of 2026-03-10')].length).toBe(1)
})

test.each([
  ['jane o brien called', '[erased] called'],
  ['O’BRIEN, JANE', '[erased]'],
  ["JANE O'BRIEN", '[erased]'],
  ['mail JANE.obrien@EXAMPLE.ORG.', 'mail [erased].'],
  ['https://x/?to=jane.obrien%40example.org', 'https://x/?to=[erased]'],
  ['at 12 station st now', 'at [erased] now'],
  ['tel:+61-412-345-678;', 'tel:[erased];'],
  ['12 Station Street', '12 Station Street'],
  ['Jane of Richmond', 'Jane of Richmond'],
  ['Brien Jane', 'Brien Jane'],
  ['xjane.obrien@example.org', 'xjane.obrien@example.org'],
])('in any text %s becomes %s', (text, expected) => {
  const terms = plainTerms(personTerms(jane))

  expect(redactText(text, terms)).toBe(expected)
  expect(redactText(redactText(text, terms), terms)).toBe(expected)
})

test("in the customer's own evaluation a first name, a suburb or a plate alone is enough", () => {
  const terms = plainTerms(termsForOwnEvaluation(jane))
  const body = {
    first: 'Jane',
    city: 'RICHMOND',
    note: 'Jane of Richmond',
    plate: 'abc123',
    tel: 412345678,
  }

  expect(redactJson(body, terms)).toEqual({
    first: '[erased]',
    city: '[erased]',
    note: 'Jane of Richmond',
    plate: '[erased]',
    tel: '[erased]',
  })
})

test.each([
  ['a first name alone', { ...noFields, name: 'Jane' }],
  ['a suburb', { ...noFields, suburb: 'Richmond' }],
  ['a short address', { ...noFields, address: 'Unit 5' }],
  ['an erased field', { ...noFields, name: '[erased 2]', address: '[erased]' }],
  ['a phone number that is none', { ...noFields, phone: 'n/a' }],
])('%s identifies no one outside', (_, person) => {
  expect(personTerms(person)).toEqual([])
})

test('accents and letter case do not hide a name', () => {
  const terms = plainTerms(personTerms({ ...noFields, name: 'Renée Müller' }))

  expect(redactText('RENEE MULLER or Rene\u0301e Müller', terms)).toBe('[erased] or [erased]')
})

test('a value without a search term is returned unchanged', () => {
  const body = { a: ['x', { b: 1 }], c: null }

  expect(redactJson(body, plainTerms(personTerms(jane)))).toBe(body)
})

function textPatternsOf(name: string): readonly string[] {
  return buildPatterns(personTerms({ ...noFields, name })).texts
}

/** As Postgres compares them: `lower` of the collation "C" knows ASCII alone. */
function isFound(patterns: readonly string[], text: string): boolean {
  const lowered = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  return patterns.some((pattern) => {
    const source = pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return new RegExp(`^${source.replaceAll('_', '.').replaceAll('%', '.*')}$`, 'su').test(lowered)
  })
}

test.each([
  ['محمد العلي', 'السيد محمد العلي هنا'],
  ['محمد العلي', String.raw`{"n":"\u0645\u062d\u0645\u062F \u0627\u0644\u0639\u0644\u064a"}`],
  ['أحمد الكعبي', 'احمد الكعبي'],
  ['Анна Петрова', 'ПЕТРОВА, АННА'],
  [
    'Анна Петрова',
    String.raw`"\u0410\u041D\u041d\u0410 \u041f\u0415\u0422\u0420\u041e\u0412\u0410"`,
  ],
  ['Renée Müller', 'RENEE MULLER'],
  ['Renée Müller', 'Rene\u0301e Mu\u0308ller'],
  ['Renée Müller', String.raw`Ren\u00e9e M\u00FCller`],
  ['Zoë Öz', 'ZOË ÖZ'],
  ['Zoë Öz', 'zoe oz'],
  ['Ng Li Wu', 'Wu Ng Li'],
])('the search for %s finds %s, and not every text', (name, text) => {
  const patterns = textPatternsOf(name)

  expect(isFound(patterns, text)).toBe(true)
  expect(isFound(patterns, '{"Make":"Toyota","note":"nothing of anybody, شركة, Москва"}')).toBe(
    false,
  )
})

test('every search pattern has at least three letters in a row', () => {
  const names = [
    'محمد العلي',
    'Анна Петрова',
    '王 小明',
    'Zoë Öz',
    'Ää Öö Üü',
    '欧阳 修远山',
    'ab cd e',
  ]
  const runs = names
    .flatMap(textPatternsOf)
    .map((pattern) => Math.max(...pattern.split('%').map((run) => run.length)))

  expect(Math.min(...runs)).toBeGreaterThanOrEqual(3)
})
