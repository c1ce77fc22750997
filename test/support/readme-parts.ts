import { z } from 'zod'
import { wireSettings } from '#src/values/wire.ts'

interface Schema {
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

/** The README's table of wire settings, made from the schema that validates them. */
export function wireTable(): string {
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

const markers = /(<!-- wire:begin -->\n)[\s\S]*?(<!-- wire:end -->)/

/** The README with its generated parts as they should be. */
export function withParts(readme: string): string {
  return readme.replace(
    markers,
    (_, begin: string, end: string) => `${begin}${wireTable()}\n${end}`,
  )
}
