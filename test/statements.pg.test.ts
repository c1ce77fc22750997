import type pg from 'pg'
import { expect, test } from 'vitest'
import { readSources } from './support/imports.ts'
import { createTestDatabase } from './support/postgres.ts'
import { statementsIn } from './support/sql-statements.ts'

/** Prepares every statement, which finds a misspelt table, column or type. `open` cannot be prepared alone: it is a part of another
 *  statement, needs a temporary table, or is put together at run time. */
async function prepareAll(
  pool: pg.Pool,
  sources: ReadonlyMap<string, string>,
): Promise<{ prepared: number; open: string[]; faults: string[] }> {
  const found = { prepared: 0, open: [] as string[], faults: [] as string[] }
  for (const { place, text } of statementsIn(sources)) {
    const fault =
      text === null
        ? 'put together at run time'
        : await pool.query(`prepare one as ${text}\n; deallocate one`).then(
            () => null,
            ({ message }: Error) => message,
          )
    if (fault === null) found.prepared += 1
    // A relation without a schema is a temporary one, or one of the statement around this part. A value without a type is not a fault.
    else if (
      /at run time|syntax error|relation "\w+"|FROM-clause|function|data type of/.test(fault)
    )
      found.open.push(`${place} ${fault}`)
    else found.faults.push(`${place} ${fault}`)
  }
  return found
}

test('every statement of the source fits the schema', async () => {
  await using database = await createTestDatabase()

  const { prepared, open, faults } = await prepareAll(database.pool, await readSources(['src']))

  expect(faults).toEqual([])
  expect(prepared).toBeGreaterThan(400)
  // May only fall: a fault in one of these is found by nothing but a run of its path.
  expect(open.length, open.join('\n')).toBeLessThanOrEqual(91)
})

test('a misspelt column of a part, and a misspelt table, are named', async () => {
  await using database = await createTestDatabase()
  const sources = new Map([
    [
      'src/a.ts',
      `import { sql } from 'kysely'
const columns = sql\`rooftop_id, rooftop_naem\`
export const read = (id: number) => sql\`select \${columns} from core.rooftop where rooftop_id = \${id}\`
export const good = 'select rooftop_uid from core.rooftop where rooftop_id = $1'
`,
    ],
    ['src/b.ts', "export const lost = 'delete from core.roftop where rooftop_id = $1'\n"],
    ['src/c.ts', `export const at = (table: string) => \`select 1 from \${table}\`\n`],
  ])

  expect(await prepareAll(database.pool, sources)).toEqual({
    prepared: 1,
    open: ['src/c.ts:1 put together at run time'],
    faults: [
      'src/a.ts:3 column "rooftop_naem" does not exist',
      'src/b.ts:1 relation "core.roftop" does not exist',
    ],
  })
})
