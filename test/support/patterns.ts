import { stripTypeScriptTypes } from 'node:module'
import { parseAst } from 'vitest/node'

/** A regular expression of a source text. */
export interface Pattern {
  readonly line: number
  /** Between the slashes; of one that is put together at run time, the whole expression. */
  readonly source: string
  /** null: it is put together at run time. */
  readonly flags: string | null
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly regex?: { readonly pattern: string; readonly flags: string } | null
  readonly callee?: { readonly name?: string }
}

/** Every literal, and every call of `RegExp`, of a TypeScript text. */
export function patternsIn(text: string): Pattern[] {
  const found: Pattern[] = []
  const walk = (node: unknown): void => {
    if (node === null || typeof node !== 'object') return
    if (isNode(node)) {
      const line = text.slice(0, node.start).split('\n').length
      if (node.regex) found.push({ line, source: node.regex.pattern, flags: node.regex.flags })
      if (/^(New|Call)Expression$/.test(node.type) && node.callee?.name === 'RegExp')
        found.push({ line, source: text.slice(node.start, node.end), flags: null })
    }
    for (const part of Object.values(node)) walk(part)
  }
  // The types are replaced by blanks, so that every place stays what it was.
  walk(parseAst(stripTypeScriptTypes(text)))
  return found
}

function isNode(value: object): value is Node {
  return 'type' in value && 'start' in value
}
