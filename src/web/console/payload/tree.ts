import { HiddenValue } from '../../../sync/records/mask-payload.ts'
import { type Html, html } from '../../../values/html.ts'
import type { Issue } from '../../../values/record.ts'
import { badge } from '../parts/badge.ts'

/** A part of a payload: what is at a path. */
export interface PayloadNode {
  /** The name of the field, or the position in a list. */
  readonly name: string
  /** An object or a list has children instead. */
  readonly value?: string
  readonly kind: string
  readonly isHidden?: true
  /** What is wrong with it. */
  readonly issues?: readonly string[]
  readonly children?: readonly PayloadNode[]
}

/** Parts of a payload that are shown at most, so that the page stays small. */
const maxNodes = 400
const longestText = 300

/** A masked body as a tree, with its issues where they belong. `left`: how many parts were left out. */
export function buildTree(
  body: unknown,
  issues: readonly Issue[],
): { readonly root: PayloadNode; readonly left: number } {
  let [count, left] = [0, 0]
  const walk = (name: string, value: unknown, path: string): PayloadNode => {
    count++
    const messages = issues.filter((issue) => isAt(path, issue.path)).map(({ message }) => message)
    const node = {
      name,
      kind: valueKind(value),
      ...(messages.length === 0 ? {} : { issues: messages }),
    }
    if (value instanceof HiddenValue) return { ...node, isHidden: true }
    if (value === null || typeof value !== 'object') return { ...node, value: shortValue(value) }
    const entries = Object.entries(value)
    const shown = entries.slice(0, Math.max(0, maxNodes - count))
    left += entries.length - shown.length
    const children = shown.map(([key, item]: [string, unknown]) =>
      walk(key, item, path === '' ? key : `${path}.${key}`),
    )
    return { ...node, children }
  }
  const root = walk('', body, '')
  return { root, left }
}

/** What a JSON value is, in a word. */
function valueKind(value: unknown): string {
  if (value === null) return 'null'
  if (value instanceof HiddenValue) return 'hidden'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'string' ? 'text' : typeof value
}

/** An issue names its path within the record, which may be an item of a list. */
function isAt(path: string, issuePath: string): boolean {
  return path !== '' && (path === issuePath || path.replace(/^\d+\./, '') === issuePath)
}

function shortValue(value: unknown): string {
  const text = String(value)
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text
}

/** Whether it or anything below it has an issue. */
function hasIssue({ issues, children = [] }: PayloadNode): boolean {
  return issues !== undefined || children.some(hasIssue)
}

/** The tree as nested lists; what has an issue is open, and so is the first level. */
export function drawTree(root: PayloadNode): Html {
  return html`<div class="tree">${drawNode(root, true)}</div>`
}

function drawNode(node: PayloadNode, isRoot = false): Html {
  const { name, kind, children, issues = [] } = node
  const label = html`${!isRoot && html`<code>${name}</code> `}${issues.map((issue) => html`${badge(issue, 'bad')} `)}`
  if (children === undefined) return html`${label}${drawValue(node)}`
  const isOpen = isRoot || hasIssue(node)
  const size = `${kind} of ${children.length}`
  return html`<details${isOpen ? html` open` : ''}><summary>${label}<small>${size}</small></summary><ul>${children.map((child) => html`<li>${drawNode(child)}</li>`)}</ul></details>`
}

function drawValue({ kind, value, isHidden }: PayloadNode): Html {
  if (isHidden === true) return html`<small>hidden</small>`
  if (kind === 'text') return html`“${value}”`
  return html`<code>${value}</code>`
}
