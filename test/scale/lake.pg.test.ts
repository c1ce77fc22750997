import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LakeReport } from '#src/warehouse/lake/export-lake.ts'
import { type Child, startForecourt } from '../support/child.ts'
import { differences } from '../warehouse/lake/compare.ts'
import { readDelta } from '../warehouse/lake/delta.ts'
import { openDuckDb } from '../warehouse/lake/duckdb.ts'
import { openLakeFixture, shared } from '../warehouse/lake/lake-fixture.ts'
import { evaluations } from './fill/step.ts'
import { openScale } from './scale-fixture.ts'

/** The most memory that the process has had, in MB; 0 once it has ended. */
async function peakOf({ pid }: Child): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}

async function measured(cwd: string, env: Readonly<Record<string, string>> = {}) {
  const startedAt = performance.now()
  const args = ['--config', join(cwd, 'forecourt.yaml'), 'lake', 'export', '--json']
  const child = startForecourt(args, { cwd, env })
  let peak = 0
  const watch = setInterval(async () => {
    peak = Math.max(peak, await peakOf(child))
  }, 200)
  const { code, signal, stdout, stderr } = await child.ended
  clearInterval(watch)
  const seconds = (performance.now() - startedAt) / 1000
  console.log(`Export: ${seconds.toFixed(0)} s, at most ${peak.toFixed(0)} MB\n${stdout}`)
  if (env['FORECOURT_CRASH_AT'] !== undefined) expect([signal, stderr]).toEqual(['SIGKILL', ''])
  else expect([code, stderr]).toEqual([0, ''])
  return { peak, report: stdout === '' ? null : (JSON.parse(stdout) as LakeReport) }
}

/** Views about the time of the query: the comparison takes some minutes. */
const changesByTheMinute = /^mart\."(watch_expiry|webhook_latency)" /

test('a million evaluations are exported in bounded memory, through a kill, and the next export writes little', async () => {
  await using page = await openScale()
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 }, shared(page.fixture))
  await using duck = await openDuckDb()
  const { pool } = page.fixture.database

  const killed = await measured(lake.folder, { FORECOURT_CRASH_AT: 'lake-file-stored:100' })
  const first = await measured(lake.folder)
  const next = await measured(lake.folder)
  // A usual night: new evaluations, and edits of the last days.
  await pool.query(
    `update core.evaluation set final_price = final_price + 1 where completed_date_local > current_date - 3`,
  )
  const night = await measured(lake.folder)

  const facts = await readDelta(duck, lake.lake, 'fact_evaluation')
  expect(facts.rows).toBeGreaterThanOrEqual(evaluations)
  const found = await differences(pool, duck, lake.lake)
  expect(found.filter((line) => !changesByTheMinute.test(line))).toEqual([])
  expect(first.report!.files.removed).toBeGreaterThan(50)
  expect(next.report!.files.written).toBeLessThan(next.report!.files.unchanged / 10)
  expect(night.report!.files.unchanged).toBeGreaterThan(first.report!.files.written / 2)
  for (const { peak } of [killed, first, next, night]) expect(peak).toBeLessThan(400)
})
