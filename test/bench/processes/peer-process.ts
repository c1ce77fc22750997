import { createRequire } from 'node:module'
import { openPool } from '#src/warehouse/db/connect.ts'
import { evaluationBody } from '../evaluation-body.ts'
import { answerMessages } from './bench-process.ts'

/** Evaluations stored by the published upsert of @supabase/stripe-sync-engine; answered with evaluations a second. */
export interface PeerOrder {
  readonly warehouse: string
  readonly evaluations: number
}

/** The used part of the package, which is installed only in ../peers. */
interface PeerClient {
  readonly pool: { end(): Promise<void>; on(event: 'error', listener: () => void): unknown }
  upsertManyWithTimestampProtection(
    entries: readonly object[],
    table: string,
    schema: { readonly properties: readonly string[] },
    syncTimestamp: string,
  ): Promise<unknown>
}

interface PeerModule {
  readonly PostgresClient: new (config: {
    readonly schema: string
    readonly poolConfig: { readonly connectionString: string; readonly max: number }
  }) => PeerClient
}

const { PostgresClient } = createRequire(new URL('../peers/package.json', import.meta.url))(
  '@supabase/stripe-sync-engine',
) as PeerModule
/** The page size of the engine's own sync. */
const pageSize = 100

async function store({ warehouse, evaluations }: PeerOrder): Promise<number> {
  const objects = Array.from({ length: evaluations }, (_, at) => objectOf(at + 1))
  const properties = Object.keys(objects[0]!)
  await createTable(warehouse, objects[0]!)
  // The default number of connections of the engine.
  const client = new PostgresClient({
    schema: 'peer',
    poolConfig: { connectionString: warehouse, max: 10 },
  })
  // Its database is dropped soon after; the engine has no error listener.
  client.pool.on('error', () => undefined)
  try {
    const startedMs = performance.now()
    for (let from = 0; from < objects.length; from += pageSize)
      await client.upsertManyWithTimestampProtection(
        objects.slice(from, from + pageSize),
        'evaluation',
        { properties },
        new Date().toISOString(),
      )
    return (evaluations * 1000) / (performance.now() - startedMs)
  } finally {
    await client.pool.end()
  }
}

/** One object per row; lists and objects in it stay JSON. */
function objectOf(evalId: number): Record<string, unknown> {
  const createdAt = Date.UTC(2025, 0, 1) / 1000 + evalId * 2_880
  const text = evaluationBody({ evalId, dealerId: 1, createdAt, revision: 0 }, 1)
  const [body] = JSON.parse(text) as [Record<string, unknown>]
  return { id: String(evalId), ...body }
}

/** Tables like those of the engine's migrations: keyed by id, jsonb for nested values. */
async function createTable(warehouse: string, example: Record<string, unknown>): Promise<void> {
  const columns = Object.entries(example).map(([name, value]) => `"${name}" ${typeOf(value)}`)
  const pool = await openPool(warehouse, { applicationName: 'bench', max: 1 })
  await pool.query(
    `create schema peer; create table peer.evaluation (${columns.join(', ')}, last_synced_at timestamptz, primary key (id))`,
  )
  await pool.end()
}

function typeOf(value: unknown): string {
  if (typeof value === 'number') return 'numeric'
  return typeof value === 'string' ? 'text' : 'jsonb'
}

answerMessages((order) => store(order as PeerOrder))
