import { expect, test, vi } from 'vitest'
import { inboxCrashPoints } from '#src/stock/inbox/crash-points.ts'
import { runsEveryCase, someOf } from '../support/cases.ts'
import { dropAll, dropDifferences, droppedFiles } from './dropped-files.ts'
import { openWatchFixture } from './watch-fixture.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const points = [...inboxCrashPoints, 'rows-written', 'before-commit']

test('a process that is killed again and again takes no file again and loses none', async () => {
  await using fixture = await openWatchFixture()
  const files = droppedFiles(runsEveryCase ? 60 : 20)
  await dropAll(fixture.folder, files)
  const killed = someOf(['inbox-moved', 'inbox-taken', 'before-commit', ...points], 3)

  for (const [at, point] of killed.entries()) {
    const crash = { FORECOURT_CRASH_AT: `${point}:${1 + (at % 2)}` }
    const { signal, stderr } = await fixture.start(['stock', 'watch', '--once'], crash).ended
    expect(signal, `${point} was never passed: ${stderr}`).toBe('SIGKILL')
  }
  const { code } = await fixture.run(['stock', 'watch', '--once', '--json'])

  expect(code).toBe(1)
  expect(await dropDifferences(fixture.pool, fixture.folder, files)).toEqual([])
})
