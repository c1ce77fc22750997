import type pg from 'pg'
import { evaluationSteps } from './evaluations.ts'
import { ledgerSteps } from './ledger.ts'
import { serviceSteps } from './services.ts'
import type { Step } from './step.ts'

const steps: readonly Step[] = [
  ...evaluationSteps,
  ...ledgerSteps,
  ...serviceSteps,
  { name: 'vacuum analyze', sql: 'vacuum (analyze, parallel 2)' },
]

/** Fills a warehouse that knows its rooftops with a million evaluations and what belongs to them, in a minute or two. */
export async function fillScale(pool: pg.Pool): Promise<void> {
  for (const together of waves(steps)) await Promise.all(together.map((step) => run(pool, step)))
}

/** Each wave waits for the one before. */
function waves(all: readonly Step[]): Step[][] {
  const found: Step[][] = []
  for (const step of all) {
    if (step.beside === true) found.at(-1)!.push(step)
    else found.push([step])
  }
  return found
}

async function run(pool: pg.Pool, { name, sql }: Step): Promise<void> {
  const startedAt = performance.now()
  const client = await pool.connect()
  try {
    await client.query(
      "set synchronous_commit = off; set work_mem = '256MB'; set maintenance_work_mem = '512MB'",
    )
    await client.query(sql)
  } catch (error) {
    throw new Error(`the step "${name}" of the fill failed: ${String(error)}`, { cause: error })
  } finally {
    client.release(true)
  }
  console.log(`  ${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
}
