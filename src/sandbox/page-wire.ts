import { z } from 'zod'
import { type WireSettings, wireSettings } from '../values/wire.ts'
import type { JsonSchema } from './json-schema.ts'
import { type Html, html, table } from './page-html.ts'

/** A wire setting: a name that the documents do not show, with its value here. */
export interface WireRow {
  /** Dotted, without `wire.`. */
  readonly setting: string
  readonly value: string
  readonly defaultValue: string
  /** Its meaning, and the section that does not show it. */
  readonly note: string
}

/** Every wire setting in the order of the schema that validates them. */
export function wireRows(wire: WireSettings): WireRow[] {
  return rowsOf(z.toJSONSchema(wireSettings, { io: 'input' }) as JsonSchema, wire, '', '')
}

function rowsOf(schema: JsonSchema, values: unknown, prefix: string, inherited: string): WireRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const value = Object(values)[name] as unknown
    const note = part.description ?? inherited
    if (part.properties) return rowsOf(part, value, `${prefix}${name}.`, note)
    return [
      { setting: prefix + name, value: shown(value), defaultValue: shown(part['default']), note },
    ]
  })
}

function shown(value: unknown): string {
  return JSON.stringify(value).replaceAll('","', '", "')
}

/** The wire names in force: changed ones first, then all. */
export function wireSection(wire: WireSettings): Html {
  const rows = wireRows(wire)
  const changed = rows.filter(({ value, defaultValue: usual }) => value !== usual)
  const summary =
    changed.length === 0
      ? 'All of them are at their defaults.'
      : `${changed.length} of ${rows.length} differ from the default.`
  return html`<section id="wire" aria-labelledby="wire-title">
  <h2 id="wire-title">Wire names</h2>
  <p>Names that the documents do not show. This sandbox uses the ones below, which are the <code>wire</code> section of
    the config. ${summary}</p>
  ${changed.length === 0 ? null : wireTable('Changed wire names', changed)}
  ${wirePart('Appraisal service', 'appraisal.', rows)}
  ${wirePart('Vehicle-data APIs', 'vehicleData.', rows)}
</section>`
}

function wirePart(title: string, prefix: string, rows: readonly WireRow[]): Html {
  const own = rows.filter(({ setting }) => setting.startsWith(prefix))
  return html`<details class="part"><summary>${title} <small>${own.length} names</small></summary>
  ${wireTable(`Wire names: ${title}`, own)}
</details>`
}

function wireTable(caption: string, rows: readonly WireRow[]): Html {
  const headings = ['setting', 'value', 'default', 'left open by']
  const cells = rows.map(({ setting, value, defaultValue: usual, note }) => [
    html`<code>wire.${setting}</code>`,
    value === usual
      ? html`<code>${value}</code>`
      : html`<strong><code>${value}</code></strong> <span class="badge changed">changed</span>`,
    html`<code>${usual}</code>`,
    note,
  ])
  return table(caption, headings, cells)
}
