import type { KyselyPlugin } from 'kysely'
import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { readNextRequests } from '#src/sync/explain/next-requests.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { openFixture } from '../support/fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')

/** Counts the rows that a connection reads. */
class RowCounter implements KyselyPlugin {
  count = 0

  transformQuery({ node }: Parameters<KyselyPlugin['transformQuery']>[0]) {
    return node
  }

  async transformResult({ result }: Parameters<KyselyPlugin['transformResult']>[0]) {
    this.count += result.rows.length
    return result
  }
}

test('what is asked next about an evaluation is what the next run asks, read without the tasks of others', async () => {
  await using fixture = await openFixture({
    sandbox: { now, rooftops: 6, evaluations: 60, days: 8 },
    streams: allStreams,
  })
  const searchedAt = new Date(now.getTime() - 3_600_000)
  for (const { evalId, rooftopUid, vin } of [...fixture.sandbox.world.evaluations()].slice(0, 20)) {
    const { groupId } = fixture.sandbox.world.rooftop(rooftopUid)!
    if (vin)
      fixture.sandbox.checks.add({ kind: 'ppsr', evalId, rooftopUid, groupId, vin, searchedAt })
  }
  await fixture.night()
  await fixture.database.pool.query(
    "update ops.enrichment_state set next_due_at = now() - interval '3 years' where eval_id % 3 = 0",
  )
  const { db, config } = fixture.context
  const rooftops = await findRooftops(db, config.rooftops)
  const at = new Date(now.getTime() + 3_600_000)
  const all = Number.MAX_SAFE_INTEGER
  const differing: unknown[] = []
  let [due, mostRows] = [0, 0]
  for (const rooftop of rooftops) {
    const siblings = rooftops.flatMap(({ id, groupId }) =>
      groupId === rooftop.groupId ? [id] : [],
    )
    const wanted = new Set<string>()
    for (const { enrichment } of allStreams) {
      if (enrichment === undefined || !enrichment.serves(rooftop)) continue
      const query = { now: at, runStart: at, limit: all, budget: all, only: null, evalId: null }
      const rest = { scope: 'all', history: null, siblings } as const
      for (const task of await enrichment.due(db, rooftop, { ...query, ...rest }, config))
        wanted.add(`${task.evalId} ${task.ask}`)
    }
    due += wanted.size
    const { rows: own } = await fixture.database.pool.query<{ id: number }>(
      'select eval_id as id from core.evaluation where rooftop_id = $1',
      [rooftop.id],
    )
    for (const { id } of own) {
      const counter = new RowCounter()
      const scope = { config, streams: allStreams, rooftop, rooftops, now: at }

      const asks = await readNextRequests(db.withPlugin(counter), scope, id)

      mostRows = Math.max(mostRows, counter.count)
      const found = asks.filter(({ nextAt }) => nextAt?.getTime() === at.getTime())
      const expected = [...wanted].filter((key) => key.startsWith(`${id} `)).sort()
      const named = found.map(({ ask }) => `${id} ${ask}`).sort()
      if (named.join() !== expected.join()) differing.push({ id, named, expected })
    }
  }

  expect(differing).toEqual([])
  expect(due).toBeGreaterThan(10)
  expect(mostRows).toBeLessThan(12)
})
