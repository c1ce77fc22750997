import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import { knownNames } from '../../values/nearest-name.ts'
import { toScopedSchema } from '../../warehouse/db/mart-files.ts'
import type { MartReader, MartTable } from './mart-reader.ts'
import { argumentText, defineTool, type Tool, type ToolAnswer } from './tool.ts'

const table = {
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z
    .array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])))
    .describe('Cells in the order of the columns; numeric and int8 may be texts, times are UTC'),
  truncated: z.boolean().describe('There are more rows than these: the limits cut them off'),
  cutCells: z.number().describe('How many cells were too long: they end with …'),
}

/** The tools that need nothing but a BI login. */
export function martTools(reader: MartReader): Tool[] {
  const { login, schema } = reader
  return [
    defineTool({
      ...{ login, name: 'query' },
      title: 'Query the marts',
      description: `Runs one SQL query (select, values, with) of Postgres on the views of the schema ${schema}, read-only and with a time limit. Use "describe" first for views and columns, and limit and aggregate in SQL: long answers are cut off. Beside every amount is its currency_code: never add amounts of several currencies.`,
      input: { sql: argumentText(20_000).describe('One statement, without parameters') },
      output: table,
      read: async ({ sql }) => answer(await reader.read(sql)),
    }),
    defineTool({
      ...{ login, name: 'describe' },
      title: 'Describe a view or a column',
      description:
        'The dictionary of the marts: without arguments every view with its grain and key; with a view its columns with types, meanings, units and joins; with a column the views that have it.',
      input: {
        view: argumentText(63).optional().describe('Name without schema, e.g. evaluation_wide'),
        column: argumentText(63).optional().describe('Name of a column, e.g. final_price'),
      },
      output: table,
      read: async ({ view, column }) => {
        const found = await readDictionary(reader, view, column)
        if (found.rows.length === 0) throw await unknownName(reader, view, column)
        return answer(found)
      },
    }),
    defineTool({
      ...{ login, name: 'coverage' },
      title: 'How fresh and complete the data is',
      description:
        'Per rooftop and stream: until when everything is loaded, gaps, quarantined records, the last good run. What is not ok comes first. Check it before you answer with numbers of the marts.',
      input: {
        rooftop: argumentText(200).optional().describe('Part of the name of a rooftop'),
        stream: argumentText(40).optional().describe('e.g. evaluations'),
      },
      output: table,
      read: async ({ rooftop, stream }) =>
        answer(await reader.read(inSchema(freshness, schema), [rooftop ?? null, stream ?? null])),
    }),
  ]
}

function answer(found: MartTable): ToolAnswer {
  const { truncated, rows } = found
  return { content: { ...found }, facts: { rows: rows.length, truncated } }
}

/** The dictionary: all views, the columns of one, or the views with a column. */
export async function readDictionary(
  { read, schema }: MartReader,
  view?: string,
  column?: string,
): Promise<MartTable> {
  return await read(inSchema(dictionary, schema), [view ?? null, column ?? null])
}

/** A statement on `mart` for the schema of the login. */
function inSchema(sql: string, schema: MartReader['schema']): string {
  return schema === 'mart' ? sql : toScopedSchema(sql)
}

const dictionary = `
  select view_name, column_name, data_type, description, unit, source, joins_to, grain, key_columns, history, freshness
  from mart.data_dictionary
  where ($1::text is null or view_name = $1) and ($2::text is null or column_name = $2)
    and ($1 is not null or $2 is not null or column_name is null)
  order by view_name, position`

const freshness = `
  select * from mart.data_freshness
  where ($1::text is null or strpos(lower(rooftop_name), lower($1)) > 0) and ($2::text is null or stream = $2)
  order by status in ('ok', 'retired'), rooftop_name, stream`

async function unknownName(reader: MartReader, view?: string, column?: string) {
  const { rows } = await readDictionary(reader)
  const names = rows.map(([name]) => String(name))
  if (view === undefined || names.includes(view))
    return new UsageError(
      `No such column: ${column}${view === undefined ? '' : ` in ${view}`}. Describe a view to see its columns.`,
    )
  return new UsageError(`There is no view "${view}"${knownNames(view, names)}`)
}
