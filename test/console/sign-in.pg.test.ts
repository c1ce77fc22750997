import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

let console: ConsoleFixture

beforeAll(async () => {
  console = await openConsole()
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

test('a link signs its person in', async () => {
  const { status, title, text } = await console.get('/', { role: 'viewer' })

  expect({ status, title }).toEqual({ status: 200, title: 'Morning' })
  expect(text).toContain('vic@example.com, viewer.')
})
