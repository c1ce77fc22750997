import { sql } from 'kysely'
import type pg from 'pg'
import { errorText } from '../../errors.ts'
import { type Log, listenToLog } from '../../log.ts'
import { storable } from '../../values/text.ts'
import type { Db } from './transaction.ts'

/** A line that a process of a run logged. */
export interface RunLine {
  readonly at: Date
  readonly level: 'info' | 'warn' | 'error' | 'fatal'
  readonly message: string
}

type WaitingLine = RunLine & { readonly runId: number }

/** Lines of a run that are stored, and those among them that are neither warnings nor errors. */
const [maxLines, maxInfo] = [200, 40]
const longestMessage = 1_000
/** Lines that wait to be written; more are dropped, because a log must not fill the memory while Postgres is away. */
const maxWaiting = 1_000
const everyMs = 1_000

/**
 * Stores the lines of a log that name a run, as they are logged: masked, in batches, and bounded. What is waiting is written when it is
 * closed. A line that cannot be stored is lost here alone.
 */
export function openRunLog(pool: pg.Pool, log: Log): AsyncDisposable {
  let waiting: WaitingLine[] = []
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const write = () => {
    timer = null
    const lines = waiting
    waiting = []
    if (lines.length > 0)
      writing = writing
        .then(() => storeLines(pool, lines))
        .catch((error: unknown) => log.debug(`lines of runs not stored: ${errorText(error)}`))
  }
  const listening = listenToLog(log, (text) => {
    const line = waiting.length < maxWaiting ? readLine(text) : null
    if (line === null) return
    waiting.push(line)
    timer ??= setTimeout(write, everyMs).unref()
  })
  return {
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]()
      if (timer !== null) clearTimeout(timer)
      write()
      await writing
    },
  }
}

interface LoggedLine {
  readonly level: string
  readonly time: string
  readonly msg?: string
  readonly runId: number
  readonly stream?: string
  readonly rooftop?: string
  readonly err?: { readonly message?: string }
}

/** A line in words; null: it names no run, or is only for a developer. */
function readLine(text: string): WaitingLine | null {
  if (!text.includes('"runId":')) return null
  const { level, time, msg = '', runId, stream, rooftop, err } = JSON.parse(text) as LoggedLine
  if (!isLevel(level) || !Number.isSafeInteger(runId)) return null
  const about = [stream, rooftop].filter((name) => name !== undefined).join(', ')
  const cause = err?.message === undefined || err.message === msg ? [] : [err.message]
  const message = [...(about === '' ? [] : [about]), msg, ...cause].join(': ')
  return { runId, level, at: new Date(time), message: storable(message.slice(0, longestMessage)) }
}

function isLevel(level: string): level is RunLine['level'] {
  return level === 'info' || level === 'warn' || level === 'error' || level === 'fatal'
}

async function storeLines(pool: pg.Pool, lines: readonly WaitingLine[]): Promise<void> {
  await pool.query(
    `insert into ops.run_log (run_id, at, level, message)
     select run_id, at, level, message from (
       select *, row_number() over (partition by run_id order by nth) as nth_of_run
       from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[]) with ordinality as line (run_id, at, level, message, nth)
     ) as new
     cross join lateral (select count(*) as lines from ops.run_log as old where old.run_id = new.run_id) as stored
     where lines + nth_of_run <= case level when 'info' then ${maxInfo} else ${maxLines} end
       and exists (select from ops.run where run.run_id = new.run_id)
     order by nth`,
    [
      lines.map(({ runId }) => runId),
      lines.map(({ at }) => at),
      lines.map(({ level }) => level),
      lines.map(({ message }) => message),
    ],
  )
}

/** The stored lines of a run, in their order. */
export async function readRunLines(db: Db, runId: number): Promise<RunLine[]> {
  const { rows } = await sql<RunLine>`
    select at, level, message from ops.run_log where run_id = ${runId}::bigint
    order by line_id limit ${maxLines}`.execute(db)
  return rows
}
