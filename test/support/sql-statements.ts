import { stripTypeScriptTypes } from 'node:module'
import { parseAst } from 'vitest/node'

/** A statement of the source. */
export interface Statement {
  /** file:line */
  readonly place: string
  /** With $n for each value; null: a part of it is put together at run time. */
  readonly text: string | null
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [part: string]: unknown
}

type Names = ReadonlyMap<string, Node>

const statementStart =
  /^\s*(with( recursive)? \w+( \([^)]*\))? as|select|insert into|update \S+( as \w+)?\s+set|delete from|merge into)\s/i

/** Every SELECT, INSERT, UPDATE, DELETE and MERGE of the sources, together with the constants and functions that it is made of. */
export function statementsIn(sources: ReadonlyMap<string, string>): Statement[] {
  const files = [...sources].map(([path, source]) => {
    // The types are replaced by blanks, so that every place stays what it was.
    const nodes = nodesIn(parseAst(stripTypeScriptTypes(source)))
    return { path, source, nodes, names: namesIn(nodes) }
  })
  // A name of another file counts if one file alone declares it.
  const byName = Map.groupBy(
    files.flatMap(({ names }) => [...names.keys()].map((name) => ({ name, names }))),
    ({ name }) => name,
  )
  const namesWith = (name: string, names: Names): Names | undefined => {
    const others = byName.get(name) ?? []
    return names.has(name) ? names : others.length === 1 ? others[0]?.names : undefined
  }

  /** The SQL of an expression, `\0` for each value; null: only the run knows. A plain string is SQL outside of a `sql` tag alone. */
  function compose(node: Node, names: Names, isText: boolean, depth = 0): string | null {
    if (depth > 20) return null
    const next = (part: unknown, text = isText) => compose(part as Node, names, text, depth + 1)
    const join = (template: Node, part: (node: Node) => string | null) => {
      const parts = (template['expressions'] as Node[]).map((one) => part(one))
      const text = textsOf(template).map((one, index) => one + (parts[index] ?? ''))
      return parts.includes(null) ? null : text.join('')
    }
    const named = (name: unknown): string | null => {
      const found = namesWith(String(name), names)
      const definition = found?.get(String(name))
      return found && definition ? compose(definition, found, isText, depth + 1) : null
    }
    /** What a function of an object that a file declares gives. */
    const method = ({ object }: Node, name: string): string | null => {
      const owner = String((object as Node)['name'])
      const found = namesWith(owner, names)
      const members = (found?.get(owner)?.['properties'] ?? []) as { key?: Node; value: Node }[]
      const member = members.find(({ key }) => key?.['name'] === name)
      return found && member ? compose(member.value, found, isText, depth + 1) : null
    }
    switch (node.type) {
      case 'Literal':
        return isText ? String(node['value']) : null
      case 'TemplateLiteral':
        return isText ? join(node, next) : null
      case 'TaggedTemplateExpression':
        return join(
          node['quasi'] as Node,
          (part) => next(part, false) ?? (isSqlCall(part) ? null : '\0'),
        )
      case 'ConditionalExpression':
        return next(node['consequent']) || next(node['alternate'])
      case 'Identifier':
        return named(node['name']) ?? (!isText && node['name'] === 'schema' ? 'mart' : null)
      case 'MemberExpression':
        return (node['property'] as Node)['name'] === 'schema' ? 'mart' : null
      case 'CallExpression': {
        const [first] = node['arguments'] as Node[]
        const callee = node['callee'] as Node
        const name = ((callee['property'] ?? callee) as Node)['name']
        if (name === 'martSchema') return 'mart'
        if (!isSqlCall(node))
          return callee.type === 'Identifier' ? named(name) : method(callee, String(name))
        if (name === 'raw') return next(first, true)
        return ['lit', 'val', 'join'].includes(String(name)) ? '\0' : null
      }
      case 'ArrowFunctionExpression':
      case 'FunctionDeclaration': {
        const body = node['body'] as Node
        const last = body.type === 'BlockStatement' ? (body['body'] as Node[]).at(-1) : undefined
        const result = last === undefined ? body : last['argument']
        return result ? next(result) : null
      }
      default:
        return null
    }
  }

  return files.flatMap(({ path, source, nodes, names }) => {
    const tagged = new Set(nodes.filter(isTagged).map(({ quasi }) => quasi))
    const written = nodes.filter((node) => !tagged.has(node) && statementStart.test(startOf(node)))
    return written.map((node) => {
      let values = 0
      const text = compose(node, names, true)?.replaceAll('\0', () => `$${++values}`) ?? null
      return { place: `${path}:${source.slice(0, node.start).split('\n').length}`, text }
    })
  })
}

function isTagged(node: Node): boolean {
  return node.type === 'TaggedTemplateExpression' && (node['tag'] as Node)['name'] === 'sql'
}

function isSqlCall(node: Node): boolean {
  const callee = node['callee'] as { object?: Node } | undefined
  return node.type === 'CallExpression' && callee?.object?.['name'] === 'sql'
}

function textsOf(template: Node): string[] {
  return (template['quasis'] as { value: { cooked: string } }[]).map(({ value }) => value.cooked)
}

function startOf(node: Node): string {
  if (node.type === 'Literal') return String(node['value'])
  if (node.type === 'TemplateLiteral') return textsOf(node)[0] ?? ''
  return isTagged(node) ? startOf(node['quasi'] as Node) : ''
}

function nodesIn(value: unknown, found: Node[] = []): Node[] {
  if (value === null || typeof value !== 'object') return found
  if ('type' in value && 'start' in value) found.push(value as Node)
  for (const part of Object.values(value)) nodesIn(part, found)
  return found
}

/** The definition of each name that a file declares once. */
function namesIn(nodes: readonly Node[]): Names {
  const all = nodes.flatMap((node) => {
    const name = (node['id'] as Node | null | undefined)?.['name']
    const definition = node.type === 'FunctionDeclaration' ? node : (node['init'] as Node | null)
    return typeof name === 'string' && definition ? [{ name, definition }] : []
  })
  const once = [...Map.groupBy(all, ({ name }) => name).values()].filter(
    ({ length }) => length === 1,
  )
  return new Map(once.map(([one]) => [one!.name, one!.definition]))
}
