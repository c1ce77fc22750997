import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { inboxCrashPoints } from '#src/stock/folders/crash-points.ts'
import { caseCount, someOf } from '../../support/cases.ts'
import { aVehicle } from '../import-fixture.ts'
import { dropAll, dropDifferences, droppedFiles } from './dropped-files.ts'
import { openWatchFixture } from './watch-fixture.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const points = [...inboxCrashPoints, 'rows-written', 'before-commit']

test('a process that is killed again and again takes no file again and loses none', async () => {
  await using fixture = await openWatchFixture()
  const files = droppedFiles(caseCount(30, 15))
  await dropAll(fixture.folder, files)
  const killed = someOf([...new Set(['inbox-moved', 'inbox-taken', ...points])], 2)

  for (const [at, point] of killed.entries()) {
    const crash = { FORECOURT_CRASH_AT: `${point}:${1 + (at % 2)}` }
    const { signal, stderr } = await fixture.start(['stock', 'watch', '--once'], crash).ended
    expect(signal, `${point} was never passed: ${stderr}`).toBe('SIGKILL')
  }
  const { code } = await fixture.run(['stock', 'watch', '--once', '--json'])

  expect(code).toBe(1)
  expect(await dropDifferences(fixture.pool, fixture.folder, files)).toEqual([])
})

/** A list of five cars whose columns are not certain. */
function doubtful(of: number): string {
  const rows = [1, 2, 3, 4, 5].map((at) => {
    return `C${of}${at}45,${aVehicle(of * 10 + at).vin},Toyota,Corolla,2019,45000,2100${at}.50`
  })
  return [`Code,VIN,Make,Model,Year,Odometer (km),Amount ${of}`, ...rows, ''].join('\r\n')
}

test('a refused file waits in the console once, at whichever point its process is killed, and its report opens it', {
  tags: 'ci',
}, async () => {
  const console = {
    publicUrl: 'https://forecourt.example.com',
    people: [{ email: 'kim@example.com', role: 'engineer' as const }],
  }
  await using fixture = await openWatchFixture(undefined, { console })
  const names = ['a.csv', 'b.csv', 'c.csv', 'd.csv']
  for (const [at, name] of names.entries())
    await writeFile(join(fixture.folder, name), doubtful(at + 1))

  for (const point of ['offer-stored', 'inbox-offered', 'inbox-reported', 'inbox-moved']) {
    const crash = { FORECOURT_CRASH_AT: `${point}:1` }
    const { signal, stderr } = await fixture.start(['stock', 'watch', '--once'], crash).ended
    expect(signal, `${point} was never passed: ${stderr}`).toBe('SIGKILL')
  }
  await fixture.run(['stock', 'watch', '--once'])

  const { rows } = await fixture.pool.query<{ id: string; name: string; text: string }>(
    `select upload_id as id, file_name as name, convert_from(content, 'UTF8') as text from ops.stock_upload
     where result ->> 'state' = 'columns' order by 2`,
  )
  const failed = join(fixture.folder, 'failed')
  const reports = (await readdir(failed)).filter((name) => name.endsWith('.report.txt')).sort()
  const opened = await Promise.all(
    reports.map(async (name) => {
      const text = await readFile(join(failed, name), 'utf8')
      return /stock\/upload\/([0-9a-f-]{36})\/mapping/.exec(text)?.[1]
    }),
  )
  expect(rows.map(({ name, text }) => [name, text])).toEqual(
    names.map((name, at) => [name, doubtful(at + 1)]),
  )
  expect(opened).toEqual(rows.map(({ id }) => id))
  expect(await fixture.pool.query('select from ops.stock_upload')).toHaveProperty('rowCount', 4)
})
