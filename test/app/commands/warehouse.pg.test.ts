import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPool } from '#src/warehouse/db/connect.ts'
import { stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('the embedded Postgres is shown, started by url, checked and stopped', async () => {
  await using folder = await temporaryFolder()
  const place = { cwd: folder.path }
  const ask = async (...args: string[]) => {
    const { stdout } = await runInProcess([...args, '--json'], place)
    return JSON.parse(stdout)
  }

  const before = await ask('warehouse', 'status')
  const untouched = !existsSync(join(folder.path, '.forecourt'))
  try {
    const { stdout: url } = await runInProcess(['warehouse', 'url'], place)
    const pool = await openPool(url.trim(), { applicationName: 'test' })
    await pool.end()

    expect(before).toMatchObject({ initialised: false, running: false })
    expect(untouched).toBe(true)
    expect(url).toMatch(/^postgres:\/\/forecourt:\S+@127\.0\.0\.1:\d+\/forecourt\n$/)
    expect(await ask('warehouse', 'start')).toMatchObject({ running: true, started: false })
    expect((await ask('check')).checks[1]).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^Postgres 18\S*, embedded, runs on 127\.0\.0\.1:\d+$/),
    })
    expect(await ask('warehouse', 'stop')).toEqual({ running: false, stopped: true })
    expect(await ask('warehouse', 'stop')).toEqual({ running: false, stopped: false })
    expect(await ask('warehouse', 'status')).toMatchObject({ initialised: true, running: false })
  } finally {
    await stopEmbedded(join(folder.path, '.forecourt', 'postgres'))
  }
})

test.for(['start', 'stop', 'url', 'status'])(
  'warehouse %s is refused when another Postgres is configured',
  async (action) => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'forecourt.yaml')
    await writeFile(file, 'warehouse: { url: "postgres://u:secret-word@h/d" }\n')

    const result = await runInProcess(['warehouse', action], { cwd: folder.path })

    expect(result).toEqual({
      code: 2,
      stdout: '',
      stderr: `warehouse.url is set in ${file}, and this command is only for the embedded Postgres: take warehouse.url out to use that, or connect with the url itself.\n`,
    })
  },
)
