import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allCommands } from '#src/commands/all.ts'
import { findOperation } from '#src/contract/operations.ts'
import { withParts } from './support/readme-parts.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test('the README names every command, with its arguments, and no other', () => {
  const table = readme.slice(readme.indexOf('| command | does |'), readme.indexOf('Exit codes:'))
  const named = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map((row) => row[1])

  expect(named).toEqual(allCommands.map(({ usage }) => usage))
})

test('the README lists every wire setting with its default: run "npm run readme" when it does not', () => {
  expect(withParts(readme)).toBe(readme)
})

test('the README opens with the two commands that do all the set-up', () => {
  expect(readme).toContain('npm ci && npm run demo')
  expect(readme).toContain('npm ci && npm test')
})

test('every call of an operation that the README shows has the flags that it names', () => {
  const calls = [...readme.matchAll(/^(?:forecourt|npm run -s forecourt --) api (\S+)(.*)$/gm)]

  expect(calls.length).toBeGreaterThan(10)
  for (const [line, name, flags] of calls) {
    const operation = findOperation(name!)
    const known = [...Object.keys(operation?.fields.shape ?? {}), 'rooftop', 'yes', 'file', 'wait']
    const used = [...flags!.replace(/#.*/, '').matchAll(/--\w+/g)].map(([flag]) => flag)
    expect({ line, unknown: used.filter((flag) => !known.includes(flag.slice(2))) }).toEqual({
      line,
      unknown: [],
    })
    expect({ line, isAllowed: used.includes('--yes') }).toEqual({
      line,
      isAllowed: operation?.effect !== 'read',
    })
  }
})
