import pg from 'pg'
import { vi } from 'vitest'
import type { Answer, ConsoleFixture, Role } from './console-fixture.ts'

/** A statement of a page. */
export interface Statement {
  readonly text: string
  readonly values: unknown[]
}

/** Opens a page, and gives the statements that it read with, without those that begin and end its transaction. */
export async function statementsOf(
  console: ConsoleFixture,
  path: string,
  role: Exclude<Role, null> = 'engineer',
): Promise<{ readonly answer: Answer; readonly statements: readonly Statement[] }> {
  await console.cookie(role)
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  const answer = await console.get(path, { role })
  const { calls, contexts } = spy.mock
  spy.mockRestore()
  // Other connections of the process work meanwhile.
  const all = calls.map(([statement, values], at) => ({ ...asStatement(statement, values), at }))
  const begin = all.findIndex(({ text }) => /^begin .*read only/.test(text))
  const own = all.filter(({ at }) => at > begin && contexts[at] === contexts[begin])
  const statements = own.filter(({ text }) => !/^(begin|commit|rollback)/.test(text))
  return { answer, statements }
}

function asStatement(statement: unknown, values: unknown): Statement {
  if (typeof statement === 'string') return { text: statement, values: (values as unknown[]) ?? [] }
  const { text = '', values: own = [] } = statement as Partial<Statement>
  return { text, values: own }
}

/** The tables that the statements would read as a whole. What sets the role of a stock person is done before they are explained. */
export async function tablesScanned(
  { fixture }: ConsoleFixture,
  statements: readonly Statement[],
): Promise<string[]> {
  const found = new Set<string>()
  const client = await fixture.database.pool.connect()
  try {
    await client.query('begin')
    for (const { text, values } of statements) {
      if (/\bset_config\(|^set local /.test(text)) await client.query(text, values)
      if (!/^\s*(select|with)\b/.test(text)) continue
      const { rows } = await client.query(`explain (costs off) ${text}`, values)
      const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n')
      for (const [, table] of plan.matchAll(/Seq Scan on (\w+)/g)) found.add(table!)
    }
  } finally {
    client.release(true)
  }
  return [...found].sort()
}

/** Copies evaluations under other EvalIDs and VINs, `count` of them, without triggers and sums. */
export async function addEvaluations({ fixture }: ConsoleFixture, count: number): Promise<void> {
  const client = await fixture.database.pool.connect()
  try {
    await client.query("set session_replication_role = 'replica'")
    const { rows } = await client.query<{ name: string }>(
      `select column_name as name from information_schema.columns
       where table_schema = 'core' and table_name = 'evaluation' and is_generated = 'NEVER'
         and column_name not in ('eval_id', 'vin')`,
    )
    const columns = rows.map(({ name }) => name).join(', ')
    await client.query(
      `insert into core.evaluation (eval_id, vin, ${columns})
       select 10000000 + nr, 'WVWZZZ1JZ' || lpad(upper(to_hex(nr * 2654435761 % 4294967296)), 8, '0'), ${columns}
       from generate_series(1, ${count}) as nr
       join (select *, row_number() over () as place from core.evaluation) as known on place = 1 + nr % 20`,
    )
    await client.query('analyze core.evaluation')
  } finally {
    client.release(true)
  }
}
