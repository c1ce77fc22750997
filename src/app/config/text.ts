import { type Document, LineCounter, parseDocument } from 'yaml'
import { interpolate, type ReferenceFault } from '../../values/interpolate.ts'

/** A problem, its place, and what to do: `problem` follows the path. Never has a value, which may be a secret. */
export interface Problem {
  readonly path: readonly PropertyKey[]
  readonly problem: string
}

/** A parsed config text. `lineOf` gives the line of a setting, or of the nearest node around it. */
interface ReadText {
  readonly value: unknown
  readonly problems: readonly Problem[]
  lineOf(path: readonly PropertyKey[]): number
  /** The first environment variable that a setting names; null: none. */
  findVariable(path: readonly string[]): string | null
}

/** Not valid YAML: one message for each error, with its line. */
interface BrokenText {
  readonly broken: readonly { readonly line: number; readonly message: string }[]
}

/** Parses YAML with `${NAME}` in it and fills in the environment. */
export function readText(
  text: string,
  variables: Readonly<Record<string, string | undefined>>,
): ReadText | BrokenText {
  const lines = new LineCounter()
  const masked = interpolate.mask(text)
  const document = parseDocument(masked, { lineCounter: lines, prettyErrors: false, merge: true })
  if (document.errors.length > 0) return { broken: syntaxFaults(document, masked, lines) }
  let tree: unknown
  try {
    tree = document.toJS()
  } catch (error) {
    return { broken: [{ line: 1, message: notYaml(error as Error) }] }
  }
  const { value, faults } = interpolate.fill(tree ?? {}, variables)
  const lineOf = (path: readonly PropertyKey[]) => lineOfPath(document.contents, path, lines)
  const findVariable = (path: readonly string[]) =>
    interpolate.variableIn(
      path.reduce<unknown>(
        (node, name) => (node as Record<string, unknown> | null | undefined)?.[name],
        tree,
      ),
    )
  return { value, problems: faults.map(referenceProblem), lineOf, findVariable }
}

function syntaxFaults({ errors }: Document.Parsed, text: string, lines: LineCounter) {
  const twice = errors.filter(({ code }) => code === 'DUPLICATE_KEY')
  const syntax = errors.filter(({ code }) => code !== 'DUPLICATE_KEY')
  // One syntax error breaks everything after it, so only the first is useful.
  const found = syntax.length > 0 ? syntax.slice(0, 1) : twice
  return found.map((error) => {
    const line = lines.linePos(error.pos[0]).line
    const key = /^[^\s:,{}]*/.exec(text.slice(error.pos[0]))?.[0]
    const duplicate = `${interpolate.unmask(key ?? '')} is set twice in the same group: keep one of the two.`
    return { line, message: error.code === 'DUPLICATE_KEY' ? duplicate : notYaml(error) }
  })
}

// The part after the colon quotes the text, which may be a secret.
function notYaml({ message }: Error): string {
  return `is not valid YAML (${message.split(/: |\n/)[0]}): correct the line.`
}

function referenceProblem({ name, path }: ReferenceFault): Problem {
  const problem =
    name === null
      ? `has a "\${" that does not begin \${NAME} or \${NAME:-default}: correct it, or write "$\${" for a plain "\${".`
      : `needs the environment variable ${name}, which is not set: set it or add it to .env beside the config, or give a default with \${${name}:-default}.`
  return { path, problem }
}

interface Node {
  readonly range?: readonly number[] | null
  readonly items?: readonly unknown[]
  readonly value?: unknown
  readonly key?: Node & { readonly value?: unknown }
}

function lineOfPath(root: unknown, path: readonly PropertyKey[], lines: LineCounter): number {
  let node = root as Node | null
  let offset = node?.range?.[0] ?? 0
  for (const part of path) {
    const items = (node?.items ?? []) as readonly Node[]
    const item = typeof part === 'number' ? items[part] : items.find((pair) => names(pair, part))
    if (!item) break
    offset = item.key?.range?.[0] ?? item.range?.[0] ?? offset
    node = (typeof part === 'number' ? item : item.value) as Node | null
  }
  return lines.linePos(offset).line
}

function names({ key }: Node, part: PropertyKey): boolean {
  return interpolate.unmask(String(key?.value)) === String(part)
}
