import { spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { now, smallWorld } from './sync-fixture.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const [, cronCommand] = /^30 1 \* \* \* +(cd .*)$/m.exec(
  readFileSync(join(root, 'README.md'), 'utf8'),
)!

/** Runs a line as cron does: a shell without the environment of a person. */
async function asCron(line: string): Promise<{ code: number; stderr: string }> {
  const child = spawn('env', ['-i', 'PATH=/usr/bin:/bin', '/bin/sh', '-c', line])
  const [stderr, code] = await Promise.all([
    text(child.stderr),
    new Promise<number>((done) => child.on('close', (ended) => done(ended ?? -1))),
  ])
  return { code, stderr }
}

test('the cron line of the README takes its variables from .env, where cron has none', async () => {
  const clock = new VirtualClock({ start: now, frozen: true })
  await using closing = new AsyncDisposableStack()
  const sandbox = await startSandbox({ clock, world: smallWorld() })
  closing.defer(async () => await sandbox.close())
  const database = closing.use(await createTestDatabase())
  const folder = closing.use(await temporaryFolder())
  for (const name of ['package.json', 'node_modules', 'src', 'jobs', 'sql'])
    symlinkSync(join(root, name), join(folder.path, name))
  const { keys = {}, ...config } = sandbox.clientConfig()
  const inFile = Object.entries(keys).map(([name, key], at) => ({
    ...{ name, variable: `KEY_${at}`, value: key.value },
    key: { ...key, value: `\${KEY_${at}}` },
  }))
  writeFileSync(
    join(folder.path, 'forecourt.yaml'),
    JSON.stringify({
      ...config,
      keys: Object.fromEntries(inFile.map(({ name, key }) => [name, key])),
      warehouse: { url: `\${DATABASE_URL}` },
      sync: { start: '2026-03-05' },
    }),
  )
  const line = cronCommand!.replace('/opt/forecourt', folder.path)

  const without = await asCron(line)
  writeFileSync(
    join(folder.path, '.env'),
    [
      `# What the config names`,
      `DATABASE_URL='${database.url}'`,
      ...inFile.map(({ variable, value }) => `${variable}=${value}`),
    ].join('\n'),
  )
  const withFile = await asCron(line)
  const other = await asCron(line.replace('node_modules/', 'DATABASE_URL=nonsense node_modules/'))

  expect(without.code).toBe(2)
  expect(without.stderr).toContain('DATABASE_URL, which is not set: set it or add it to .env')
  expect(withFile).toEqual({ code: 0, stderr: '' })
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int as count from core.evaluation',
  )
  expect(rows[0]!.count).toBeGreaterThan(0)
  // The environment goes before the file.
  expect(other.code).toBe(2)
})
