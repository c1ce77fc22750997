import type { BenchCase } from '../bench-case.ts'
import { openBenchFixture } from '../bench-fixture.ts'

const rooftops = 8
const aDay = 60

/** Whether a long load takes more memory than a short one. */
export const memory: BenchCase = {
  name: 'memory',
  unit: 'MB at the peak',
  what: `a first sync of 200,000 evaluations, ${aDay} a day at each of ${rooftops} rooftops, in a process of its own`,
  referenceWhat: 'one of 20,000',
  target: { of: 'ratio', most: 1.05 },
  turns: 1,
  thorough: true,
  async prepare({ quick }) {
    const [large, small] = quick ? [20_000, 4_000] : [200_000, 20_000]
    return {
      measure: () => peakOf(large),
      reference: () => peakOf(small),
      [Symbol.asyncDispose]: async () => {},
    }
  },
}

async function peakOf(evaluations: number): Promise<number> {
  // The longer history has more windows, not larger ones.
  const days = Math.ceil(evaluations / rooftops / aDay)
  await using fixture = await openBenchFixture({ rooftops, evaluations, days })
  await using warehouse = await fixture.warehouse('memory')
  const { peakMb } = await fixture.sync(warehouse)
  return peakMb
}
