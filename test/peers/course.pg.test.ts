import { expect, onTestFinished, test } from 'vitest'
import { startProcess } from '../bench/processes/bench-process.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { Run } from './course.ts'
import { measure } from './measure.ts'
import { findPeers } from './peers.ts'

const plan = { rooftops: 2, evaluations: 20, days: 2, keys: 'one', nights: 1 } as const

/** A peer before its first night. */
async function openRun(name: string): Promise<Run> {
  const stack = new AsyncDisposableStack()
  onTestFinished(() => stack.disposeAsync())
  const peer = (await findPeers([name]))[0]!
  const { url, pool } = stack.use(await createTestDatabase())
  const { path: state } = stack.use(await temporaryFolder())
  const source = stack.use(startProcess('../../peers/source-process.ts', Number.MAX_SAFE_INTEGER))
  const run = new Run({ source, peer, plan, database: url, pool, state })
  await run.open(0)
  return run
}

test('Forecourt loads what the source has', async () => {
  const run = await openRun('forecourt')

  const { exit, requests, memoryMb, postgres } = await run.night()

  expect(exit).toBe(0)
  expect(requests['/geteval 200']).toBe(20)
  expect(memoryMb).toBeGreaterThan(20)
  expect(postgres.inserted).toBeGreaterThan(20)
  expect(await run.compare()).toEqual({ missing: 0, extra: 0, stale: 0, doubled: 0, examples: [] })
})

test('a row that is deleted, changed, doubled or of no evaluation is found in what the script loaded', async () => {
  const run = await openRun('script')
  const { exit, requests } = await run.night()
  expect([exit, requests['/geteval 200']]).toEqual([0, 20])
  expect(await run.compare()).toEqual({ missing: 0, extra: 0, stale: 0, doubled: 0, examples: [] })

  await run.pool.query(`
    alter table evaluation drop constraint evaluation_pkey;
    delete from evaluation where eval_id = 1000003;
    update evaluation set doc = doc || '{"FinalPrice": 1}' where eval_id = 1000006;
    insert into evaluation (eval_id, dealer, doc) select eval_id, dealer, doc from evaluation where eval_id = 1000009;
    insert into evaluation (eval_id, dealer, doc) select 7, dealer, doc from evaluation where eval_id = 1000012;
    update evaluation set dealer = 'rooftop-2' where eval_id = 1000018`)

  expect(await run.compare()).toEqual({
    ...{ missing: 2, extra: 2, stale: 1, doubled: 1 },
    examples: [
      'missing: rooftop-2 1000003',
      'missing: rooftop-1 1000018',
      'extra: rooftop-1 7',
      'extra: rooftop-2 1000018',
      'stale: rooftop-1 1000006 FinalPrice 1 instead of 15006',
      'doubled: rooftop-2 1000009',
    ],
  })
})

test('the second command after a kill loads the rest', async () => {
  const run = await openRun('script')

  const killed = await run.night({ killAfter: 9 })
  expect([killed.exit, killed.cpuSeconds]).toEqual([137, null])
  expect((await run.compare()).missing).toBeGreaterThan(0)
  expect((await run.night()).exit).toBe(0)
  expect(await run.compare()).toMatchObject({ missing: 0, doubled: 0 })
})

test('memory and CPU are those of all processes that a command starts', async () => {
  const child = `const held = Buffer.alloc(150e6, 1); for (const end = Date.now() + 1000; Date.now() < end;); held.fill(2)`
  const parent = `require('node:child_process').spawnSync(process.execPath, ['-e', '${child}']); process.exit(4)`
  const words = [process.execPath, '-e', parent]

  const { exit, memoryMb, cpuSeconds } = await measure({ words, cwd: '/', env: {} })

  expect(exit).toBe(4)
  expect(memoryMb).toBeGreaterThan(150)
  expect(cpuSeconds).toBeGreaterThan(0.1)
})
