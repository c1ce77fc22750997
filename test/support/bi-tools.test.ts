import { expect, test } from 'vitest'
import { skipReason, type Tool, toolPackages } from '../bi/tools.ts'

test('a tool that is missing says which packages it lacks, and how to install these alone', () => {
  const tools = Object.keys(toolPackages) as Tool[]

  expect(tools.map((tool) => skipReason(tool, () => true))).toEqual(tools.map(() => null))
  expect(skipReason('ODBC', (name) => name === 'unixodbc')).toBe(
    'ODBC lacks odbc-postgresql python3-pyodbc; on Debian, as root: apt-get install --no-install-recommends odbc-postgresql python3-pyodbc',
  )
  for (const tool of tools)
    expect(skipReason(tool, () => false)).toContain(toolPackages[tool].join(' '))
})
