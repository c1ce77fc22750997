import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** A program, its arguments and its variables beside ours. */
export interface Command {
  readonly words: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** How a command ended, and what it used with all processes that it started. */
export interface Measured {
  /** 128 and more: a signal. */
  readonly exit: number
  readonly seconds: number
  /** Null when it was killed. */
  readonly cpuSeconds: number | null
  /** The largest sum of the Pss of all of them, sampled each 100 ms. */
  readonly memoryMb: number
  /** The end of what it wrote. */
  readonly log: string
}

const sampleMs = 100
const logCharacters = 4_000
const maxMs = 3 * 3_600_000

/** `onStart` gets the number of its process group. It is killed after three hours, and when this process ends. */
export async function measure(
  { words, cwd, env }: Command,
  onStart?: (group: number) => Promise<unknown>,
): Promise<Measured> {
  const startedMs = performance.now()
  // The shell's `time` counts every process that was waited for; its own line goes to another file than the output.
  const timed = 'TIMEFORMAT="%U %S"; { time "$@" >&3 2>&3; } 2>&4'
  const child = spawn('bash', ['-c', timed, 'bash', ...words], {
    ...{ cwd, env: { ...process.env, ...env }, detached: true },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  let [log, times, memory] = ['', '', 0]
  child.stdio[3]!.on('data', (part) => {
    log = (log + part).slice(-logCharacters)
  })
  child.stdio[4]!.on('data', (part) => (times += part))
  const timer = setInterval(() => (memory = Math.max(memory, treeMemory(child.pid!))), sampleMs)
  const kill = () => process.kill(-child.pid!, 'SIGKILL')
  const deadline = setTimeout(kill, maxMs)
  process.once('exit', kill)
  const closed = once(child, 'close')
  await onStart?.(child.pid!)
  const [code] = await closed
  process.off('exit', kill)
  clearTimeout(deadline)
  clearInterval(timer)
  const used = times.trim().split(' ').map(Number)
  return {
    exit: code ?? 137,
    seconds: (performance.now() - startedMs) / 1000,
    cpuSeconds: used.length === 2 ? used[0]! + used[1]! : null,
    memoryMb: memory / 1024,
    log,
  }
}

/** KB of the processes below the shell. */
function treeMemory(shell: number): number {
  return descendants(shell).reduce((sum, pid) => {
    const kb = /^Pss:\s+(\d+)/m.exec(readProc(pid, 'smaps_rollup'))?.[1]
    return sum + Number(kb ?? 0)
  }, 0)
}

function descendants(root: number): number[] {
  const parents = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .map((pid) => [pid, Number(statOf(pid)[1])] as const)
  const found = [root]
  for (const pid of found) {
    for (const [child, parent] of parents) if (parent === pid) found.push(child)
  }
  return found.slice(1)
}

/** The fields of /proc/<pid>/stat after the name: state, parent, and so on. */
function statOf(pid: number): string[] {
  return readProc(pid, 'stat').split(') ').at(-1)!.split(' ')
}

/** Empty when the process has ended. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Of a Postgres since its start, by the names of the table's columns. Rows are those of the tables that are there; `all rows` are those of
 * the whole database, with dropped tables and the catalogue.
 */
export type PostgresTotals = Readonly<
  Record<'Postgres CPU s' | 'WAL MB' | 'inserted' | 'updated' | 'deleted' | 'all rows', number>
>

/** Waits until the peer's sessions have ended, because only then are their rows counted. */
export async function postgresTotals(pool: pg.Pool): Promise<PostgresTotals> {
  const others = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
  while ((await pool.query(others)).rowCount! > 0) await sleep(50)
  const { rows } = await pool.query(`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 / 1048576 as "WAL MB",
      sum(n_tup_ins)::float8 as inserted, sum(n_tup_upd)::float8 as updated, sum(n_tup_del)::float8 as deleted,
      (select (tup_inserted + tup_updated + tup_deleted)::float8 from pg_stat_database
        where datname = current_database()) as "all rows",
      (select pid from pg_stat_activity where backend_type = 'checkpointer') as checkpointer
    from pg_stat_user_tables`)
  const { checkpointer, ...totals } = rows[0]
  return { 'Postgres CPU s': serverCpu(Number(statOf(checkpointer)[1])), ...totals }
}

/** Of the server and every process that it has started, whether it runs or has ended. */
function serverCpu(postmaster: number): number {
  const ticks = (pid: number, count: number) =>
    statOf(pid)
      .slice(11, 11 + count)
      .reduce((sum, text) => sum + Number(text), 0)
  const running = descendants(postmaster).reduce((sum, pid) => sum + ticks(pid, 2), 0)
  // USER_HZ is 100 on every Linux.
  return (ticks(postmaster, 4) + running) / 100
}
