import { expect, test } from 'vitest'
import { readList } from '#src/api/sources/appraisal/answers.ts'
import { errorText } from '#src/errors.ts'
import { openLog, scrubber } from '#src/log.ts'
import { buildPatterns } from '#src/privacy/erase/pattern.ts'
import { redactText } from '#src/privacy/screen/redact.ts'
import { personTerms, plainTerms, termsForOwnEvaluation } from '#src/privacy/screen/search-terms.ts'
import { escapeFormula, unescapeFormula } from '#src/stock/csv/write/escape-formula.ts'
import { bodyHash } from '#src/values/content-hash.ts'
import { parseInstant, parseUtc } from '#src/values/instant.ts'
import { runsEveryCase } from '../support/cases.ts'
import { hostileTexts } from './texts.ts'

// Each of these once took minutes for a text of 100 KB, or more memory than there is. Every third one in npm test.
const texts = hostileTexts.filter((_, at) => runsEveryCase || at % 3 === 0)

const jane = {
  name: 'Jane Citizen',
  phone: '0412 345 678',
  email: 'jane@example.org',
  address: '12 Station Street',
  suburb: 'Richmond',
  plate: 'JAN412',
}

test.each(texts)('a megabyte of %s is searched for a customer', (_, text) => {
  const terms = plainTerms(termsForOwnEvaluation(jane))

  expect(redactText(`${text} Jane Citizen`, terms)).toContain('[erased]')
})

test.each(texts)('a customer named by a megabyte of %s makes few search terms', (_, text) => {
  const person = {
    name: text,
    phone: text,
    email: text,
    address: text,
    suburb: text,
    plate: text,
  }
  const terms = termsForOwnEvaluation(person)

  expect(terms.length).toBeLessThan(5_000)
  expect(buildPatterns(personTerms(person)).texts.length).toBeLessThan(5_000)
})

test.each(texts)('a megabyte of %s is logged', (_, text) => {
  const lines: string[] = []
  const log = openLog({
    level: 'info',
    human: false,
    secrets: ['a secret'],
    write: (line) => void lines.push(line),
  })
  log.warn({ err: new Error(text), reason: text }, text)

  expect(lines).toHaveLength(1)
  expect(errorText(new Error(text)).length).toBeLessThanOrEqual(text.length)
})

test.each(texts)('a cell of a megabyte of %s is written for a spreadsheet', (_, text) => {
  for (const cell of [text, `=${text}`, `- ${text}`])
    expect(unescapeFormula(escapeFormula(cell))).toBe(unescapeFormula(cell))
})

test.each(texts)('a body with a megabyte of %s is hashed', (_, text) => {
  expect(bodyHash(JSON.stringify([text]))).toHaveLength(32)
})

test.each(texts)('a list item with a megabyte of %s is read', (_, text) => {
  const wire = { items: '', id: 'EvalID', updatedAt: 'UpdatedAt' } as const
  const context = { where: '/getevallist', details: {}, secrets: [] }
  const body = [{ EvalID: 1, UpdatedAt: text }, { EvalID: text }, { EvalID: 2 }]
  const { items, malformed } = readList(body, wire, context)

  expect([items.length, malformed.length]).toEqual([2, 1])
  expect([parseInstant(text), parseUtc(text)]).toEqual([null, null])
})

test('a link loses its query in the log, and one without a query is as it was', () => {
  const hide = scrubber([])

  expect(hide('http://a/b?c=d and https://e/f? "http://g"')).toBe(
    'http://a/b?[hidden] and https://e/f? "http://g"',
  )
})
