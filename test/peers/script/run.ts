// One night: reads the new evaluations of every rooftop into Postgres. Ends with 0 when all is well.
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import pg from 'pg'
import { Pool } from 'undici'

interface Rooftop {
  readonly dealer: string
  readonly key: string
}

interface Failure {
  readonly id: number
  readonly reason: string
}

const { PEER_BASE = '', PEER_KEY_HEADER = '', PEER_ROOFTOPS = '[]', PEER_DATABASE } = process.env
const seconds = (name: string, preset: number) => Number(process.env[name] ?? preset)
const start = seconds('PEER_START', 0)
const now = seconds('PEER_NOW', Date.now() / 1000)
const step = seconds('PEER_STEP', 7 * 86_400)
const lag = seconds('PEER_LAG', 3 * 86_400)
const inFlight = seconds('PEER_LIMIT', 16)
const batchSize = 500
const attempts = 5
const rooftops: readonly Rooftop[] = JSON.parse(PEER_ROOFTOPS)

const { origin, pathname } = new URL(PEER_BASE)
const source = new Pool(origin, {
  connections: inFlight,
  headersTimeout: 30_000,
  bodyTimeout: 30_000,
  connectTimeout: 10_000,
})
const limit = pLimit(inFlight)
const database = new pg.Pool({ connectionString: PEER_DATABASE, max: 9 })

/** An answer that will not get better by a retry. */
class Refused extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(`status ${status}: ${text.slice(0, 200)}`)
    this.status = status
  }
}

/** Five attempts for 429, 5xx, a lost connection and a body that is not JSON. */
function post(path: string, { dealer, key }: Rooftop, body: object): Promise<unknown> {
  return limit(async () => {
    for (let attempt = 1; ; attempt += 1) {
      let wait = Math.random() * Math.min(30_000, 500 * 2 ** attempt)
      try {
        const answer = await source.request({
          ...{ path: pathname.replace(/\/$/, '') + path, method: 'POST' },
          headers: {
            'content-type': 'application/json',
            [PEER_KEY_HEADER]: key,
            'x-dealer-id': dealer,
          },
          body: JSON.stringify(body),
        })
        const { statusCode: status } = answer
        const text = await answer.body.text()
        if (status === 200) return JSON.parse(text)
        if (status < 500 && status !== 429) throw new Refused(status, text)
        const after = Number(answer.headers['retry-after'])
        if (after > 0) wait = after * 1000
        if (attempt === attempts) throw new Error(`status ${status} after ${attempts} attempts`)
      } catch (error) {
        if (error instanceof Refused || attempt === attempts) throw error
      }
      await sleep(wait)
    }
  })
}

async function readWindow(rooftop: Rooftop, from: number, until: number): Promise<number[]> {
  // Both bounds are exclusive.
  const bounds = { startdate: from - 1, enddate: until }
  const items = (await post('/getevallist', rooftop, bounds)) as { EvalID: number }[]
  return [...new Set(items.map(({ EvalID }) => EvalID))]
}

/** The evaluation, or why it cannot be read. Another error stops the rooftop: the next night repeats the window. */
async function readEvaluation(rooftop: Rooftop, id: number): Promise<object | Failure> {
  try {
    const [evaluation] = (await post('/geteval', rooftop, { evalid: id })) as [object]
    return evaluation
  } catch (error) {
    const isOfRecord =
      error instanceof SyntaxError || (error instanceof Refused && error.status === 400)
    if (!isOfRecord) throw error
    console.error(`${rooftop.dealer}: evaluation ${id}: ${error.message}`)
    return { id, reason: error.message }
  }
}

const tables = `
  create table if not exists evaluation (
    eval_id bigint primary key,
    dealer text not null,
    doc jsonb not null,
    vin text generated always as (doc ->> 'VIN') stored,
    registration text generated always as (doc ->> 'Registration') stored,
    odometer numeric generated always as
      (case jsonb_typeof(doc -> 'Odometer') when 'number' then (doc ->> 'Odometer')::numeric end) stored,
    final_price numeric generated always as
      (case jsonb_typeof(doc -> 'FinalPrice') when 'number' then (doc ->> 'FinalPrice')::numeric end) stored,
    loaded_at timestamptz not null default now()
  );
  create table if not exists watermark (dealer text primary key, until bigint not null);
  create table if not exists failed (
    eval_id bigint primary key, dealer text not null, reason text not null, at timestamptz not null default now()
  )`

const upsert = `
  insert into evaluation as t (eval_id, dealer, doc)
  select (doc ->> 'EvalID')::bigint, $1, doc from jsonb_array_elements($2::jsonb) as doc
  on conflict (eval_id) do update set dealer = excluded.dealer, doc = excluded.doc, loaded_at = now()
  where (t.dealer, t.doc) is distinct from (excluded.dealer, excluded.doc)`

const addFailures = `
  insert into failed (eval_id, dealer, reason)
  select id, $1, reason from jsonb_to_recordset($2::jsonb) as f (id bigint, reason text)
  on conflict (eval_id) do update set dealer = excluded.dealer, reason = excluded.reason, at = now()`

const totals = { windows: 0, listed: 0, changed: 0, failed: 0, rooftopsFailed: 0 }
let isStopping = false
process.on('SIGTERM', () => {
  isStopping = true
})

/** Rows and watermark of a window commit together. */
async function loadWindow(client: pg.PoolClient, rooftop: Rooftop, from: number): Promise<void> {
  const until = Math.min(from + step, now)
  const ids = await readWindow(rooftop, from, until)
  await client.query('begin')
  for (let at = 0; at < ids.length; at += batchSize) {
    const batch = ids.slice(at, at + batchSize)
    const read = await Promise.all(batch.map((id) => readEvaluation(rooftop, id)))
    const failures = read.filter((one) => 'reason' in one)
    const documents = read.filter((one) => !('reason' in one))
    const { rowCount } = await client.query(upsert, [rooftop.dealer, JSON.stringify(documents)])
    if (failures.length > 0)
      await client.query(addFailures, [rooftop.dealer, JSON.stringify(failures)])
    totals.changed += rowCount ?? 0
    totals.failed += failures.length
  }
  await client.query(
    `insert into watermark (dealer, until) values ($1, $2)
     on conflict (dealer) do update set until = excluded.until`,
    [rooftop.dealer, until],
  )
  await client.query('commit')
  totals.windows += 1
  totals.listed += ids.length
}

async function loadRooftop(rooftop: Rooftop): Promise<void> {
  const client = await database.connect()
  let broken: Error | undefined
  try {
    const { rows } = await client.query('select until from watermark where dealer = $1', [
      rooftop.dealer,
    ])
    const first = rows.length === 0 ? start : Math.max(start, Number(rows[0].until) - lag)
    for (let from = first; from < now && !isStopping; from += step)
      await loadWindow(client, rooftop, from)
  } catch (error) {
    broken = error as Error
    totals.rooftopsFailed += 1
    console.error(`${rooftop.dealer}: ${broken.message}`)
  } finally {
    client.release(broken)
  }
}

const guard = await database.connect()
const { rows: locks } = await guard.query(`select pg_try_advisory_lock(4711) as "isFree"`)
if (!locks[0].isFree) {
  console.error('Another run is loading')
  process.exit(3)
}
await guard.query(tables)
const atOnce = pLimit(8)
await Promise.all(rooftops.map((rooftop) => atOnce(() => loadRooftop(rooftop))))
guard.release()
await Promise.all([database.end(), source.close()])
console.log(JSON.stringify(totals))
process.exitCode = totals.failed + totals.rooftopsFailed > 0 || isStopping ? 1 : 0
