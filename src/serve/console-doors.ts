import type { Doors } from '../console/doors.ts'
import type { Context } from '../context.ts'

/** What the console asks of parts of the program that it may not import. */
export function consoleDoors(_context: Context): Doors {
  return {
    refreshLinks: async () => null,
    runJob: async () => null,
    exportView: async () => {
      throw new Error('not there yet')
    },
  }
}
