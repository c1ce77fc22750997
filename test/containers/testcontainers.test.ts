import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { runCommand } from './command.ts'
import { podman } from './engine.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const file = 'test/warehouse/db/connect.pg.test.ts'

test('tests take their Postgres from a container where an engine answers, and remove it', async () => {
  const engine = inject('engine')
  const { TEST_DATABASE_URL: _given, VITEST: _inner, ...rest } = process.env
  const command = ['npx', 'vitest', 'run', '--config', 'test/vitest.config.ts', file] as const

  const { code, stdout } = await runCommand([...command, '--no-color'], {
    cwd: root,
    env: { ...rest, ...engine.env },
  })

  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Tests use postgres:18 in a container'),
  })
  expect(stdout).toMatch(/Test Files {2}1 passed/)
  expect(await podman(engine, 'ps', '--all', '--quiet')).toBe('')
})
