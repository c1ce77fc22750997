import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  escapeFormula,
  isFormulaLike,
  unescapeFormula,
} from '#src/stock/csv/write/escape-formula.ts'
import { caseCount } from '../../../support/cases.ts'

const attacks = [
  '=1+1',
  '=HYPERLINK("http://evil.example","click")',
  "=cmd|' /C calc'!A0",
  "+cmd|' /C calc'!A0",
  "-2+3+cmd|' /C calc'!A0",
  '-2+3',
  '@SUM(1+1)*cmd',
  '=',
  '+',
  '@',
  ' =1+1',
  '   \t=1+1',
  '\u00A0=1+1',
  '\t=1+1',
  '\talmost harmless',
  '\r=1+1',
  '\n=1+1',
  '\0=1+1',
  '\0',
  '  \0x',
  '＝1+1',
  '＠SUM(1)',
  '=\r\n1',
  '+61 2 9999 0000',
  '-1+cmd',
  '--1',
  '-$500',
  '-A1',
  '=DDE("cmd";"/C calc")',
]
const innocent = [
  '',
  ' ',
  'Toyota',
  '-5',
  '+5',
  '-1,234.50',
  ' -12 %',
  '-',
  '- / -',
  '–',
  '--',
  '2019-05-01',
  'a=b',
  "'",
  "O'Neill",
  'me@example.com',
  '١٢٣',
  '\nsecond line',
]

test.each(attacks)('the cell %j becomes text and is restored', (cell) => {
  expect(escapeFormula(cell)).toBe(`'${cell}`)
  expect(isFormulaLike(escapeFormula(cell))).toBe(false)
  expect(unescapeFormula(escapeFormula(cell))).toBe(cell)
})

test.each(innocent)('the cell %j is not changed', (cell) => {
  expect(escapeFormula(cell)).toBe(cell)
  expect(unescapeFormula(cell)).toBe(cell)
})

test('an escaped cell is not a formula, and escaping twice changes nothing more', () => {
  const characters = fc.constantFrom(...'=+-@＝ \t\r\n\0\'"aZ5.,%;|(')
  const cells = fc.array(characters, { maxLength: 8 }).map((parts) => parts.join(''))

  fc.assert(
    fc.property(cells, (cell) => {
      const safe = escapeFormula(cell)
      const isGuardedAlready = unescapeFormula(cell) !== cell

      expect(isFormulaLike(safe)).toBe(false)
      expect(escapeFormula(safe)).toBe(safe)
      expect(isGuardedAlready || unescapeFormula(safe) === cell).toBe(true)
    }),
    { numRuns: caseCount(5000), seed: 5 },
  )
})
