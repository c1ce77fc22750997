import { join } from 'node:path'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { BenchCase } from '../bench-case.ts'
import { startProcess } from '../processes/bench-process.ts'
import type { CsvOrder } from '../processes/csv-process.ts'
import { writeStockList } from '../stock-list.ts'

/** How fast a stock list becomes typed rows. */
export const csvTyped: BenchCase = {
  name: 'csv-typed',
  unit: 'rows/s',
  what: 'a stock list of 200,000 rows and 20 columns read, mapped and typed',
  referenceWhat: 'csv-parse alone over the same file, for await (… of parse())',
  target: { of: 'ratio', least: 0.5 },
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    const file = join(started.use(await temporaryFolder()).path, 'list.csv')
    await writeStockList(file, quick ? 20_000 : 200_000)
    const ours = started.use(startProcess('csv-process.ts', 0))
    const alone = started.use(startProcess('csv-process.ts', 0))
    const all = started.move()
    return {
      measure: () => ours.ask({ what: 'type', file } satisfies CsvOrder),
      reference: () => alone.ask({ what: 'parse', file } satisfies CsvOrder),
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}
