import type { BenchCase } from '../bench-case.ts'
import { openBenchFixture } from '../bench-fixture.ts'

const latencyMs = 200
const inFlight = 32

/** A slow source: the pipeline may not add to its time. */
export const farSource: BenchCase = {
  name: 'far-source',
  unit: 'evaluations/s',
  what: `a first sync of 24,000 evaluations from a source that takes ${latencyMs} ms, up to ${inFlight} in flight, the rise from 4 included`,
  referenceWhat: `what ${inFlight} in flight can give: ${inFlight / (latencyMs / 1000)} a second`,
  target: { of: 'ratio', least: 0.97 },
  turns: 1,
  thorough: true,
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    const evaluations = quick ? 3_000 : 24_000
    const fixture = started.use(
      await openBenchFixture({ rooftops: 8, evaluations, latencyMs, concurrency: inFlight }),
    )
    const all = started.move()
    return {
      async measure() {
        await using warehouse = await fixture.warehouse('far')
        const { requests, seconds } = await fixture.sync(warehouse)
        return requests / seconds
      },
      reference: async () => inFlight / (latencyMs / 1000),
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

/** Requests of a night beyond those that the rules demand. */
export const quietNight: BenchCase = {
  name: 'quiet-night',
  unit: 'requests',
  counted: true,
  what: 'a night on which nothing has changed: 4,000 evaluations of 8 rooftops over 60 days, all to be listed again',
  referenceWhat: 'a list for each window that is due and a read for each evaluation that is',
  target: { of: 'ratio', most: 1.02 },
  async prepare() {
    await using started = new AsyncDisposableStack()
    const fixture = started.use(
      await openBenchFixture({ rooftops: 8, evaluations: 4_000, days: 60 }),
    )
    const warehouse = started.use(await fixture.warehouse('quiet'))
    await fixture.sync(warehouse)
    let due = 0
    const all = started.move()
    return {
      async measure() {
        await fixture.ask('counts')
        const { windows, hydrated } = await fixture.sync(warehouse)
        due = windows + hydrated
        const { lists, reads } = await fixture.ask('counts')
        return lists + reads
      },
      // The counts of the night before; the first does not count.
      reference: async () => due,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}
