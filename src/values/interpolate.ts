// `${NAME}` is not plain YAML inside `{ … }`, so it is masked before the parser sees it and filled in afterwards,
// in values only: a comment may name a variable that is not set.

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

export interface MissingVariable {
  readonly name: string
  readonly path: readonly PropertyKey[]
}

function mask(text: string): string {
  return text.replaceAll(reference, (whole) => `__env-${Buffer.from(whole).toString('hex')}-env__`)
}

function fill(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
): { value: unknown; missing: MissingVariable[] } {
  const missing: MissingVariable[] = []
  const fillText = (text: string, path: readonly PropertyKey[]) =>
    unmask(text).replaceAll(reference, (_, name: string, fallback: string | undefined) => {
      const found = variables[name]
      if (found !== undefined && (found !== '' || fallback === undefined)) return found
      if (fallback !== undefined) return fallback
      missing.push({ name, path })
      return ''
    })
  const walk = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof node === 'string') return fillText(node, path)
    if (Array.isArray(node)) return node.map((item, index) => walk(item, [...path, index]))
    if (node === null || typeof node !== 'object' || node instanceof Date) return node
    return Object.fromEntries(
      Object.entries(node).map(([key, item]) => [unmask(key), walk(item, [...path, key])]),
    )
  }
  return { value: walk(value, []), missing }
}

function unmask(text: string): string {
  return text.replaceAll(/__env-([0-9a-f]+)-env__/g, (_, encoded: string) =>
    Buffer.from(encoded, 'hex').toString('utf8'),
  )
}

/** `${NAME}` and `${NAME:-default}` in a config text: `mask` before parsing, `fill` after. */
export const interpolate = { mask, fill }
