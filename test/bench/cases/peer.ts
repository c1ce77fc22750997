import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from '../bench-case.ts'
import { openBenchFixture } from '../bench-fixture.ts'
import { startProcess } from '../processes/bench-process.ts'
import type { PeerOrder } from '../processes/peer-process.ts'
import type { StoreOrder } from '../processes/store-process.ts'

const folder = fileURLToPath(new URL('../peers/', import.meta.url))
const anyCore = Number.MAX_SAFE_INTEGER

/** Comparison with the most similar published TypeScript pipeline from an API to Postgres. */
export const storePeer: BenchCase = {
  name: 'store-peer',
  unit: 'evaluations/s',
  what: 'evaluations whose rows are ready (31 in 8 tables, one the raw body), stored in batches of 1,000',
  referenceWhat:
    '@supabase/stripe-sync-engine 0.48.5: its upsert of the same objects, one row each, lists left as jsonb; no rows of children, no raw body, no checkpoint, no history',
  target: { of: 'ratio', least: 1 },
  thorough: true,
  async prepare({ quick }) {
    install()
    await using started = new AsyncDisposableStack()
    const fixture = started.use(await openBenchFixture({ rooftops: 1, evaluations: 0 }))
    const ours = started.use(startProcess('store-process.ts', anyCore))
    const theirs = started.use(startProcess('peer-process.ts', anyCore))
    const [evaluations, fewer] = quick ? [2_000, 1_000] : [10_000, 4_000]
    const all = started.move()
    return {
      async measure() {
        await using warehouse = await fixture.warehouse('store')
        const order: StoreOrder = { how: 'load', warehouse: warehouse.url, evaluations }
        return await ours.ask<number>(order)
      },
      async reference() {
        await using warehouse = await fixture.warehouse('store')
        const order: PeerOrder = { warehouse: warehouse.url, evaluations: fewer }
        return await theirs.ask<number>(order)
      },
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

/** Installed only for this case, outside of our own dependencies. */
function install(): void {
  if (existsSync(`${folder}node_modules`)) return
  const { status, stderr } = spawnSync('npm', ['ci'], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ci in ${folder} failed: ${stderr}`)
}
