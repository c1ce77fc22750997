import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { clockLibrary, offsetOf, shifted } from '../app/scheduler/schedule-fixture.ts'
import { slowSyncWorld, startSlowSync } from '../crash/slow-sync.ts'
import { someOf } from '../support/cases.ts'
import { type ChildFixture, openChildFixture } from '../support/child-fixture.ts'
import { provedWindows } from '../support/proved-windows.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

let fixture: ChildFixture
let truth: Content

beforeAll(async () => {
  fixture = await openChildFixture(slowSyncWorld)
  await using warehouse = await fixture.warehouse()
  expect((await warehouse.run(['sync'])).code).toBe(0)
  truth = await readContent(warehouse.database.pool)
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

for (const aheadSeconds of someOf([90, -90], 0))
  test(`a sync whose clock is ${aheadSeconds} s off loads what any other loads`, async () => {
    await using warehouse = await fixture.warehouse()
    const { env = {}, node = [] } = shifted({ aheadSeconds })
    const options = node.length > 0 ? { NODE_OPTIONS: node.join(' ') } : {}

    const { code, stderr } = await warehouse.run(['sync'], { ...env, ...options })

    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(contentDifferences(truth, await readContent(warehouse.database.pool))).toEqual([])
    expect(await provedWindows(warehouse.database.pool, fixture)).toBeGreaterThan(20)
  })

// Only libfaketime can move the clock of a running process.
test.skipIf(clockLibrary === undefined)(
  'a sync whose clock jumps back by three minutes in the middle goes on as if nothing had happened',
  async () => {
    await using warehouse = await fixture.warehouse()
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'offset')
    await writeFile(file, `${offsetOf(90)}\n`)
    const { env = {} } = shifted({ aheadSeconds: 90 })
    const { FAKETIME: _, ...others } = env as Record<string, string>
    const moving = { ...others, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }
    const { child, hurry } = await startSlowSync(fixture, warehouse, moving)

    await writeFile(file, `${offsetOf(-90)}\n`)
    hurry()
    const { code, stderr } = await child.ended

    expect({ code, stderr }).toMatchObject({ code: 0 })
    const found = contentDifferences(truth, await readContent(warehouse.database.pool))
    // A watch that was read before the jump seems to be read in the future, and may be read again, which is free.
    expect(found.filter((difference) => !difference.includes('"ppsrwatch"'))).toEqual([])
  },
)
