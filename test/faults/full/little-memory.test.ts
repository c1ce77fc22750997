import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { FakeSource, json, type Received } from '../../api/sources/fake-source.ts'
import { startForecourt } from '../../support/child.ts'
import { goldenBody } from '../../support/golden-evaluation.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const count = 5_000
const begin = Date.UTC(2026, 2, 1) / 1000

/** The requests that the source got. */
interface Asked {
  readonly evalid: number
  readonly startdate: number
  readonly enddate: number
}

/** One evaluation per second from `begin` on; a window over all of them lists all at once. */
function answer({ path, body }: Received): unknown {
  const asked = JSON.parse(body || '{}') as Asked
  if (path.endsWith('/geteval')) {
    const at = new Date((begin + asked.evalid) * 1000).toISOString()
    const times = { CreatedAt: at, EntryDate: at, CompletedAt: at, UpdatedAt: at }
    return goldenBody({ EvalID: asked.evalid, ...times })
  }
  if (!path.endsWith('/getevallist')) return []
  // Both bounds are exclusive.
  const first = Math.max(1, asked.startdate - begin + 1)
  const last = Math.min(count, asked.enddate - begin - 1)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, nth) => ({
    EvalID: first + nth,
  }))
}

function configOf(source: FakeSource, url: string): ConfigInput {
  return {
    appraisal: { baseUrl: source.baseUrl },
    warehouse: { url },
    keys: { au: { value: 'a-key-of-the-tests', kind: 'partner', region: 'AU' } },
    rooftops: [
      {
        ...{ uid: 'rooftop-1', name: 'Northside', dealerId: 101, key: 'au', region: 'AU' },
        ...{ timezone: 'Australia/Sydney', currency: 'AUD' },
      },
    ],
    sync: { start: '2026-03-01', windowHours: 744 },
  }
}

test('a list of 5,000 evaluations is read by a process with little memory', async () => {
  let longest = 0
  await using source = await FakeSource.start((response, received) => {
    const sent = answer(received)
    longest = Math.max(longest, (sent as unknown[]).length)
    // The log of this many requests would use memory too.
    source.received.length = 0
    json(response, sent)
  })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify(configOf(source, database.url)))
  const range = ['--from', '2026-03-01', '--to', '2026-03-20']
  const child = startForecourt(['--config', file, 'backfill', 'evaluations', ...range], {
    cwd: folder.path,
    node: ['--max-old-space-size=128'],
  })
  const { code, signal, stderr } = await child.ended

  expect({ code, signal, longest, stderr }).toMatchObject({ code: 0, signal: null, longest: count })
  const { rows } = await database.pool.query('select count(*)::int as loaded from core.evaluation')
  expect(rows[0].loaded).toBe(count)
})
