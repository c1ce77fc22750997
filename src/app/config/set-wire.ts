import { isDeepStrictEqual } from 'node:util'
import { isAlias, isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { interpolate } from '../../values/interpolate.ts'
import type { JsonPath } from '../../values/json-path.ts'

/** A value for a setting below `wire`, and the reason that is written above it. */
interface WireValue {
  /** Below `wire`, with dots. */
  readonly setting: string
  readonly value: JsonPath
  readonly reason: string
}

/** A text that cannot be edited without a loss. The message says where. */
export class UneditableText extends Error {
  override readonly name = 'UneditableText'
}

/** Pure. The text of a config file with these settings; every other line, comment and order stays. UneditableText: it would not. */
export function withWireValues(text: string, values: readonly WireValue[]): string {
  const before = interpolate.mask(text)
  const after = values.reduce(withValue, before)
  const wanted = toJs(before) as Record<string, unknown>
  for (const { setting, value } of values) setAt(wanted, ['wire', ...setting.split('.')], value)
  const isWhole =
    isDeepStrictEqual(toJs(after), wanted) &&
    isSubsequence(listComments(before), listComments(after))
  if (!isWhole) throw new UneditableText('has a form that this program does not edit')
  return interpolate.unmask(after)
}

/** The lines that differ, with `+` or `-` in front. */
export function changedLines(before: string, after: string): string[] {
  const [old, next] = [before, after].map((text) => text.split(/\r?\n/)) as [string[], string[]]
  const lines: string[] = []
  for (let [at, to] = [0, 0]; at < old.length || to < next.length; ) {
    if (at < old.length && old[at] === next[to]) {
      at += 1
      to += 1
    } else if (at >= old.length || next.indexOf(old[at]!, to) >= 0) {
      lines.push(`+ ${next[to]}`)
      to += 1
    } else {
      lines.push(`- ${old[at]}`)
      at += 1
    }
  }
  return lines
}

const mark = '(forecourt wire)'

/** Whether this program has written the setting at a line (from 1 on), as its comment above says. */
export function isWritten(text: string, line: number, setting: string): boolean {
  const above = text.split(/\r?\n/).slice(0, line - 1)
  const comments = above.slice(above.findLastIndex((each) => !each.endsWith(mark)) + 1)
  return comments.some((each) => each.trimStart().startsWith(`# ${setting.split('.').at(-1)}:`))
}

function withValue(text: string, { setting, value, reason }: WireValue): string {
  const document = parseDocument(text, { merge: true })
  const names = ['wire', ...setting.split('.')]
  const entry = { value: JSON.stringify(value), comment: `# ${names.at(-1)}: ${reason} ${mark}` }
  if (document.contents === null) return appended(text, names, entry)
  let map = requireMap(document.contents)
  if (map.flow === true) return inFlow(text, map, names, entry)
  let group: Pair | undefined
  for (const [depth, name] of names.entries()) {
    const pair = findPair(map, name)
    const left = names.slice(depth)
    if (pair === undefined)
      return group ? insertedBelow(text, group, left, entry) : appended(text, names, entry)
    const rest = left.slice(1)
    if (rest.length === 0) return replaced(text, pair, entry)
    if (isEmptyScalar(pair.value)) return insertedBelow(text, pair, rest, entry)
    map = requireMap(pair.value)
    if (map.flow === true) return inFlow(text, map, rest, entry)
    group = pair
  }
  throw new UneditableText('has no place for it')
}

function requireMap(node: unknown): YAMLMap {
  if (isAlias(node)) throw new UneditableText('has an alias there')
  if (!isMap(node)) throw new UneditableText('has something else in place of a group')
  if (node.anchor !== undefined || node.tag !== undefined)
    throw new UneditableText('has an anchor or a tag there')
  return node
}

function findPair(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && key.value === name)
}

function isEmptyScalar(node: unknown): boolean {
  return (
    node === null ||
    (isScalar(node) &&
      node.value === null &&
      (node.range === undefined || node.range === null || node.range[0] === node.range[1]))
  )
}

function nodeStart(node: unknown): number {
  return (node as { range: readonly number[] }).range[0]!
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  return end < 0 ? text.length : end + 1
}

function endOfLine(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** A setting as it is written. */
interface Entry {
  /** As JSON. */
  readonly value: string
  /** The line above it. */
  readonly comment: string
}

/** A text, with the lines of a setting in a group of its own groups below it. */
function withLines(
  text: string,
  names: readonly string[],
  indent: string,
  { value, comment }: Entry,
): string {
  const eol = endOfLine(text)
  const groups = names.slice(0, -1).map((name, depth) => `${indent}${'  '.repeat(depth)}${name}:`)
  const lineIndent = indent + '  '.repeat(names.length - 1)
  const lines = [...groups, lineIndent + comment, `${lineIndent}${names.at(-1)}: ${value}`]
  const whole = text === '' || text.endsWith('\n') ? text : text + eol
  return whole + lines.map((line) => line + eol).join('')
}

function appended(text: string, names: readonly string[], entry: Entry): string {
  if (/^\.\.\./m.test(text)) throw new UneditableText('has an end of the document')
  return withLines(text, names, '', entry)
}

/** Below the line of the group, before what it has already. */
function insertedBelow(text: string, group: Pair, names: readonly string[], entry: Entry): string {
  const key = nodeStart(group.key)
  const first = isMap(group.value) ? group.value.items[0] : undefined
  const column = (offset: number) => offset - lineStart(text, offset)
  const indent = ' '.repeat(first === undefined ? column(key) + 2 : column(nodeStart(first.key)))
  const at = lineEnd(text, key)
  return withLines(text.slice(0, at), names, indent, entry) + text.slice(at)
}

function replaced(text: string, pair: Pair, { value, comment }: Entry): string {
  const node = pair.value as { range?: readonly number[] | null; anchor?: string } | null
  if (isAlias(node) || node?.anchor !== undefined)
    throw new UneditableText('has an anchor or an alias there')
  const key = pair.key as { range: readonly number[] }
  if (isEmptyScalar(pair.value)) {
    const colon = text.indexOf(':', key.range[1]!) + 1
    const edited = `${text.slice(0, colon)} ${value}${text.slice(colon)}`
    return commented(edited, key.range[0]!, comment)
  }
  const [start, end] = node!.range as [number, number]
  if (/(^|\s)#/.test(text.slice(start, end)))
    throw new UneditableText('has a comment inside of the value')
  const old = text.slice(start, end)
  const tail = old.slice(old.trimEnd().length)
  return commented(text.slice(0, start) + value + tail + text.slice(end), key.range[0]!, comment)
}

function inFlow(text: string, map: YAMLMap, names: readonly string[], entry: Entry): string {
  const [name = '', ...rest] = names
  const pair = findPair(map, name)
  if (pair !== undefined)
    return rest.length === 0
      ? replaced(text, pair, entry)
      : inFlow(text, requireMap(pair.value), rest, entry)
  const open = nodeStart(map) + 1
  const inner = names.reduceRight(
    (below, each) => `${each}: ${below.startsWith('"') ? below : `{ ${below} }`}`,
    entry.value,
  )
  const next = text.slice(open).trimStart().startsWith('}') ? ' ' : ','
  return commented(`${text.slice(0, open)} ${inner}${next}${text.slice(open)}`, open, entry.comment)
}

/** With the comment above the line of an offset, in place of an earlier one of this program about the same setting. */
function commented(text: string, offset: number, comment: string): string {
  const at = lineStart(text, offset)
  const indent = /^[ \t]*/.exec(text.slice(at))![0]
  const name = comment.slice(0, comment.indexOf(':') + 1)
  const above = text.slice(0, at).split(/(?<=\n)/)
  let line = above.length - 1
  while (
    line >= 0 &&
    above[line]!.trimEnd().endsWith(mark) &&
    !above[line]!.trimStart().startsWith(name)
  )
    line -= 1
  const isOwn = line >= 0 && above[line]!.trimEnd().endsWith(mark)
  if (isOwn) above.splice(line, 1)
  return `${above.join('')}${indent}${comment}${endOfLine(text)}${text.slice(at)}`
}

function toJs(text: string): unknown {
  const document = parseDocument(text, { merge: true })
  if (document.errors.length > 0) throw new UneditableText('is not valid YAML')
  return document.toJS() ?? {}
}

function setAt(
  tree: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  value: JsonPath,
): void {
  if (rest.length === 0) tree[name] = value
  else {
    tree[name] ??= {}
    setAt(tree[name] as Record<string, unknown>, rest, value)
  }
}

/** The comments of a text, without those that this program wrote. */
function listComments(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => [line, line.search(/(?:^|\s)#/)] as const)
    .flatMap(([line, at]) => (at < 0 ? [] : line.slice(at).trim()))
    .filter((line) => !line.endsWith(mark))
}

function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const each of whole) if (each === part[at]) at += 1
  return at === part.length
}
