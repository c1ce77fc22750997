/** A fault in our own code: a text that occurs once in a file of src, and its replacement. */
export interface Mutant {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** Faults that the simulation must detect, and one that changes nothing. */
export const mutants = {
  'no second of overlap': {
    file: 'api/sources/appraisal/answers.ts',
    text: 'startdate: from - 1,',
    instead: 'startdate: from,',
  },
  'checkpoint before rows': {
    file: 'sync/windows/windowed-slice.ts',
    text: 'await certify(tx, scope, [{ rooftopId: rooftop.id, certificates }], context.config.sync)',
    instead: `const { inTransaction } = await import('../../warehouse/db/transaction.ts')
      await inTransaction(context.pool, async (early) =>
      await certify(early, scope, [{ rooftopId: rooftop.id, certificates }], context.config.sync))`,
  },
  'no lookback': {
    file: 'sync/windows/due-windows.ts',
    text: 'sourceStart - recheckDays * daySeconds',
    instead: 'sourceStart - 0 * daySeconds',
  },
  'unfenced completion': {
    file: 'warehouse/queue/queue.ts',
    text: 'if (done.affected === items.length) return',
    instead: 'if (done) return',
  },
  'children not replaced': {
    file: 'sync/records/load-records.ts',
    text: 'records.filter(({ replaces }) => replaces).map',
    instead: 'records.filter(({ replaces }) => replaces && table === stream.tables[0]).map',
  },
  'nothing changed': {
    file: 'sync/windows/windowed-slice.ts',
    text: 'const more = listed.more ||',
    instead: 'const more = false || listed.more ||',
  },
} as const satisfies Readonly<Record<string, Mutant>>
export type MutantName = keyof typeof mutants
