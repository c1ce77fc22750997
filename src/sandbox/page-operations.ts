import type { Encoding, Operation } from '../contract/operation.ts'
import type { WireSettings } from '../values/wire.ts'
import { type ExampleCall, exampleCalls } from './example-calls.ts'
import { curlCommand, forecourtCommand } from './example-commands.ts'
import type { JsonSchema } from './json-schema.ts'
import { type WireField, wireFields } from './openapi-fields.ts'
import { effectTexts, operationGroups, serviceTitles } from './operation-groups.ts'
import { codeBlock, type Content, type Html, html, table } from './page-html.ts'
import type { SandboxState } from './sandbox-state.ts'

/** The id of a heading, for links within the page. */
export function anchorOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

/** Every operation in its group, each with an example that this sandbox answers. */
export function operationsSection(service: SandboxState): Html {
  const exampleOf = exampleCalls(service)
  return html`<section id="operations" aria-labelledby="operations-title">
  <h2 id="operations-title">Operations</h2>
  <p>Each call below is filled in with a key, a rooftop and an evaluation of this sandbox, ready to run. Ids of webhooks,
    searches, batches and predictions come from the call that makes them. <code>forecourt api</code> needs the config
    that <code>forecourt sandbox</code> prints.</p>
  <p class="filter" hidden><label for="filter">Filter</label>
    <input id="filter" type="search" placeholder="path, effect, region or words" autocomplete="off"></p>
  ${operationGroups.map(
    (group) => html`<section class="group" aria-labelledby="${anchorOf(group.name)}">
    <h3 id="${anchorOf(group.name)}">${group.name} <small>${serviceTitles[group.service]}</small></h3>
    ${group.operations.map((one) => operationEntry(one, exampleOf(one), service.wire))}
  </section>`,
  )}
</section>`
}

function operationEntry(operation: Operation, example: ExampleCall, wire: WireSettings): Html {
  const { name, effect, region, summary, source, transport } = operation
  const { method, path } = transport(wire)
  return html`<details class="operation" id="op-${name}">
  <summary>
    <span class="method ${method.toLowerCase()}">${method}</span>
    <code class="path">${path}</code>
    <span class="badges"><span class="badge ${effect}" title="${effectTexts[effect]}">${effect}</span>
      ${region === null ? null : html`<span class="badge region">${region}</span>`}</span>
    <span class="about">${summary}</span>
  </summary>
  <div class="inside">
    <p>${effectTexts[effect]} Source: ${source}${askedAgain(operation)}</p>
    ${codeBlock('curl', curlCommand(example.request))}
    ${codeBlock('forecourt', forecourtCommand(operation, example))}
    ${fieldsTable(operation, wire)}
    ${statusTable(operation)}
  </div>
</details>`
}

function askedAgain({ polling: follow }: Operation): Html | null {
  if (follow === null) return null
  const { operation, everySeconds } = follow
  return html`. Asynchronous: ask <a href="#op-${operation}">${operation}</a> every ${everySeconds} s.`
}

const encodingTexts: Readonly<Record<Encoding, string>> = {
  query: 'in the query',
  json: 'as JSON',
  form: 'as a multipart form',
}

function fieldsTable(operation: Operation, wire: WireSettings): Html | null {
  const { path, rest } = wireFields(operation, wire)
  const { encoding } = operation.transport(wire)
  const rows = [
    ...path.map((field) => fieldRow(field, 'in the path')),
    ...rest.map((field) => fieldRow(field)),
    ...fileRow(operation, wire),
  ]
  if (rows.length === 0) return null
  const sent = rest.length === 0 ? '' : `, ${encodingTexts[encoding]}`
  return table(`Fields of ${operation.name}${sent}`, ['name', 'type', 'what it is'], rows)
}

function fieldRow({ name, schema, required }: WireField, place?: string): Content[] {
  const about = [place, schema.description].filter((text) => text !== undefined).join('; ')
  return [fieldName(name, required), typeText(schema), about]
}

function fileRow({ file }: Operation, wire: WireSettings): Content[][] {
  if (file === null) return []
  return [[fieldName(file.name(wire), file.required), 'file', file.description]]
}

function fieldName(name: string, required: boolean): Html {
  return html`<code>${name}</code>${required ? html` <span class="need">required</span>` : null}`
}

function typeText(schema: JsonSchema): string {
  if (Array.isArray(schema['enum'])) return schema['enum'].join(' | ')
  if (Array.isArray(schema['anyOf']))
    return (schema['anyOf'] as JsonSchema[]).map(typeText).join(' or ')
  if (schema.type === 'array') return `list of ${typeText(schema.items ?? {})}`
  const { minimum, maximum } = schema
  const isRange = typeof minimum === 'number' && typeof maximum === 'number'
  return `${[schema.type ?? 'any'].flat().join(' or ')}${isRange ? ` ${minimum}–${maximum}` : ''}`
}

function statusTable({ name, status, statuses }: Operation): Html {
  const all: Readonly<Record<number, string>> = { ...statuses, [status]: 'success' }
  const rows = Object.entries(all).map(([code, when]) => [
    html`<span class="status s${code.slice(0, 1)}">${code}</span>`,
    when,
  ])
  return table(`Statuses of ${name}`, ['status', 'when'], rows)
}
