import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allCommands } from '#src/commands/all.ts'
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
