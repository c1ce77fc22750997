import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { matrix } from './matrix.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const rows = Object.entries(matrix)

/** Is there a test of this title in the file? What a title is given when it runs is left out of both. */
function hasTest(file: string, title: string): boolean {
  const path = `${root}/${file}`
  if (!existsSync(path)) return false
  const text = readFileSync(path, 'utf8').replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…')
  return ["'", '"', '`'].some((quote) => text.includes(quote + title + quote))
}

test('every fault of the matrix has a test, or a sentence that says why not', () => {
  expect(rows.map(([number]) => Number(number))).toEqual(rows.map((_, index) => index + 1))
  expect(rows).toHaveLength(27)
  expect(rows.filter(([, { tests, without }]) => tests.length === 0 && !without)).toEqual([])
})

test('every test that the matrix names is there', () => {
  const named = rows.flatMap(([, { tests }]) => tests)

  expect(named.length).toBeGreaterThan(80)
  expect(named.filter(([file, title]) => !hasTest(file, title))).toEqual([])
})

test('a test that is not there is missed', () => {
  expect(hasTest('test/faults/matrix.test.ts', 'a test that is not there is missed')).toBe(true)
  expect(hasTest('test/faults/matrix.test.ts', `${'a test'} that nobody wrote`)).toBe(false)
  expect(hasTest('test/faults/nowhere.test.ts', 'a test that is not there is missed')).toBe(false)
})
