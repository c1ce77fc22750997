import type { BenchCase } from '../bench-case.ts'
import { openBenchFixture } from '../bench-fixture.ts'
import { startProcess } from '../processes/bench-process.ts'

const latencyMs = 300
const rooftops = 32
const perKey = 4

/** The speed-up by more processes when the source takes most of the time; each rooftop has its own key. */
export const twoWorkers = workersCase(2, 1.8)
export const fourWorkers = workersCase(4, 3)

function workersCase(processes: number, least: number): BenchCase {
  return {
    name: `workers-${processes}`,
    unit: 'evaluations/s',
    what: `a first sync of ${rooftops} rooftops from a source that takes ${latencyMs} ms, by ${processes} processes: a sync and ${processes - 1} workers`,
    referenceWhat: 'the sync alone',
    target: { of: 'ratio', least },
    thorough: true,
    async prepare({ quick }) {
      await using started = new AsyncDisposableStack()
      const evaluations = rooftops * (quick ? 8 : 24)
      const fixture = started.use(await openBenchFixture({ rooftops, evaluations, latencyMs }))
      const sync = async (workers: number): Promise<number> => {
        await using hands = new AsyncDisposableStack()
        const warehouse = hands.use(await fixture.warehouse('workers'))
        const { source, start } = fixture
        const shared = { rooftops, source, start, concurrency: perKey, ownKeys: true }
        for (let at = 0; at < workers; at += 1) {
          const worker = hands.use(startProcess('worker-process.ts', Number.MAX_SAFE_INTEGER))
          await worker.ask({ ...shared, warehouse: warehouse.url })
        }
        const { inserted, seconds } = await fixture.sync(warehouse, shared)
        return inserted / seconds
      }
      const all = started.move()
      return {
        measure: () => sync(processes - 1),
        reference: () => sync(0),
        [Symbol.asyncDispose]: () => all.disposeAsync(),
      }
    },
  }
}
