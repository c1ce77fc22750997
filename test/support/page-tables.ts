import { z } from 'zod'
import { allCommands } from '#src/app/commands/all.ts'
import { wireSettings } from '#src/values/wire.ts'

/** The tables that are made from the code, by page and by the name of their markers. */
export const pageTables: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'src/app/config/README.md': { wire: wireTable },
  'src/app/commands/README.md': { commands: commandTable },
}

/** The page with its tables as they should be. */
export function withTables(page: string, text: string): string {
  return Object.entries(pageTables[page]!).reduce(
    (whole, [name, table]) =>
      whole.replace(
        new RegExp(`(<!-- ${name}:begin -->\n)[\\s\\S]*?(<!-- ${name}:end -->)`),
        (_, begin: string, end: string) => `${begin}${table()}\n${end}`,
      ),
    text,
  )
}

function commandTable(): string {
  const rows = allCommands.map(
    ({ usage, summary }) => `| \`${usage}\` | ${summary.replaceAll(/[|<]/g, '\\$&')} |`,
  )
  return ['| command | does |', '|---|---|', ...rows].join('\n')
}

interface Schema {
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

function wireTable(): string {
  const schema = z.toJSONSchema(wireSettings, { io: 'input' }) as Schema
  const rows = settings(schema, '', '').map(
    ({ path, fallback, note }) => `| \`${path}\` | \`${fallback}\` | ${note} |`,
  )
  return ['| `wire.` setting | default | left open by |', '|---|---|---|', ...rows].join('\n')
}

function settings(
  schema: Schema,
  prefix: string,
  inherited: string,
): { path: string; fallback: string; note: string }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const note = part.description ?? inherited
    if (part.properties) return settings(part, `${prefix}${name}.`, note)
    const fallback = JSON.stringify(part.default).replaceAll('","', '", "')
    return [{ path: `${prefix}${name}`, fallback, note }]
  })
}
