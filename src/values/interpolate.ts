// `${NAME}` is not plain YAML inside `{ … }`, so it is masked before the parser sees it and filled in afterwards,
// in values only: a comment may name a variable that is not set. `$${` gives a plain `${`.

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]*))?\}/g
const maskable = new RegExp(`\\$\\$\\{[^}\\n]*\\}?|${reference.source}`, 'g')

/** A reference that cannot be filled in, and where it is. */
export interface ReferenceFault {
  readonly path: readonly PropertyKey[]
  /** The variable that is not set; null: `${` begins no reference. */
  readonly name: string | null
}

type Variables = Readonly<Record<string, string | undefined>>

function mask(text: string): string {
  return text.replaceAll(maskable, (whole) => `__env-${Buffer.from(whole).toString('hex')}-env__`)
}

function unmask(text: string): string {
  return text.replaceAll(/__env-([0-9a-f]+)-env__/g, (_, encoded: string) =>
    Buffer.from(encoded, 'hex').toString('utf8'),
  )
}

/** The first variable that a masked value names; null: none. */
function variableIn(masked: unknown): string | null {
  if (typeof masked !== 'string') return null
  const [found] = unmask(masked).matchAll(maskable)
  return found?.[1] ?? null
}

function fill(value: unknown, variables: Variables): { value: unknown; faults: ReferenceFault[] } {
  const faults: ReferenceFault[] = []
  const walk = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof node === 'string') {
      const { text, missing } = fillText(unmask(node), variables)
      faults.push(...missing.map((name) => ({ name, path })))
      return text
    }
    if (Array.isArray(node)) return node.map((item, index) => walk(item, [...path, index]))
    if (node === null || typeof node !== 'object') return node
    const entries = Object.entries(node).map(([masked, item]) => [unmask(masked), item] as const)
    return Object.fromEntries(entries.map(([key, item]) => [key, walk(item, [...path, key])]))
  }
  return { value: walk(value, []), faults }
}

function fillText(text: string, variables: Variables) {
  const missing: (string | null)[] = []
  const plain = text.replaceAll(maskable, '')
  if (plain.includes('${')) missing.push(null)
  const filled = text.replaceAll(maskable, (whole, name?: string, fallback?: string) => {
    if (name === undefined) return whole.slice(1)
    const found = variables[name]
    if (found !== undefined && (found !== '' || fallback === undefined)) return found
    if (fallback === undefined) missing.push(name)
    return fallback ?? ''
  })
  return { text: filled, missing }
}

/** `${NAME}` and `${NAME:-default}` in a config text: `mask` before parsing, `fill` after, `unmask` and `variableIn` for what is shown. */
export const interpolate = { mask, unmask, variableIn, fill }
