import { hostname } from 'node:os'
import { sql } from 'kysely'
import type { Db } from './transaction.ts'

/** The commands whose processes are found by their sessions. */
type NamedCommand = 'worker' | 'schedule' | 'serve' | 'demo'

/** What pg_stat_activity shows for the sessions of this process: its command, and where it runs. */
export function sessionName(command: NamedCommand): string {
  return `forecourt ${command} ${process.pid}@${hostname()}`.slice(0, longestName)
}

/** Postgres cuts longer names. */
const longestName = 63

/** A process that is connected to the warehouse. */
export interface LiveProcess {
  readonly command: NamedCommand
  readonly processId: number
  readonly host: string
  /** null: the login may not see it. */
  readonly since: Date | null
  /** It has sent nothing for half a minute, though it asks for work all the time: it is frozen, or cut off. */
  readonly isSilent: boolean
}

/** The processes that are connected to the warehouse now. A process that ends is gone at once, one that is cut off after some time. */
export async function readProcesses(db: Db): Promise<LiveProcess[]> {
  const { rows } = await sql<LiveProcess>`
    select part[1] as command, part[2]::int as "processId", part[3] as host, min(backend_start) as since,
      coalesce(max(state_change) < clock_timestamp() - interval '30 seconds', false) as "isSilent"
    from pg_stat_activity
    cross join lateral regexp_match(application_name, '^forecourt (worker|schedule|serve|demo) (\\d{1,9})@(.*)$') as part
    where datname = current_database() and part is not null
    group by part order by 1, 3, 2`.execute(db)
  return rows
}
