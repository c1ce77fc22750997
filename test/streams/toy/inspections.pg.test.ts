import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { verifyDeep } from '#src/sync/verify/verify-deep.ts'
import { FakeSource } from '../../api/sources/fake-source.ts'
import { runNight } from '../../support/fixture.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { verifyStream } from '../../support/verify-stream.ts'
import { inspections } from './inspections.ts'

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
const records = inspections.records!

interface Inspection {
  readonly id: number
  readonly inspector: string
  readonly at: string
  readonly updated: string
  readonly faults: readonly unknown[]
}

/** An inspection in each of the last hours, the first one newest. */
function made(count: number): Map<number, Inspection> {
  const all = Array.from({ length: count }, (_, index) => {
    const at = new Date(Math.floor(Date.now() / 1000 - (index + 1) * 3600) * 1000).toISOString()
    return { id: index + 1, inspector: `I${index}`, at, updated: at, faults: ['tyre', 'brake'] }
  })
  return new Map(all.map((one) => [one.id, one]))
}

/** A source of inspections, a warehouse with the stream's migration, and a config between them. */
interface World extends AsyncDisposable {
  readonly context: Context
  readonly database: TestDatabase
  readonly source: FakeSource
}

async function openWorld(all: ReadonlyMap<number, Inspection>): Promise<World> {
  const source = await FakeSource.start((response, { path, body }) => {
    const answer = answerOf(all, path, body)
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { error: 'none' }))
  })
  const database = await createTestDatabase()
  await database.pool.query(await readFile(join(import.meta.dirname, 'toy.sql'), 'utf8'))
  const rooftop = { timezone: 'Australia/Sydney', currency: 'AUD', key: 'main' }
  const input = {
    appraisal: { baseUrl: source.baseUrl },
    warehouse: { url: database.url },
    keys: { main: { value: 'secret', kind: 'partner' as const, region: 'AU' as const } },
    rooftops: [{ ...rooftop, uid: 'north-1', name: 'North', dealerId: 101 }],
    sync: { start: new Date(Date.now() - 5 * 86_400_000).toISOString() },
    http: { maxRetries: 0 },
  } satisfies ConfigInput
  const context = await openContext(makeConfig(input, '/nowhere'), silent)
  return {
    ...{ context, database, source },
    async [Symbol.asyncDispose]() {
      await context[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
      await source[Symbol.asyncDispose]()
    },
  }
}

function answerOf(all: ReadonlyMap<number, Inspection>, path: string, body: string): unknown {
  const asked = JSON.parse(body || '{}') as { from: number; until: number | null; id: number }
  if (path.endsWith('/getinspection')) return all.get(asked.id)
  if (!path.endsWith('/listinspections')) return undefined
  const until = asked.until ?? Infinity
  return [...all.values()].filter(({ at }) => {
    const seconds = new Date(at).getTime() / 1000
    return seconds >= asked.from && seconds < until
  })
}

async function night({ context }: World, changes: Partial<Context> = {}) {
  return await runNight({ ...context, ...changes }, [inspections])
}

async function run({ context }: World, mode: 'retry' | 'replay') {
  return await runStreams(context, {
    plan: { command: mode, mode, from: 0, until: 0 },
    streams: [inspections],
    rooftops: context.config.rooftops,
  })
}

/** The loaded inspections with their faults. */
async function loaded({ database }: World): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    `select inspection_id as id, inspector, gone_at is not null as gone, array_agg(fault order by line_no) as faults
     from core.inspection left join core.inspection_fault using (rooftop_id, inspection_id) group by 1, 2, 3 order by 1`,
  )
  return rows
}

async function isComplete({ context }: World): Promise<boolean> {
  const [rooftop] = await findRooftops(context.db, context.config.rooftops)
  const found = await verifyStream(context.db, records, rooftop!, context.config.sync)
  const deep = await verifyDeep(context, records, rooftop!)
  return isProved(found) && deep.missing.length === 0 && deep.notConserved.length === 0
}

test('a new stream needs one file and one migration: it syncs, and its windows are proved', async () => {
  const all = made(60)
  await using world = await openWorld(all)

  const first = await night(world)
  const second = await night(world)

  expect(first).toMatchObject({
    status: 'ok',
    streams: { inspections: { listed: 60, inserted: 60 } },
  })
  expect(second.streams['inspections']).toMatchObject({ inserted: 0, updated: 0 })
  expect(await loaded(world)).toEqual(
    [...all.values()].map(({ id, inspector, faults }) => ({ id, inspector, gone: false, faults })),
  )
  expect(await isComplete(world)).toBe(true)
})

test('a new stream that is killed within a slice loads everything in its next run, and nothing twice', async () => {
  const all = made(20)
  await using world = await openWorld(all)
  const crashPoint = (name: string) => {
    if (name === 'rows-written') throw new Error('pulled the plug')
  }

  await night(world, { crashPoint })
  const before = await loaded(world)
  const report = await night(world)

  expect(before).toEqual([])
  expect(report).toMatchObject({ status: 'ok', streams: { inspections: { inserted: 20 } } })
  expect(await isComplete(world)).toBe(true)
})

test('a new stream updates what was edited, marks what is gone, and puts what does not fit into quarantine', async () => {
  const all = made(5)
  const fits = all.get(2)!
  all.set(2, { ...fits, faults: [7] })
  await using world = await openWorld(all)

  expect((await night(world)).streams['inspections']).toMatchObject({ inserted: 4, quarantined: 1 })
  all.set(2, fits)
  expect((await run(world, 'retry')).streams['inspections']).toMatchObject({ inserted: 1 })
  all.set(1, { ...all.get(1)!, faults: ['lamp'], updated: new Date().toISOString() })
  all.delete(5)
  const report = await night(world)

  expect(report.streams['inspections']).toMatchObject({ updated: 1, vanished: 1 })
  expect(await loaded(world)).toMatchObject([
    { id: 1, faults: ['lamp'] },
    { id: 2, faults: ['tyre', 'brake'] },
    { id: 3 },
    { id: 4 },
    { id: 5, gone: true },
  ])
  expect(await isComplete(world)).toBe(true)
})

test('a new stream is rebuilt from its stored payloads without a call', async () => {
  await using world = await openWorld(made(5))
  await night(world)
  const before = await loaded(world)
  await world.database.pool.query("update core.inspection set inspector = 'X'")
  await world.database.pool.query('delete from core.inspection_fault where inspection_id = 3')
  const calls = world.source.received.length

  const report = await run(world, 'replay')

  expect(report).toMatchObject({ status: 'ok', streams: { inspections: { updated: 5 } } })
  expect(await loaded(world)).toEqual(before)
  expect(world.source.received).toHaveLength(calls)
  expect(await isComplete(world)).toBe(true)
})

test('verify finds a planted fault of a new stream', async () => {
  await using world = await openWorld(made(5))
  await night(world)

  await world.database.pool.query('delete from core.inspection where inspection_id = 3')

  expect(await isComplete(world)).toBe(false)
})
