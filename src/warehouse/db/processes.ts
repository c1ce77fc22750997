import { hostname } from 'node:os'
import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { markSource } from './run-source.ts'
import type { Db } from './transaction.ts'

/** The commands whose processes are found by their sessions. */
type NamedCommand = 'worker' | 'schedule' | 'serve' | 'demo'

/** What a config says about the services. */
type Services = Pick<Config, 'appraisal' | 'vehicleData'>

/** What pg_stat_activity shows for the sessions of this process: its command, its services, and where it runs. */
export function sessionName(command: NamedCommand, services: Services): string {
  const name = `forecourt ${command} ${markSource(services)} ${process.pid}@${hostname()}`
  return name.slice(0, longestName)
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
  /** Its config names other services, so that it does no work of this one. */
  readonly isOfOtherSource: boolean
}

/** Whether a process with one of these commands works for the services of the reader. */
export function isAlive(
  processes: readonly LiveProcess[],
  commands: readonly NamedCommand[],
): boolean {
  return processes.some(
    ({ command, isSilent, isOfOtherSource }) =>
      commands.includes(command) && !isSilent && !isOfOtherSource,
  )
}

/** The processes that are connected to the warehouse now, as a reader with these services sees them. A process that ends is gone at once, one that is cut off after some time. */
export async function readProcesses(db: Db, services: Services): Promise<LiveProcess[]> {
  const { rows } = await sql<LiveProcess>`
    select part[1] as command, part[3]::int as "processId", part[4] as host,
      part[2] <> ${markSource(services)} as "isOfOtherSource", min(backend_start) as since,
      coalesce(max(state_change) < clock_timestamp() - interval '30 seconds', false) as "isSilent"
    from pg_stat_activity
    cross join lateral regexp_match(application_name, '^forecourt (worker|schedule|serve|demo) ([0-9a-f]{8}) (\\d{1,9})@(.*)$') as part
    where datname = current_database() and part is not null
    group by part order by 1, 3, 2`.execute(db)
  return rows
}
