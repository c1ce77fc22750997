import type { Log } from '../../log.ts'
import type { ImportServices } from '../import/request.ts'

/** What a drop folder uses of the program. */
export interface InboxServices extends Omit<ImportServices, 'beforeCommit'> {
  readonly log: Log
  /** No further file is taken. `signal` ends the import of the present one too. */
  readonly stopping: AbortSignal
  /** The time of this process, for names and reports. */
  readonly now: () => Date
}
