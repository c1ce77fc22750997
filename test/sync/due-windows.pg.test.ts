import type pg from 'pg'
import { expect, test } from 'vitest'
import { type SeededRandom, seededRandom } from '#src/sandbox/seeded-random.ts'
import type { Run } from '#src/sync/run/run-ledger.ts'
import { countDue, dueWindows } from '#src/sync/windows/due-windows.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { caseCount } from '../support/cases.ts'
import { allDueWindows } from '../support/due-reference.ts'
import { createTestDatabase } from '../support/postgres.ts'

// Random histories of windows. The windows that are found by index must be those that are found among all certificates.

const hour = 3600
const day = 24 * hour
const sourceStart = Math.floor(Date.parse('2026-03-10T02:00:00Z') / 1000)
const stream = 'evaluations'
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()

/** Windows one after another up to the start of the run or a little less or more, some left out, each with a listing. */
function drawCertificates(random: SeededRandom) {
  let until = sourceStart + random.pick([0, 0, -5 * hour, -3 * day, 2 * hour])
  return Array.from({ length: random.int(0, 60) }, () => {
    const length = random.pick([hour, 12 * hour, day, day, day, 7 * day, 31 * day])
    const window = { from: until - length, until }
    until = window.from - random.pick([0, 0, 0, 0, 0, 0, 0, hour, 40 * day])
    const nights = random.pick([0, 0.1, 0.9, 1, 2, 6, 7, 8, 27, 28, 29, 60])
    const listedAt = Math.max(window.until, sourceStart - Math.round(nights * day))
    return {
      ...{ rooftop_id: 1, stream, window_from: iso(window.from), window_until: iso(window.until) },
      ...{ listed_at: iso(listedAt), reread_at: iso(listedAt), listed: 0, loaded: 0, vanished: 0 },
      ...{ quarantined: random.pick([0, 0, 0, 0, 0, 1]), ids_digest: '\\x00', proof: 'plain' },
      ...{ settled: random.chance(0.9), run_id: random.pick([1, 2, 2, 2]), malformed: 0 },
      relist_nights: random.pick([7, 28, 28, 28, 365]),
    }
  })
}

/** What the settled windows cover, without what was taken out since; some certificates are deleted, and that was verified. */
async function plant(pool: pg.Pool, random: SeededRandom): Promise<void> {
  await pool.query('truncate ops.window_certificate, ops.coverage')
  await pool.query(
    `insert into ops.window_certificate select * from json_populate_recordset(null::ops.window_certificate, $1)`,
    [JSON.stringify(drawCertificates(random))],
  )
  const outs = Array.from({ length: random.int(0, 3) }, () => {
    const from = sourceStart - random.int(0, 400 * 24) * hour
    return `[${iso(from)},${iso(from + random.pick([hour, day, 9 * day]))})`
  })
  if (random.chance(0.9))
    await pool.query(
      `insert into ops.coverage (rooftop_id, stream, covered)
       select 1, 'evaluations', coalesce(range_agg(tstzrange(window_from, window_until)), '{}') - $1::tstzmultirange
       from ops.window_certificate where settled`,
      [`{${outs.join(',')}}`],
    )
  if (random.chance(0.3))
    await pool.query(
      'delete from ops.window_certificate where mod(abs(hashtext(window_from::text)), 9) = $1',
      [random.int(0, 8)],
    )
  await pool.query(
    `update ops.coverage set uncertified = covered - coalesce((
       select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where settled), '{}')`,
  )
}

function drawRun(random: SeededRandom): Run {
  const mode = random.pick(['sync', 'sync', 'backfill'] as const)
  return {
    ...{
      runId: 1,
      command: mode,
      mode,
      lane: 'foreground',
      status: 'running',
      startedAt: new Date(),
    },
    ...{ from: sourceStart - random.pick([0, 10, 100, 1000]) * day, sourceStart },
    until: random.pick([null, null, sourceStart - 5 * day]),
    relists: mode === 'backfill' && random.chance(0.3),
  }
}

test('the windows that are found by index are those that are found among all certificates', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const db = openDb(pool)
  const found = { gap: 0, recheck: 0, deep: 0 }
  const first = Number(process.env['FORECOURT_SEED'] ?? 1)
  for (let seed = first; seed < first + caseCount(800, 150); seed++) {
    const random = seededRandom(seed, 'windows')
    await plant(pool, random)
    const run = drawRun(random)
    const sync = {
      ...{ start: new Date(run.from * 1000), settleDays: 3, rereadBudget: 5000 },
      windowHours: random.pick([24, 168, 744]),
      recheckDays: random.pick([0, 2.5, 60]),
      deepRelistNights: random.pick([1, 7, 28, 28]),
    }
    const due = await dueWindows(db, { rooftopId: 1, stream, run }, sync, 100_000)
    const some = await dueWindows(db, { rooftopId: 1, stream, run }, sync, 3)
    const count = await countDue(db, { rooftopIds: [1], stream, run }, sync)

    const all = await allDueWindows(db, { rooftopId: 1, stream, run }, sync)
    const about = `FORECOURT_SEED=${seed}`
    const sorted = (windows: typeof all) =>
      windows.toSorted((a, b) => b.from - a.from || a.reason.localeCompare(b.reason))
    expect(sorted(due), about).toEqual(sorted(all))
    for (const reason of ['gap', 'recheck', 'deep'] as const)
      found[reason] += all.filter((window) => window.reason === reason).length
    const gaps = all.filter(({ reason }) => reason === 'gap')
    const others = sorted(all.filter(({ reason }) => reason !== 'gap'))
    const newest = sorted(some).filter(({ reason }) => reason !== 'gap')
    expect(
      sorted(some).filter(({ reason }) => reason === 'gap'),
      about,
    ).toEqual(gaps.slice(0, 3))
    expect(newest, about).toEqual(others.slice(0, newest.length))
    expect(newest.length, about).toBeGreaterThanOrEqual(Math.min(3, others.length))
    expect(count.get(1), about).toBeGreaterThanOrEqual(Math.min(1, all.length))
  }
  for (const count of Object.values(found)) expect(count).toBeGreaterThan(100)
})
