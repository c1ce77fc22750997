import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { runInProcess } from '../support/cli.ts'
import { type MartFixture, openMartFixture } from '../support/marts-fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Engines, openEngines } from './engines.ts'

type Row = readonly (string | boolean | null)[]

interface Report {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

let installed: Engines
let world: MartFixture
let lake: string

beforeAll(async () => {
  installed = await openEngines()
  world = await openMartFixture(1)
  const home = await temporaryFolder()
  const config = join(home.path, 'forecourt.yaml')
  lake = join(home.path, 'lake')
  const settings = { warehouse: { url: world.database.url }, lake: { to: lake } }
  await writeFile(config, JSON.stringify(settings))
  const { code, stderr } = await runInProcess(['--config', config, 'lake', 'export'], {
    cwd: home.path,
  })
  if (code !== 0) throw new Error(stderr)
  return async () => {
    await installed[Symbol.asyncDispose]()
    await world[Symbol.asyncDispose]()
    await home[Symbol.asyncDispose]()
  }
})

const sorted = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort()

/** The rows without how long ago something was, which goes on after the export; the lake has less of it, by half an hour at most. */
function splitHours({ columns, rows }: Omit<Report, 'name'>) {
  const at = columns.indexOf('hours_behind')
  return {
    rows: sorted(rows.map((row) => row.map((value, no) => (no === at ? value !== null : value)))),
    hours: rows.map((row) => Number(row[at] ?? 0)).sort((a, b) => a - b),
  }
}

/** The report in Postgres, with values as the script writes them: instants in microseconds, which an engine may round to `instantMicros`. */
async function inPostgres(name: string, instantMicros: number): Promise<Omit<Report, 'name'>> {
  const { pool } = world.database
  const { rows: columns } = await pool.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'mart' and table_name = $1 order by ordinal_position`,
    [name],
  )
  const values = columns.map(({ name: column, type }) => {
    if (type === 'boolean') return column
    if (type === 'date') return `(${column} - date '1970-01-01')::text`
    if (type.startsWith('timestamp'))
      return `(round(extract(epoch from ${column}) * 1000000 / ${instantMicros}) * ${instantMicros})::text`
    return /int|numeric/.test(type) ? `trim_scale(${column}::numeric)::text` : `${column}::text`
  })
  const { rows } = await pool.query<(string | boolean | null)[]>({
    text: `select ${values.join(', ')} from mart.${name}`,
    rowMode: 'array',
  })
  return { columns: columns.map((column) => column.name), rows }
}

test.for(['duckdb-delta', 'spark', 'trino'] as const)(
  '%s calculates the fifteen reports from the facts as Postgres does',
  async (engine, { skip }) => {
    skip(installed.missing[engine] !== undefined, installed.missing[engine])
    const child = installed.start('reports.py', engine, lake)

    const [output, faults] = await Promise.all([text(child.stdout), text(child.stderr)])

    const lines = output.split('\n').filter((line) => line !== '')
    expect(lines, faults.slice(-3000)).toHaveLength(15)
    for (const report of lines.map((line) => JSON.parse(line) as Report)) {
      const { name, columns } = report
      const expected = await inPostgres(name, engine === 'trino' ? 1000 : 1)
      expect([name, columns]).toEqual([name, expected.columns])
      const [found, wanted] = [splitHours(report), splitHours(expected)]
      expect([name, found.rows]).toEqual([name, wanted.rows])
      expect([name, found.rows.length]).not.toEqual([name, 0])
      for (const [no, hours] of found.hours.entries()) {
        expect(wanted.hours[no]! - hours).toBeGreaterThanOrEqual(0)
        expect(wanted.hours[no]! - hours).toBeLessThan(0.5)
      }
    }
  },
)
